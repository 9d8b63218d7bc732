"""C++ text as tokens, directives, macros and declarations, and the edits of it. Knows the language only."""
