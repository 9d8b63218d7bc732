"""A loaded kernel: arguments, streams, launch."""
