"""Run side: store -> ladder -> image -> kernel -> launch."""
