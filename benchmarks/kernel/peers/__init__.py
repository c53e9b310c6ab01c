"""Other actor systems, each in a process of its own that is asked for one measurement after another."""
