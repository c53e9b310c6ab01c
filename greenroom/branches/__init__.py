"""Branches: new runs that go on from an event of a recorded run, with something changed."""

from greenroom.branches._branch import Branch, branch
from greenroom.branches._branch_changes import KINDS

__all__ = ["KINDS", "Branch", "branch"]
