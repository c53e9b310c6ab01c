"""Branches: new runs that continue a recorded run from one of its events, with something changed."""

from greenroom.branches._branch import RunBranch, branch

__all__ = ["RunBranch", "branch"]
