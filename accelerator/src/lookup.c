/* A hot store.get_kernel(name): two dictionaries, by the current context's id and by name. */
#include "accelerator.h"

enum {
    KERNELS,    /* dictionaries of kernels by name, by context id; Python adds them */
    GET_KERNEL, /* get_kernel(name, **named) takes care of what is not usual */
    HITS        /* the name of the attribute that counts hits */
};

typedef struct {
    Object object;
    Driver driver;
} Lookup;

/* Return a kernel that is loaded for the current context. Otherwise return NULL, without an exception if it is not. */
static PyObject *find(Lookup *self, PyObject *name)
{
    unsigned long long id;
    if (self->driver.context_id(NULL, &id) != 0)
        return NULL;
    PyObject *key = PyLong_FromUnsignedLongLong(id);
    PyObject *by_name = key == NULL ? NULL : PyDict_GetItemWithError(self->object.held[KERNELS], key);
    Py_XDECREF(key);
    if (by_name == NULL)
        return NULL;
    Py_INCREF(by_name); /* comparing names may run Python, which may forget the context */
    PyObject *kernel = Py_XNewRef(PyDict_GetItemWithError(by_name, name));
    Py_DECREF(by_name);
    return kernel;
}

static int count_hit(Lookup *self, PyObject *kernel)
{
    PyObject *hits = PyObject_GetAttr(kernel, self->object.held[HITS]);
    PyObject *one = PyLong_FromLong(1);
    PyObject *more = hits == NULL || one == NULL ? NULL : PyNumber_Add(hits, one);
    int set = more == NULL ? -1 : PyObject_SetAttr(kernel, self->object.held[HITS], more);
    Py_XDECREF(hits);
    Py_XDECREF(one);
    Py_XDECREF(more);
    return set;
}

/* Call Python with the same arguments. */
static PyObject *ask(Lookup *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *given = PyTuple_New(count);
    PyObject *named = PyDict_New();
    PyObject *kernel = NULL;
    for (Py_ssize_t i = 0; given != NULL && i < count; i++)
        PyTuple_SetItem(given, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; names != NULL && named != NULL && i < PyTuple_Size(names); i++) {
        if (PyDict_SetItem(named, PyTuple_GetItem(names, i), args[count + i]) < 0)
            Py_CLEAR(named);
    }
    if (given != NULL && named != NULL)
        kernel = PyObject_Call(self->object.held[GET_KERNEL], given, named);
    Py_XDECREF(given);
    Py_XDECREF(named);
    return kernel;
}

static PyObject *look_up(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Lookup *self = (Lookup *)object;
    if (self->object.held[KERNELS] == NULL)
        return cleared();
    PyObject *kernel = count == 1 && names == NULL ? find(self, args[0]) : NULL;
    if (kernel == NULL)
        return PyErr_Occurred() ? NULL : ask(self, args, count, names);
    if (count_hit(self, kernel) < 0)
        Py_CLEAR(kernel);
    return kernel;
}

/* Lookup(context_id, kernels, get_kernel, "hits"): the first is the address of the driver's function. */
static PyObject *lookup_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    unsigned long long context_id;
    PyObject *held[3];
    (void)names;
    if (!PyArg_ParseTuple(args, "O&O!OU", read_unsigned, &context_id, &PyDict_Type, &held[KERNELS],
                          &held[GET_KERNEL], &held[HITS]))
        return NULL;
    Lookup *self = (Lookup *)new_object(type, held, 3);
    if (self != NULL)
        self->driver = driver_at(context_id, 0);
    return (PyObject *)self;
}

#define LOOK_UP_DOC "look_up($self, name, *, module=None, policy=None)\n--\n\nReturn a kernel, as Store.get_kernel does."

static PyMethodDef methods[] = {
    {"look_up", (PyCFunction)(void (*)(void))look_up, METH_FASTCALL | METH_KEYWORDS, LOOK_UP_DOC},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Finds kernels that are loaded for the current context."},
    {Py_tp_new, lookup_new},
    {Py_tp_methods, methods},
    SHARED_SLOTS,
};

PyType_Spec lookup_spec = {
    .name = "hatch_cuda_kernels_accelerator.Lookup",
    .basicsize = sizeof(Lookup),
    .flags = SHARED_FLAGS,
    .slots = slots,
};
