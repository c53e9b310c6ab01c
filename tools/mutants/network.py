"""Mutants of what nodes promise each other across a network: each has to be found by a few simulated schedules.

Two are in the model of a host that the tests bring along: what it does is what a host has to do.
"""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_CHANNEL: Final = "greenroom.remote.wire._numbered_channel"
_LINK: Final = "greenroom.remote.links._link"
_NODE: Final = "greenroom.remote.links._node"
_REF: Final = "greenroom.remote.links._remote_ref"
_RUNS: Final = "tests.remote.network.remote_runs"
_WIRE: Final = "greenroom.remote.wire._wire"
_TESTS: Final = ("tests/remote/network/test_network.py",)

NETWORK: Final = (
    Mutant(
        "frames are acknowledged before they are delivered",
        ("R15-a",),
        _LINK,
        "        self._wire.receive(message, self._deliver)\n",
        "        self._wire.receive(\n"
        "            message, lambda number, frame: self._after(0.5, lambda: self._deliver(number, frame))\n"
        "        )\n",
        tests=_TESTS,
    ),
    Mutant(
        "a link resumes without numbers",
        ("R15-a",),
        _CHANNEL,
        "        self._ahead = 0\n        self._sent_bytes = 0\n        self._told = self.got\n",
        "        self._told = self.got\n",
        tests=_TESTS,
    ),
    Mutant(
        "the name in a hello is believed",
        ("R15-a",),
        "greenroom.remote.links._dialling",
        "judge=lambda shown: theirs.node if is_right(shown) else None",
        "judge=lambda shown: theirs.node",
        tests=_TESTS,
    ),
    Mutant(
        "a host forgets to end the runs of a launcher that is gone",
        ("R15-a",),
        _RUNS,
        "            if trio.current_time() - self._words.get(task, -ORPHAN_S) >= ORPHAN_S:\n",
        "            if False:\n",
        tests=_TESTS,
    ),
    Mutant(
        "orders are dropped when a connection is cut",
        ("R15-a",),
        _WIRE,
        "        self.control.resume(got[0])\n",
        "        self.control.resume(got[0])\n        self.control._ahead = len(self.control._waiting)\n",
        tests=_TESTS,
    ),
    Mutant(
        "a message takes no place over there",
        ("R15-a",),
        _REF,
        "        target.places -= 1\n",
        "",
        tests=_TESTS,
    ),
    Mutant(
        "an item leaves the box before its line is in the transcript",
        ("R15-a",),
        _RUNS,
        '        await self._process.point()\n        if not self._disk.read(f"line/{item}"):\n',
        '        self._disk.write(f"box/{item}", None)\n'
        "        self._disk.sync()\n"
        "        await self._process.point()\n"
        '        if not self._disk.read(f"line/{item}"):\n',
        tests=_TESTS,
    ),
    Mutant(
        "a process takes up a link of the one before it",
        ("R15-a",),
        _NODE,
        ' or theirs.expects not in ("", self.boot):\n',
        ":\n",
        tests=_TESTS,
    ),
    Mutant(
        "a cancel of its own scope leaves a bare nursery",
        (),
        "greenroom.core._trio",
        "                    raise  # in here: the nursery's scope takes what is its own\n",
        "                    body_error = error\n",
        tests=("tests/actors/test_turn_ends.py", *_TESTS),
    ),
)
