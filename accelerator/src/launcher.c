/* The launch function of kernel[grid, block]: checks and packs the arguments, and calls the driver. */
#include "accelerator.h"

enum {
    SIGNATURE,
    HERE,      /* (ordinal, function, configurations) by context id; Python adds them */
    STATED,    /* the stream's address, or None for the arrays' current one */
    OTHERWISE, /* otherwise([sizes,] arguments) takes care of what is not usual */
    REFUSE,    /* refuse([sizes,] status, stream) raises for a launch that the driver refused */
    ENTRY      /* of HERE, for the latest context: its configurations hold the launch attributes */
};

/* What a launch needs in one context. */
typedef struct {
    unsigned long long id;
    int ordinal;
    void *function;
    LaunchConfig config; /* of a launch without sizes */
} Context;

typedef struct {
    Object object;
    int takes_sizes; /* whether the first argument is the seven sizes of the launch */
    Context latest;  /* most programs launch in one context only */
} Launcher;

static const Signature *signature_of(const Launcher *self)
{
    return (const Signature *)self->object.held[SIGNATURE];
}

static int read_entry(Context *context, PyObject *entry)
{
    context->ordinal = (int)PyLong_AsLong(PyTuple_GetItem(entry, 0));
    PyObject *function = PyNumber_Long(PyTuple_GetItem(entry, 1));
    if (function == NULL)
        return -1;
    context->function = PyLong_AsVoidPtr(function);
    Py_DECREF(function);
    if (PyErr_Occurred())
        return -1;
    if (PyTuple_Size(entry) < 3)
        return 0;
    PyObject *packed = PyObject_GetAttrString(PyTuple_GetItem(entry, 2), "packed");
    if (packed == NULL)
        return -1;
    int read = read_config(&context->config, packed);
    Py_DECREF(packed);
    return read;
}

/* Let Python's entry for a context be the latest. */
static Outcome find_context(Launcher *self, Context *context, PyObject **entry)
{
    PyObject *key = PyLong_FromUnsignedLongLong(context->id);
    PyObject *found = key == NULL ? NULL : PyDict_GetItemWithError(self->object.held[HERE], key);
    Py_XDECREF(key);
    if (found == NULL)
        return PyErr_Occurred() ? RAISED : UNUSUAL;
    Py_INCREF(found);
    if (read_entry(context, found) < 0) {
        Py_DECREF(found);
        return RAISED;
    }
    PyObject *before = self->object.held[ENTRY];
    self->object.held[ENTRY] = Py_NewRef(found);
    self->latest = *context;
    *entry = found;
    Py_XDECREF(before);
    return DONE;
}

/* Find what a launch needs in the current context, with a new reference to its entry. Both are the launch's own: while
 * it is prepared or waits, a reader or another thread may launch in another context. The driver gives no id twice. */
static Outcome enter(Launcher *self, Context *context, PyObject **entry)
{
    memset(context, 0, sizeof *context);
    if (signature_of(self)->driver.context_id(NULL, &context->id) != 0)
        return UNUSUAL;
    if (self->object.held[ENTRY] == NULL || self->latest.id != context->id)
        return find_context(self, context, entry);
    *context = self->latest;
    *entry = Py_NewRef(self->object.held[ENTRY]);
    return DONE;
}

static Outcome read_sizes(LaunchConfig *config, PyObject *sizes)
{
    for (int i = 0; i < 7; i++)
        config->sizes[i] = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(sizes, i));
    return PyErr_Occurred() ? RAISED : DONE;
}

/* Choose a stream after the work that the streams of other arrays hold. */
static Outcome join_streams(Launcher *self, const Call *call, void **stream)
{
    PyObject *stated = self->object.held[STATED];
    PyObject *chosen = call->api == NULL ? Py_NewRef(stated) : PyLong_FromVoidPtr(*stream);
    if (chosen == NULL)
        return RAISED;
    PyObject *joined = PyObject_CallFunctionObjArgs(signature_of(self)->object.held[JOIN], call->streams, chosen, NULL);
    Py_DECREF(chosen);
    if (joined == NULL)
        return RAISED;
    *stream = joined == Py_None ? NULL : PyLong_AsVoidPtr(joined);
    Py_DECREF(joined);
    return PyErr_Occurred() ? RAISED : DONE;
}

/* Choose the stream: the stated one, or else the current one of the arrays' library. */
static Outcome choose_stream(Launcher *self, const Call *call, void **stream)
{
    PyObject *stated = self->object.held[STATED];
    *stream = NULL;
    if (stated != Py_None) {
        *stream = PyLong_AsVoidPtr(stated);
    } else if (call->api != NULL && call->api->current_work_stream(DLPACK_CUDA, call->ordinal, stream) != 0) {
        return caught();
    }
    int others = call->streams != NULL && PyList_Size(call->streams) > 0;
    return others ? join_streams(self, call, stream) : DONE;
}

