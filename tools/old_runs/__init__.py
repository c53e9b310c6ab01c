"""Runs recorded by an older checkout, read by this one: `python -m tools.old_runs OLD_CHECKOUT`."""
