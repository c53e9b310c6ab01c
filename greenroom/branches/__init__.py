"""Branches: new runs that go on from an event of a recorded run, with something changed."""

from greenroom.branches._branch import RunBranch, branch

__all__ = ["RunBranch", "branch"]