static Outcome prepare(Launcher *self, PyObject *sizes, PyObject *const *args, Context *context, Call *call)
{
    if (sizes != NULL && read_sizes(&context->config, sizes) != DONE)
        return RAISED;
    call->ordinal = context->ordinal;
    call->api = NULL;
    call->streams = NULL;
    Outcome outcome = store_arguments(signature_of(self), args, call);
    if (outcome == DONE)
        outcome = choose_stream(self, call, &context->config.stream);
    Py_XDECREF(call->streams);
    return outcome;
}

/* Call the driver with the arguments as one buffer or, where that would not do, one by one; return its status. */
static int call_driver(const Signature *signature, const Context *context, Call *call)
{
    size_t bytes = (size_t)signature->bytes;
    /* CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE and CU_LAUNCH_PARAM_END (cuda.h) */
    void *whole[] = {(void *)1, call->buffer, (void *)2, &bytes, NULL};
    void *parts[MOST_PARAMETERS];
    if (!signature->by_parts) /* without parameters, the driver refuses a buffer */
        return enqueue(&signature->driver, &context->config, context->function, NULL, bytes == 0 ? NULL : whole);
    for (Py_ssize_t i = 0; i < signature->count; i++)
        parts[i] = call->buffer + signature->parameters[i].offset;
    return enqueue(&signature->driver, &context->config, context->function, parts, NULL);
}

/* Let Python raise for a launch that the driver refused. */
static Outcome refused(Launcher *self, PyObject *sizes, int status, void *stream)
{
    unsigned long long address = (unsigned long long)(uintptr_t)stream;
    PyObject *refuse = self->object.held[REFUSE];
    PyObject *result = sizes == NULL ? PyObject_CallFunction(refuse, "iK", status, address)
                                     : PyObject_CallFunction(refuse, "OiK", sizes, status, address);
    Py_XDECREF(result);
    return result == NULL ? RAISED : DONE;
}

static Outcome launch_usual(Launcher *self, PyObject *sizes, PyObject *const *args)
{
    Context context;
    PyObject *entry;
    Call call;
    int status = 0;
    Outcome outcome = enter(self, &context, &entry);
    if (outcome != DONE)
        return outcome;
    outcome = prepare(self, sizes, args, &context, &call);
    if (outcome == DONE)
        status = call_driver(signature_of(self), &context, &call);
    Py_DECREF(entry);
    return status == 0 ? outcome : refused(self, sizes, status, context.config.stream);
}

static PyObject *launch_otherwise(Launcher *self, PyObject *sizes, PyObject *const *args, Py_ssize_t count)
{
    PyObject *given = PyTuple_New(count);
    if (given == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SetItem(given, i, Py_NewRef(args[i]));
    PyObject *otherwise = self->object.held[OTHERWISE];
    PyObject *result = sizes == NULL ? PyObject_CallFunctionObjArgs(otherwise, given, NULL)
                                     : PyObject_CallFunctionObjArgs(otherwise, sizes, given, NULL);
    Py_DECREF(given);
    return result;
}

static PyObject *launch(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    Launcher *self = (Launcher *)object;
    PyObject *sizes = NULL;
    if (self->takes_sizes) {
        if (count == 0)
            return PyErr_Format(PyExc_TypeError, "launch() lacks the sizes");
        sizes = *args++;
        count--;
    }
    Outcome outcome = count == signature_of(self)->count ? launch_usual(self, sizes, args) : UNUSUAL;
    if (outcome == UNUSUAL)
        return launch_otherwise(self, sizes, args, count);
    return outcome == DONE ? Py_NewRef(Py_None) : NULL;
}

/* Launcher(signature, here, stated, otherwise, refuse, takes_sizes) */
static PyObject *launcher_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *held[ENTRY];
    int takes_sizes;
    (void)names;
    if (!PyArg_ParseTuple(args, "O!O!OOOp", signature_type, &held[SIGNATURE], &PyDict_Type, &held[HERE], &held[STATED],
                          &held[OTHERWISE], &held[REFUSE], &takes_sizes))
        return NULL;
    Launcher *self = (Launcher *)new_object(type, held, ENTRY);
    if (self != NULL)
        self->takes_sizes = takes_sizes;
    return (PyObject *)self;
}

static PyMethodDef methods[] = {
    {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL, "Launch with these arguments."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Launches one kernel with one shape, or with sizes that come first, on one stream or on the arrays'."},
    {Py_tp_new, launcher_new},
    {Py_tp_methods, methods},
    SHARED_SLOTS,
};

PyType_Spec launcher_spec = {
    .name = "hatch_cuda_kernels_accelerator.Launcher",
    .basicsize = sizeof(Launcher),
    .flags = SHARED_FLAGS,
    .slots = slots,
};
