/* What the files of the accelerator share.
 *
 *   launcher.c   the launch function of kernel[grid, block]
 *   bound.c      the launch function of kernel.bind(...)
 *   lookup.c     a hot store.get_kernel(...)
 *   signature.c  the parameters of a kernel
 *   arguments.c  from Python objects to the bytes of parameters
 *   arrays.c     arrays by DLPack's C functions
 *   driver.c     calls of the driver
 *   module.c     the module, and what its classes have in common
 *
 * Everything here is for the usual case. What is not usual is left to a Python function that was given for it, and that
 * raises the errors, too.
 */
#ifndef ACCELERATOR_H
#define ACCELERATOR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "dlpack.h"

#ifdef Py_GIL_DISABLED
#error "the accelerator relies on the GIL; hatch-cuda-kernels works without it"
#endif

/* Changes with whatever hatch_cuda_kernels calls here, and with what is called there. */
#define PROTOCOL 2
/* Kernels with larger parameters, or more of them, are launched from Python. */
#define MOST_BYTES 4096
#define MOST_PARAMETERS 128
#define MOST_DTYPES 8
#define MOST_HELD 6

/* What became of a step. */
typedef enum {
    DONE,
    UNUSUAL, /* left to Python; no exception is set */
    RAISED   /* an exception is set, and goes on */
} Outcome;

/* CUlaunchConfig (cuda.h). */
typedef struct {
    uint32_t sizes[7]; /* grid, block, and bytes of shared memory */
    void *stream;
    void *attributes;
    uint32_t attribute_count;
} LaunchConfig;

/* The driver's functions return CUresult, which is an int; 0 is success. */
typedef struct {
    int (*context_id)(void *context, unsigned long long *id); /* cuCtxGetId */
    int (*launch)(const LaunchConfig *config, void *function, void **params, void **extra); /* cuLaunchKernelEx */
} Driver;

/* What all objects here begin with: the Python objects that they hold, in an order that each has an enum for. */
typedef struct {
    PyObject_HEAD
    PyObject *held[MOST_HELD];
} Object;

typedef struct {
    char kind; /* p: address, i: integer, f: float, d: double, ?: bool, s: bytes */
    Py_ssize_t offset;
    Py_ssize_t size;
    long long least; /* of an integer or an address */
    unsigned long long most;
    PyObject *reader; /* reader(argument, ordinal, found) gives a value for what is not read here, or raises; it adds to
                         the list what it finds besides: streams, and what must live until the driver was called */
    int dtype_count;  /* 0: an address of anything */
    DLDataType dtypes[MOST_DTYPES];
} Parameter;

enum { JOIN, PARAMETERS }; /* join(found, stream) gives the stream to launch on, or None; a tuple, see signature.c */

typedef struct {
    Object object;
    Driver driver;
    Py_ssize_t bytes; /* of all parameters */
    int by_parts;     /* whether the driver is given the parameters one by one, not as one buffer */
    Py_ssize_t count;
    Parameter *parameters;
} Signature;

/* One launch, while it is prepared. */
typedef struct {
    int ordinal;                  /* of the device */
    const DLPackExchangeAPI *api; /* of the arrays so far, or NULL */
    PyObject *found;              /* the list for readers, or NULL as long as none was called */
    unsigned char buffer[MOST_BYTES];
} Call;

/* arguments.c */
Outcome store_arguments(const Signature *signature, PyObject *const *args, Call *call);

/* arrays.c */
PyObject *learn(PyObject *module, PyObject *type);
PyObject *forget(PyObject *module, PyObject *type);
const DLPackExchangeAPI *exchange_of(PyTypeObject *type);
Outcome store_array(const Parameter *parameter, const DLPackExchangeAPI *api, PyObject *array, Call *call);
Outcome find_stream(const DLPackExchangeAPI *api, int ordinal, void **stream);

/* driver.c */
int read_unsigned(PyObject *number, void *out);
Driver driver_at(unsigned long long context_id, unsigned long long launch);
int enqueue(const Driver *driver, const LaunchConfig *config, void *function, void **params, void **extra);
int read_config(LaunchConfig *config, PyObject *packed);

/* module.c */
Object *new_object(PyTypeObject *type, PyObject *const *held, int count);
int traverse(PyObject *object, visitproc visit, void *arg);
int clear(PyObject *object);
void deallocate(PyObject *object);
PyObject *cleared(void);
Outcome caught(void);

extern PyTypeObject *signature_type;
extern PyType_Spec signature_spec, launcher_spec, bound_spec, lookup_spec;

/* The slots that all classes here have, besides those of their own. */
#define SHARED_SLOTS {Py_tp_traverse, traverse}, {Py_tp_clear, clear}, {Py_tp_dealloc, deallocate}, {0, NULL}
#define SHARED_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE)

#endif
