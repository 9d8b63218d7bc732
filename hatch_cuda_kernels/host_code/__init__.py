"""What of a project's C++ text is for the host only, by nvcc's own rule, told from the text alone."""
