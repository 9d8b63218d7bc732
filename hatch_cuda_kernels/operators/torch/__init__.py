"""Kernels as operators of torch, which is imported with these modules: not before ``Store.torch_ops`` is called."""
