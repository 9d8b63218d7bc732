"""Kernels inside ``jax.jit``: an XLA FFI handler made with ctypes. JAX is imported when the first call is made."""
