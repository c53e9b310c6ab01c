"""Soaks: as many schedules as fit in a while, with faults, over small scenarios; `make soak`."""
