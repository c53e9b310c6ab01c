"""Benchmarks of agents: the price of a round beside a loop written by hand, and beside other frameworks."""
