// va_list and what goes with it are NVRTC's own.
