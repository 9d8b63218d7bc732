"""What compilers and libraries outside a project are to its sources: data, and the look-ups of it."""
