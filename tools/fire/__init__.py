"""Agents and commands under fire: a matrix of work and faults, and the expected outcome of each cell."""
