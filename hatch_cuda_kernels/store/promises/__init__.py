"""What a manifest promises about its wheel (devices, spills, size), and the checks of these promises."""
