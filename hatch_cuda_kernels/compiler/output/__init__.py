"""Readers of what a compile gives: CUBIN, PTX, logs."""
