"""Mutants of branches: the cut, the conversations, the changes, and what a branch may do."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ONE: Final = ("tests/branches/test_one_agent.py",)
_PURE: Final = ("tests/branches/test_consistent_cut.py",)
_TEAMS: Final = ("tests/branches/test_teams.py",)
_CHANGES: Final = ("tests/branches/test_changes.py",)
_CUT: Final = "greenroom.branches._consistent_cut"
_START: Final = "greenroom.session.record._branch_start"
_PLAN: Final = "greenroom.session.assembly._session_plan"

BRANCHES: Final = (
    Mutant(
        "a message of a branch belongs to its receiver",
        ("W-cut",),
        _CUT,
        "        if isinstance(event, MessagePut):\n            return self._process",
        "        if isinstance(event, MessagePut) and not event.parent:\n            return self._process",
        tests=_PURE,
    ),
    Mutant(
        "a branch leases what was not put",
        ("W-cut",),
        _CUT,
        "self._need(entry.seq, puts.get((actor, entry.event.msg), 0))",
        "self._need(entry.seq, 0)",
        tests=_TEAMS,
    ),
    Mutant(
        "a call of a branch has a result that nobody gave",
        ("W-cut",),
        _CUT,
        "            self._need(seq, seen)\n",
        "            self._need(seq, 0)\n",
        tests=_PURE,
    ),
    Mutant(
        "a conversation of a branch has one line more",
        ("W-said",),
        "greenroom.branches._cut_transcripts",
        "    if at is None or not edge.is_idle:\n        return at\n",
        "    if at is None or not edge.is_idle:\n        return at and at + 1\n",
        tests=_ONE,
    ),
    Mutant(
        "a branch begins one request too early",
        ("W-once",),
        "greenroom.branches._agent_edges",
        "        edge = self.edges[at - 1]\n",
        "        edge = self.edges[max(at - 2, 0)]\n",
        tests=_ONE,
    ),
    Mutant(
        "a branch says that its process had ended",
        ("W-same",),
        _PLAN,
        'return "" if self._opens_branch else',
        'return "Go on." if self._opens_branch else',
        tests=_ONE,
    ),
    Mutant(
        "a changed message stands beside the old one",
        ("W-change",),
        "greenroom.branches._cut_transcripts",
        'if block.get("type") != "text" or begins_with',
        'if block.get("type") == "text" or begins_with',
        tests=_CHANGES,
    ),
    Mutant(
        "a changed definition is not used",
        ("W-change",),
        _START,
        "self.loaded.get(definition.name, definition)",
        "self.loaded.get('', definition)",
        tests=_CHANGES,
    ),
    Mutant(
        "a branch of somebody else's starts its hooks",
        ("W-foreign",),
        _START,
        "return start if _is_own(run_folder) else",
        "return start if True or _is_own(run_folder) else",
        tests=_CHANGES,
    ),
    Mutant(
        "a branch follows links out of its run",
        ("W-foreign",),
        _START,
        "return path.is_file() and path.resolve() ==",
        "return path.is_file() or False and path.resolve() ==",
        tests=_CHANGES,
    ),
    Mutant(
        "a branch changes files",
        ("W-files",),
        "greenroom.permissions._decide",
        "    is_refused = request.policy.refuses_changes and",
        '    is_refused = "" and',
        tests=_CHANGES,
    ),
    Mutant(
        "a branch does not name its run",
        ("W-origin",),
        "greenroom.branches._branch_folder",
        '"from_run": plan.start.from_run',
        '"from_run": run',
        tests=_ONE,
    ),
    Mutant(
        "agents of a branch are lost",
        ("W-agents",),
        _PLAN,
        'lost_agents="resume") if self._opens_branch',
        'lost_agents="resume") if not self._opens_branch',
        tests=_TEAMS,
    ),
)
