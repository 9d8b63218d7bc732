/* The module, and what its classes have in common. It is initialised in one step: what it knows is the process's. */
#include "accelerator.h"

PyTypeObject *signature_type;

Object *new_object(PyTypeObject *type, PyObject *const *held, int count)
{
    Object *self = (Object *)PyType_GenericAlloc(type, 0);
    for (int i = 0; self != NULL && i < count; i++)
        self->held[i] = Py_NewRef(held[i]);
    return self;
}

int traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    for (int i = 0; i < MOST_HELD; i++)
        Py_VISIT(((Object *)object)->held[i]);
    return 0;
}

int clear(PyObject *object)
{
    for (int i = 0; i < MOST_HELD; i++)
        Py_CLEAR(((Object *)object)->held[i]);
    return 0;
}

void deallocate(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    clear(object);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

/* Raise for an object that the collector has emptied, and that is used all the same. */
PyObject *cleared(void)
{
    PyErr_SetString(PyExc_ReferenceError, "it was collected: nothing that holds it is used any more");
    return NULL;
}

/* Return the outcome of a call that failed. What is no Exception goes on, as from Python's "try"; and so does what would
 * come again if Python tried: a recursion would end at none of its levels (FATAL in Python). */
Outcome caught(void)
{
    if (PyErr_Occurred() && (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_RecursionError) ||
                             PyErr_ExceptionMatches(PyExc_MemoryError)))
        return RAISED;
    PyErr_Clear();
    return UNUSUAL;
}

static PyMethodDef methods[] = {
    {"learn", learn, METH_O, "Return whether arrays of exactly this class are read here from now on."},
    {"forget", forget, METH_O, "Read arrays of a class no longer."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hatch_cuda_kernels_accelerator",
    .m_doc = "Kernel launches for hatch_cuda_kernels, which finds and uses this module by itself.",
    .m_size = -1,
    .m_methods = methods,
};

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromSpec(spec);
    return *type == NULL ? -1 : PyModule_AddType(module, *type);
}

PyMODINIT_FUNC PyInit_hatch_cuda_kernels_accelerator(void)
{
    static PyTypeObject *launcher_type, *bound_type, *lookup_type;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
    if (add_type(module, &signature_spec, &signature_type) < 0 ||
        add_type(module, &launcher_spec, &launcher_type) < 0 || add_type(module, &bound_spec, &bound_type) < 0 ||
        add_type(module, &lookup_spec, &lookup_type) < 0 ||
        PyModule_AddIntConstant(module, "PROTOCOL", PROTOCOL) < 0 ||
        PyModule_AddIntConstant(module, "MOST_BYTES", MOST_BYTES) < 0 ||
        PyModule_AddIntConstant(module, "MOST_PARAMETERS", MOST_PARAMETERS) < 0)
        Py_CLEAR(module);
    return module;
}
