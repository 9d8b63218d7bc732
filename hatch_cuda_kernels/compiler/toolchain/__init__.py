"""What is installed here: NVRTC, nvJitLink and the toolkit's headers, and one memory of it."""
