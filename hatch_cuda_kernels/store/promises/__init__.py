"""What a manifest promises of its wheel (devices, spills, bytes), and where the images do not keep it."""
