"""From what was compiled at run time to a manifest that has it built."""
