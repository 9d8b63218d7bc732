"""From a manifest to compile jobs."""
