"""Other frameworks for agents, each in a process of its own, with a fake model of its own: the same scenario on each."""
