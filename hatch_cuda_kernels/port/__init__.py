"""Brings sources that are written for nvcc to a form that NVRTC compiles too, as a patch for a person to read."""
