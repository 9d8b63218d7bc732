"""A source as nvcc's device pass sees it: of what has no device mark, bodies and values are cut."""
