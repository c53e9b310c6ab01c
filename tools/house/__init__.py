"""Figures of the source tree: structure, size, language and tests, each with its limit."""
