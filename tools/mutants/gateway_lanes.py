"""Mutants of the gateway's lanes, of what its sessions share, and of the checks of its journal."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_CHECKS: Final = "greenroom.gateway.record._record_checks"
_CHECKS_TESTS: Final = ("tests/gateway/record/test_record_checks.py",)
_PLACES: Final = "greenroom.gateway.lanes._places"
_PLACES_TESTS: Final = ("tests/gateway/lanes",)
_REPLAY: Final = "greenroom.gateway.record._record_replay"
_SESSION_PLACES: Final = "greenroom.gateway.record._session_places"
_REPLAY_TESTS: Final = ("tests/gateway/record/test_record_replay.py",)

GATEWAY_LANES: Final = (
    Mutant(
        "a lane gives out one place too many",
        (),
        _PLACES,
        "        return len(self.places) < self.width\n",
        "        return len(self.places) <= self.width\n",
        tests=_PLACES_TESTS,
    ),
    Mutant(
        "a turn that gave up its wait is given a place",
        (),
        _PLACES,
        "        if place is None:\n            self._withdraw(claim)\n            return ()\n",
        "        if place is None:\n            return ()\n",
        tests=_PLACES_TESTS,
    ),
    Mutant(
        "who takes its place back waits behind all others",
        (),
        _PLACES,
        "        if self.returning:\n            return self.returning.pop(0)\n",
        "        if self.returning and not self.waiting:\n            return self.returning.pop(0)\n",
        tests=_PLACES_TESTS,
    ),
    Mutant(
        "background work comes as early as people",
        (),
        _PLACES,
        "    return rank, claim.number\n",
        "    return Rank.PERSON, claim.number if rank else claim.number\n",
        tests=_PLACES_TESTS,
    ),
    Mutant(
        "background work is overtaken for good",
        (),
        _PLACES,
        "Rank.PERSON if claim.overtaken >= MAX_OVERTAKEN else claim.rank",
        "claim.rank",
        tests=_PLACES_TESTS,
    ),
    Mutant(
        "an announcement queues behind all children that wait",
        (),
        "greenroom.gateway.keepers._keeper_parts",
        "    if is_ending:\n        return Rank.ENDING\n",
        "",
        tests=("tests/gateway/runs/test_runs_end_to_end.py",),
    ),
    Mutant(
        "sessions may wait for each other",
        (),
        _PLACES,
        "            if self._reaches(target, claim.session):\n",
        "            if target == claim.session:\n",
        tests=_PLACES_TESTS,
    ),
    Mutant(
        "a wider lane waits for the next end",
        (),
        _PLACES,
        "        self._lane(lane).width = _valid(width)\n        return self._give(lane)\n",
        "        self._lane(lane).width = _valid(width)\n        return ()\n",
        tests=_PLACES_TESTS,
    ),
    Mutant(
        "closing a shared disk takes the file from who writes",
        (),
        "greenroom.core.ports._ports",
        "                written = write(descriptor, content)\n                while",
        "                self._put_back({path: descriptor})\n                written = write(descriptor, content)\n                while",
        tests=("tests/core/test_ports.py",),
    ),
    Mutant(
        "a journal that was refused once stays shut",
        (),
        "greenroom.trace._journal",
        "            self._failure, self._in_flight = None, 0\n",
        "            self._in_flight = 0\n",
        tests=("tests/trace/test_journal.py",),
    ),
    Mutant(
        "a look at what waits forgets what a turn has",
        (),
        "greenroom.session.parts._session_inbox",
        "        is_over = not (self.ref.is_busy or self._main.is_busy)\n",
        "        is_over = True\n",
        tests=("tests/session/test_stored_inbox.py",),
    ),
    Mutant(
        "a second completion is sound",
        ("A28-f",),
        _CHECKS,
        '            if entry["run"] in composed:\n',
        '            if not entry["run"]:\n',
        tests=_CHECKS_TESTS,
    ),
    Mutant(
        "a part may be sent again after it was taken",
        ("A28-f",),
        _CHECKS,
        "        if place in taken:\n",
        "        if not place:\n",
        tests=_CHECKS_TESTS,
    ),
    Mutant(
        "gateways differ by the ids of their sessions",
        ("A28-f",),
        _REPLAY,
        "        text = _UUID.sub(self._name, text)\n",
        "",
        tests=_REPLAY_TESTS,
    ),
    Mutant(
        "a run leads to another session",
        ("A28-f",),
        _SESSION_PLACES,
        '            found.append((entry["run"], _place(entry["session"], entry["session_id"])))\n',
        '            found.append((entry["run"], _place(entry["requester"], entry["session_id"])))\n            found.clear()\n',
        tests=_REPLAY_TESTS,
    ),
)
