"""Generated ``.pyi`` files: kernels' parameters, with names from the source and types from the compiler."""
