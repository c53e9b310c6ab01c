"""Inventory of what users can name in two checkouts: `python -m tools.inventory OLD_CHECKOUT` prints what is missing now."""
