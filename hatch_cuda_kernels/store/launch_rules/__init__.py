"""How the manifest says that kernels are launched, so that a call needs no brackets."""
