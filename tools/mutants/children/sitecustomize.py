"""Imported by each Python that the tests of a mutant start: the same module is broken there."""

import tools.mutants.plugin  # noqa: F401 - its import breaks the module
