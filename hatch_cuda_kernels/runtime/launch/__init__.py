"""From an image to a launch: library, kernel, arguments, stream."""
