/* From Python objects to the bytes of parameters, little endian as all of CUDA's hosts are. */
#include <math.h>

#include "accelerator.h"

static Outcome store_integer(const Parameter *parameter, PyObject *value, unsigned char *at)
{
    int beyond;
    if (!PyLong_Check(value))
        return UNUSUAL;
    unsigned long long bits = (unsigned long long)PyLong_AsLongLongAndOverflow(value, &beyond);
    if (beyond < 0 || (beyond == 0 && (long long)bits < parameter->least))
        return UNUSUAL;
    if (beyond > 0) {
        bits = PyLong_AsUnsignedLongLong(value);
        if (PyErr_Occurred()) { /* it has more than 64 bits */
            PyErr_Clear();
            return UNUSUAL;
        }
    }
    int is_negative = beyond == 0 && (long long)bits < 0;
    if (!is_negative && bits > parameter->most)
        return UNUSUAL;
    memcpy(at, &bits, (size_t)parameter->size);
    return DONE;
}

static Outcome store_float(const Parameter *parameter, PyObject *value, unsigned char *at)
{
    double number;
    if (PyFloat_Check(value)) {
        number = PyFloat_AsDouble(value);
    } else if (PyLong_Check(value)) {
        number = PyLong_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) { /* it is too large for a double */
            PyErr_Clear();
            return UNUSUAL;
        }
    } else {
        return UNUSUAL;
    }
    if (parameter->kind == 'd') {
        memcpy(at, &number, sizeof number);
        return DONE;
    }
    float narrow = (float)number;
    memcpy(at, &narrow, sizeof narrow);
    return isinf(narrow) && !isinf(number) ? UNUSUAL : DONE;
}

static Outcome store_bytes(const Parameter *parameter, PyObject *value, unsigned char *at)
{
    if (!PyBytes_Check(value) || PyBytes_Size(value) != parameter->size)
        return UNUSUAL;
    memcpy(at, PyBytes_AsString(value), (size_t)parameter->size);
    return DONE;
}

/* Store a value of one of Python's own types that fits the parameter. */
static Outcome store_value(const Parameter *parameter, PyObject *value, unsigned char *at)
{
    switch (parameter->kind) {
    case 'p':
    case 'i':
        return store_integer(parameter, value, at);
    case 'f':
    case 'd':
        return store_float(parameter, value, at);
    case '?':
        *at = value == Py_True;
        return PyBool_Check(value) ? DONE : UNUSUAL;
    default:
        return store_bytes(parameter, value, at);
    }
}

/* Let Python read an argument: a number of numpy, an array of another library, a struct. */
static Outcome store_by_reader(const Parameter *parameter, PyObject *arg, Call *call)
{
    if (call->found == NULL && (call->found = PyList_New(0)) == NULL)
        return RAISED;
    PyObject *ordinal = PyLong_FromLong(call->ordinal);
    if (ordinal == NULL)
        return RAISED;
    PyObject *value = PyObject_CallFunctionObjArgs(parameter->reader, arg, ordinal, call->found, NULL);
    Py_DECREF(ordinal);
    if (value == NULL)
        return caught();
    Outcome outcome = store_value(parameter, value, call->buffer + parameter->offset);
    Py_DECREF(value);
    return outcome;
}

/* Return whether an argument is of a type that has no methods of its own: a subclass may say that it is another number
 * or has other bytes, and Python asks. Floats are what they hold, to Python too. */
static int is_plain(PyObject *arg)
{
    return PyLong_CheckExact(arg) || PyFloat_CheckExact(arg) || PyBool_Check(arg) || PyBytes_CheckExact(arg) ||
           PyFloat_Check(arg);
}

static Outcome store_argument(const Parameter *parameter, PyObject *arg, Call *call)
{
    const DLPackExchangeAPI *api = parameter->kind == 'p' ? exchange_of(Py_TYPE(arg)) : NULL;
    Outcome outcome;
    if (api == NULL) {
        outcome = is_plain(arg) ? store_value(parameter, arg, call->buffer + parameter->offset) : UNUSUAL;
    } else {
        if (call->api != NULL && call->api != api) /* two libraries have two current streams */
            return UNUSUAL;
        call->api = api;
        outcome = store_array(parameter, api, arg, call);
    }
    return outcome == UNUSUAL ? store_by_reader(parameter, arg, call) : outcome;
}

Outcome store_arguments(const Signature *signature, PyObject *const *args, Call *call)
{
    memset(call->buffer, 0, (size_t)signature->bytes); /* the padding */
    Outcome outcome = DONE;
    for (Py_ssize_t i = 0; i < signature->count && outcome == DONE; i++)
        outcome = store_argument(&signature->parameters[i], args[i], call);
    return outcome;
}
