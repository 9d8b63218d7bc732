/* The launch function of kernel.bind(...): the arguments are packed already, in memory that Python keeps. */
#include "accelerator.h"

enum {
    ELSEWHERE, /* elsewhere() launches in another context, or otherwise; it holds what the addresses point to */
    REFUSE     /* refuse(status, stream) raises for a launch that the driver refused */
};

typedef struct {
    Object object;
    Driver driver;
    unsigned long long context_id;
    int ordinal;
    const DLPackExchangeAPI *api; /* of the library whose current stream is taken, or NULL */
    LaunchConfig config;          /* with the stated stream */
    void *function;
    void **params;
    void **extra;
} Bound;

static PyObject *launch(PyObject *object, PyObject *ignored)
{
    Bound *self = (Bound *)object;
    unsigned long long context_id;
    LaunchConfig config = self->config; /* a copy, for several threads may launch at a time */
    Outcome outcome = UNUSUAL;
    (void)ignored;
    if (self->object.held[ELSEWHERE] == NULL)
        return cleared();
    if (self->driver.context_id(NULL, &context_id) == 0 && context_id == self->context_id)
        outcome = self->api == NULL ? DONE : find_stream(self->api, self->ordinal, &config.stream);
    if (outcome == RAISED)
        return NULL;
    if (outcome == UNUSUAL)
        return PyObject_CallFunctionObjArgs(self->object.held[ELSEWHERE], NULL);
    int status = enqueue(&self->driver, &config, self->function, self->params, self->extra);
    if (status == 0)
        return Py_NewRef(Py_None);
    return PyObject_CallFunction(self->object.held[REFUSE], "iK", status, (unsigned long long)(uintptr_t)config.stream);
}

/* Bound(context_id, launch, here, ordinal, library, config, function, params, extra, elsewhere, refuse): addresses of the
 * driver's functions, the id of the context, a class whose library's current stream is taken or None, and addresses. */
static PyObject *bound_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    unsigned long long context_id, launch_at, here, function, params, extra;
    int ordinal;
    PyObject *library, *config, *held[2];
    (void)names;
    if (!PyArg_ParseTuple(args, "O&O&O&iOOO&O&O&OO", read_unsigned, &context_id, read_unsigned, &launch_at,
                          read_unsigned, &here, &ordinal, &library, &config, read_unsigned, &function, read_unsigned,
                          &params, read_unsigned, &extra, &held[ELSEWHERE], &held[REFUSE]))
        return NULL;
    const DLPackExchangeAPI *api = exchange_of((PyTypeObject *)library);
    if (api == NULL && library != Py_None)
        return PyErr_Format(PyExc_ValueError, "%R was not learned", library);
    Bound *self = (Bound *)new_object(type, held, 2);
    if (self == NULL)
        return NULL;
    self->driver = driver_at(context_id, launch_at);
    self->context_id = here;
    self->ordinal = ordinal;
    self->api = api;
    self->function = (void *)(uintptr_t)function;
    self->params = (void **)(uintptr_t)params;
    self->extra = (void **)(uintptr_t)extra;
    if (read_config(&self->config, config) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMethodDef methods[] = {
    {"launch", launch, METH_NOARGS, "Launch with the arguments of bind."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Launches one kernel with arguments that are packed already."},
    {Py_tp_new, bound_new},
    {Py_tp_methods, methods},
    SHARED_SLOTS,
};

PyType_Spec bound_spec = {
    .name = "hatch_cuda_kernels_accelerator.Bound",
    .basicsize = sizeof(Bound),
    .flags = SHARED_FLAGS,
    .slots = slots,
};
