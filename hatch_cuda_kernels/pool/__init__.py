"""Compiles a plan's missing images: which jobs there are, on what executor they run, and what became of them."""
