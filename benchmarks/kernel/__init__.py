"""Benchmarks of the kernel alone: mailboxes, actors, supervisors, the test kit. `python -m benchmarks.kernel`."""
