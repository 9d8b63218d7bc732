/* The launch function of kernel[grid, block]: checks and packs the arguments, and calls the driver. */
#include "accelerator.h"

enum {
    SIGNATURE,
    NAME,      /* of the launch function, for errors */
    HERE,      /* (ordinal, function, configurations) by context id; Python adds them */
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
    int is_stated;   /* whether the launch is on a stream of its own, and not on the arrays' current one */
    void *stated;
    Context latest; /* most programs launch in one context only */
} Launcher;

static const Signature *signature_of(const Launcher *self)
{
    return (const Signature *)self->object.held[SIGNATURE];
}

/* Read a handle of the bindings, which converts to an int. */
static int read_handle(PyObject *handle, void *out)
{
    unsigned long long address;
    PyObject *number = PyNumber_Long(handle);
    int read = number != NULL && read_unsigned(number, &address);
    Py_XDECREF(number);
    if (read)
        *(void **)out = (void *)(uintptr_t)address;
    return read;
}

static int read_entry(Context *context, PyObject *entry)
{
    PyObject *configs = NULL;
    if (!PyArg_ParseTuple(entry, "iO&|O", &context->ordinal, read_handle, &context->function, &configs))
        return -1;
    if (configs == NULL)
        return 0;
    PyObject *packed = PyObject_GetAttrString(configs, "packed");
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

/* Raise, unless an exception is set. */
static Outcome refuse_sizes(PyObject *type, const char *message)
{
    if (!PyErr_Occurred())
        PyErr_SetString(type, message);
    return RAISED;
}

static Outcome read_sizes(LaunchConfig *config, PyObject *sizes)
{
    if (PyTuple_Size(sizes) != 7)
        return refuse_sizes(PyExc_TypeError, "the sizes of a launch are a tuple of seven");
    for (int i = 0; i < 7; i++) {
        unsigned long size = PyLong_AsUnsignedLong(PyTuple_GetItem(sizes, i));
        if (size >= UINT32_MAX && (size > UINT32_MAX || PyErr_Occurred()))
            return refuse_sizes(PyExc_OverflowError, "a size of a launch has more than 32 bits");
        config->sizes[i] = (uint32_t)size;
    }
    return DONE;
}

/* Choose a stream after the work that the streams of other arrays hold. */
static Outcome join_streams(Launcher *self, const Call *call, void **stream)
{
    int is_chosen = self->is_stated || call->api != NULL;
    PyObject *chosen = is_chosen ? PyLong_FromVoidPtr(*stream) : Py_NewRef(Py_None);
    if (chosen == NULL)
        return RAISED;
    PyObject *joined = PyObject_CallFunctionObjArgs(signature_of(self)->object.held[JOIN], call->found, chosen, NULL);
    Py_DECREF(chosen);
    if (joined == NULL)
        return RAISED;
    unsigned long long address = 0;
    int read = joined == Py_None || read_unsigned(joined, &address);
    Py_DECREF(joined);
    *stream = (void *)(uintptr_t)address;
    return read ? DONE : RAISED;
}

/* Choose the stream: the stated one, or else the current one of the arrays' library. */
static Outcome choose_stream(Launcher *self, const Call *call, void **stream)
{
    Outcome outcome = DONE;
    *stream = self->stated;
    if (!self->is_stated && call->api != NULL)
        outcome = find_stream(call->api, call->ordinal, stream);
    int others = call->found != NULL && PyList_Size(call->found) > 0;
    return outcome == DONE && others ? join_streams(self, call, stream) : outcome;
}

static Outcome prepare(Launcher *self, PyObject *sizes, PyObject *const *args, Context *context, Call *call)
{
    if (sizes != NULL && read_sizes(&context->config, sizes) != DONE)
        return RAISED;
    call->ordinal = context->ordinal;
    Outcome outcome = store_arguments(signature_of(self), args, call);
    return outcome == DONE ? choose_stream(self, call, &context->config.stream) : outcome;
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

/* Give back what readers found, whose destructors must neither see nor replace an exception that is set. */
static void give_back(PyObject *found, Outcome outcome)
{
    PyObject *type, *value, *traceback;
    if (outcome == RAISED)
        PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(found);
    if (outcome == RAISED)
        PyErr_Restore(type, value, traceback);
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
    call.api = NULL;
    call.found = NULL;
    outcome = prepare(self, sizes, args, &context, &call);
    if (outcome == DONE)
        status = call_driver(signature_of(self), &context, &call);
    give_back(call.found, outcome); /* not before: memory may be held by nothing else */
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

static PyObject *launch(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Launcher *self = (Launcher *)object;
    PyObject *sizes = NULL;
    if (self->object.held[SIGNATURE] == NULL)
        return cleared();
    if (names != NULL && PyTuple_Size(names) > 0) /* in the words of Python's own functions, as the generated ones are */
        return PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'", self->object.held[NAME],
                            PyTuple_GetItem(names, 0));
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

/* Launcher(signature, name, here, stated, otherwise, refuse, takes_sizes): stated is a stream's address, or None */
static PyObject *launcher_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *held[ENTRY], *stated;
    unsigned long long address = 0;
    int takes_sizes;
    (void)names;
    if (!PyArg_ParseTuple(args, "O!UO!OOOp", signature_type, &held[SIGNATURE], &held[NAME], &PyDict_Type, &held[HERE],
                          &stated, &held[OTHERWISE], &held[REFUSE], &takes_sizes))
        return NULL;
    if (stated != Py_None && !read_unsigned(stated, &address))
        return NULL;
    Launcher *self = (Launcher *)new_object(type, held, ENTRY);
    if (self == NULL)
        return NULL;
    self->takes_sizes = takes_sizes;
    self->is_stated = stated != Py_None;
    self->stated = (void *)(uintptr_t)address;
    return (PyObject *)self;
}

static PyMethodDef methods[] = {
    {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL | METH_KEYWORDS, "Launch with these arguments."},
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
