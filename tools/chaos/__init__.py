"""Kills of real processes at random moments, and what their runs hold after they were resumed."""
