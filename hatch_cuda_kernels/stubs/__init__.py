"""Generated ``.pyi`` files: a kernel's parameters with their names from the source and their types from PTX."""
