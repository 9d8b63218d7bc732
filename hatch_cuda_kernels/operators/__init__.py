"""Kernels as operators of a framework, derived from signature and launch sizes: no code for each kernel."""
