"""Runs done again from their records: the code of today on the answers of then."""

from greenroom.reruns._rerun import Rerun, rerun

__all__ = ["Rerun", "rerun"]
