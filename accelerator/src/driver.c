/* Calls of the driver, whose functions Python has found. */
#include "accelerator.h"

/* Read an address, or another integer of 64 bits: a converter for PyArg_ParseTuple, whose K takes the low bits of any. */
int read_unsigned(PyObject *number, void *out)
{
    unsigned long long value = PyLong_AsUnsignedLongLong(number);
    if (value == (unsigned long long)-1 && PyErr_Occurred())
        return 0;
    *(unsigned long long *)out = value;
    return 1;
}

Driver driver_at(unsigned long long context_id, unsigned long long launch)
{
    Driver driver;
    void *addresses[] = {(void *)(uintptr_t)context_id, (void *)(uintptr_t)launch};
    memcpy(&driver.context_id, &addresses[0], sizeof driver.context_id); /* ISO C has no cast to functions */
    memcpy(&driver.launch, &addresses[1], sizeof driver.launch);
    return driver;
}

int enqueue(const Driver *driver, const LaunchConfig *config, void *function, void **params, void **extra)
{
    int status;
    Py_BEGIN_ALLOW_THREADS /* a launch waits while the driver's queue is full */
    status = driver->launch(config, function, params, extra);
    Py_END_ALLOW_THREADS
    return status;
}

int read_config(LaunchConfig *config, PyObject *packed)
{
    if (!PyBytes_Check(packed) || PyBytes_Size(packed) != sizeof *config) {
        PyErr_SetString(PyExc_TypeError, "not a launch configuration");
        return -1;
    }
    memcpy(config, PyBytes_AsString(packed), sizeof *config);
    return 0;
}
