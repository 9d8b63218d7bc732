"""From a kernel's name to an image: request, rungs, climb, explanation."""
