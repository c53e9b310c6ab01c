"""Mutants: small breakages of the kernel, each of which has to be noticed by a test of the promise that it breaks."""
