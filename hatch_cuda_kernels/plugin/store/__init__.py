"""Writes what was compiled: the images' places, packed or not, and the folder they go into as a whole."""
