"""The version, and nothing else: `greenroom --version` reads it before anything heavier is imported."""

__version__ = "0.1.0.dev0"
