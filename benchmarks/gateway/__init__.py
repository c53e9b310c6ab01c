"""Benchmarks of the gateway: spawns, messages, sessions, clients, starts. `python -m benchmarks.gateway`."""
