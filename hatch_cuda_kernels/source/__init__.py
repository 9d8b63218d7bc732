"""From a source's text to its header closure: directives found, project files read, includes rewritten."""
