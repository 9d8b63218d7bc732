"""Generated ``.pyi`` files: a kernel's parameters as the source names them and PTX types them."""
