def write_kernels(root, python, folder):
    return []
