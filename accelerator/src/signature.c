/* The parameters of a kernel, as Python describes them. */
#include "accelerator.h"

/* Read DLPack's element types that a pointer takes: a tuple of (code, bits). */
static int read_dtypes(Parameter *parameter, PyObject *dtypes)
{
    Py_ssize_t count = PyTuple_Size(dtypes);
    if (count > MOST_DTYPES)
        PyErr_SetString(PyExc_ValueError, "too many element types");
    if (count < 0 || count > MOST_DTYPES)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        DLDataType *dtype = &parameter->dtypes[i];
        if (!PyArg_ParseTuple(PyTuple_GetItem(dtypes, i), "bb", &dtype->code, &dtype->bits))
            return -1;
        dtype->lanes = 1;
    }
    parameter->dtype_count = (int)count;
    return 0;
}

/* Return whether values of the kind have the size, and stay within the buffer. */
static int is_sound(const Parameter *parameter, Py_ssize_t bytes)
{
    Py_ssize_t size = parameter->size;
    if (size < 0 || size > bytes || parameter->offset < 0 || parameter->offset > bytes - size)
        return 0;
    switch (parameter->kind) {
    case 's':
        return 1;
    case 'i':
        return size == 1 || size == 2 || size == 4 || size == 8;
    case 'p':
    case 'd':
        return size == 8;
    case 'f':
        return size == 4;
    default:
        return parameter->kind == '?' && size == 1;
    }
}

/* Read one parameter: (kind, offset, size, least, most, dtypes, reader). */
static int read_parameter(Parameter *parameter, PyObject *item, Py_ssize_t bytes)
{
    int kind;
    PyObject *dtypes;
    if (!PyArg_ParseTuple(item, "CnnLO&OO", &kind, &parameter->offset, &parameter->size, &parameter->least,
                          read_unsigned, &parameter->most, &dtypes, &parameter->reader))
        return -1;
    parameter->kind = kind < 128 ? (char)kind : '\0';
    if (!is_sound(parameter, bytes)) {
        PyErr_SetString(PyExc_ValueError, "a parameter of unknown kind, or out of the buffer");
        return -1;
    }
    return read_dtypes(parameter, dtypes);
}

static int read_parameters(Signature *self, PyObject *parameters)
{
    self->count = PyTuple_Size(parameters);
    if (self->count < 0)
        return -1;
    if (self->count > MOST_PARAMETERS || self->bytes < 0 || self->bytes > MOST_BYTES) {
        PyErr_SetString(PyExc_ValueError, "too many parameters, or too large ones");
        return -1;
    }
    self->parameters = PyMem_Calloc((size_t)self->count, sizeof *self->parameters);
    if (self->parameters == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->count; i++) {
        if (read_parameter(&self->parameters[i], PyTuple_GetItem(parameters, i), self->bytes) < 0)
            return -1;
    }
    return 0;
}

/* Signature(context_id, launch, bytes, by_parts, join, parameters): the first two are addresses of the driver's. */
static PyObject *signature_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    unsigned long long context_id, launch;
    Py_ssize_t bytes;
    int by_parts;
    PyObject *held[2];
    (void)names;
    if (!PyArg_ParseTuple(args, "O&O&npOO!", read_unsigned, &context_id, read_unsigned, &launch, &bytes, &by_parts,
                          &held[JOIN], &PyTuple_Type, &held[PARAMETERS]))
        return NULL;
    Signature *self = (Signature *)new_object(type, held, 2);
    if (self == NULL)
        return NULL;
    self->driver = driver_at(context_id, launch);
    self->bytes = bytes;
    self->by_parts = by_parts;
    if (read_parameters(self, held[PARAMETERS]) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void signature_deallocate(PyObject *object)
{
    PyMem_Free(((Signature *)object)->parameters);
    deallocate(object);
}

static PyType_Slot slots[] = {
    {Py_tp_doc, "The parameters of a kernel, and the driver's functions."},
    {Py_tp_new, signature_new},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, signature_deallocate},
    {0, NULL},
};

PyType_Spec signature_spec = {
    .name = "hatch_cuda_kernels_accelerator.Signature",
    .basicsize = sizeof(Signature),
    .flags = SHARED_FLAGS,
    .slots = slots,
};
