/* Arrays of the classes that Python has learned: address, device and element type by DLPack's C functions. */
#include "accelerator.h"

#define MOST_CLASSES 8

static const char ATTRIBUTE[] = "__dlpack_c_exchange_api__";
static const char CAPSULE[] = "dlpack_exchange_api";

/* Exact classes only: a subclass may have no memory, or give other values than its memory holds. */
static struct {
    PyTypeObject *type;
    const DLPackExchangeAPI *api;
} classes[MOST_CLASSES];
static int class_count;

/* Return the API of a version that is known here, or NULL. */
static const DLPackExchangeAPI *fitting(DLPackExchangeHeader *header)
{
    while (header != NULL && header->major != DLPACK_MAJOR)
        header = header->previous;
    const DLPackExchangeAPI *api = (const DLPackExchangeAPI *)header;
    return api == NULL || api->tensor_from_object == NULL || api->current_work_stream == NULL ? NULL : api;
}

PyObject *forget(PyObject *module, PyObject *type)
{
    (void)module;
    for (int i = 0; i < class_count; i++) {
        if ((PyObject *)classes[i].type == type) {
            classes[i] = classes[--class_count];
            Py_DECREF(type);
            break;
        }
    }
    Py_RETURN_NONE;
}

/* Return whether arrays of exactly this class are read here from now on. */
PyObject *learn(PyObject *module, PyObject *type)
{
    PyObject *capsule = PyObject_GetAttrString(type, ATTRIBUTE);
    if (capsule == NULL && caught() == RAISED)
        return NULL;
    if (capsule == NULL)
        Py_RETURN_FALSE;
    const DLPackExchangeAPI *api = NULL;
    if (PyCapsule_IsValid(capsule, CAPSULE))
        api = fitting(PyCapsule_GetPointer(capsule, CAPSULE));
    Py_DECREF(capsule); /* the API lives as long as the process */
    Py_XDECREF(forget(module, type));
    if (api == NULL || !PyType_Check(type) || class_count == MOST_CLASSES)
        Py_RETURN_FALSE;
    classes[class_count].type = (PyTypeObject *)Py_NewRef(type);
    classes[class_count++].api = api;
    Py_RETURN_TRUE;
}

const DLPackExchangeAPI *exchange_of(PyTypeObject *type)
{
    for (int i = 0; i < class_count; i++) {
        if (classes[i].type == type)
            return classes[i].api;
    }
    return NULL;
}

static int fits(const Parameter *parameter, DLDataType dtype)
{
    for (int i = 0; i < parameter->dtype_count; i++) {
        if (memcmp(&parameter->dtypes[i], &dtype, sizeof dtype) == 0)
            return 1;
    }
    return parameter->dtype_count == 0;
}

static int is_empty(const DLTensor *tensor)
{
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] == 0)
            return 1;
    }
    return 0;
}

Outcome store_array(const Parameter *parameter, const DLPackExchangeAPI *api, PyObject *array, Call *call)
{
    DLTensor tensor;
    if (api->tensor_from_object(array, &tensor) != 0) /* it has no memory */
        return caught();
    if (tensor.device.type != DLPACK_CUDA || tensor.device.id != call->ordinal || !fits(parameter, tensor.dtype))
        return UNUSUAL;
    if (tensor.data == NULL && !is_empty(&tensor)) /* its memory was given back */
        return UNUSUAL;
    uint64_t address = tensor.data == NULL ? 0 : (uint64_t)(uintptr_t)tensor.data + tensor.byte_offset;
    memcpy(call->buffer + parameter->offset, &address, sizeof address);
    return DONE;
}

/* Find the current stream of a library on a device. */
Outcome find_stream(const DLPackExchangeAPI *api, int ordinal, void **stream)
{
    return api->current_work_stream(DLPACK_CUDA, ordinal, stream) == 0 ? DONE : caught();
}
