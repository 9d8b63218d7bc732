// Host only: what device code could use of it is nothing, or is NVRTC's own.
