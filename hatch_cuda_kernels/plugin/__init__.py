"""The Hatch build hook: an adapter between hatchling and ``build``."""
