"""The ladder: request, rungs, climb, explanation."""
