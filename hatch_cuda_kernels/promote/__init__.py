"""From what was compiled at run time to a manifest whose builds include it."""
