"""Run side: request -> ladder -> image -> kernel -> launch."""
