"""Mutants of the server: its checks of heads, its limits, and who has to go."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ADMISSION: Final = "greenroom.serving._admission"
_ADMISSION_TESTS: Final = ("tests/serving/test_admission.py",)
_FRAMES: Final = "greenroom.serving._frames"
_FRAME_TESTS: Final = ("tests/serving/test_frames.py",)
_HEADS: Final = "greenroom.serving._heads"
_HOSTILE_TESTS: Final = ("tests/serving/test_hostile.py",)
_PROOF: Final = "greenroom.serving._proof"
_SERVER_TESTS: Final = ("tests/serving/test_server.py",)
_STREAMS: Final = "greenroom.serving._streams"
_VISIT: Final = "greenroom.serving._visit"

SERVING: Final = (
    Mutant(
        "a foreign host passes",
        ("A25-a",),
        _HEADS,
        "hosts[0] not in names.hosts",
        "not hosts[0]",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "an origin of another port passes",
        ("A25-a",),
        _HEADS,
        "any(each not in names.origins | names.other_origins for each in origins)",
        "any(each == 'null' for each in origins)",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "a path for links takes origins",
        (),
        _HEADS,
        "endpoint.refuses_origins and origins",
        "endpoint.refuses_origins and not hosts",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "a length and chunks pass together",
        (),
        _HEADS,
        'len(lengths) > 1 or (head.values("transfer-encoding") and lengths)',
        "len(lengths) > 1",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "a complete head may be of any size",
        (),
        _HEADS,
        "self._taken - len(self.behind) > MAX_HEAD_BYTES",
        "self._taken < 0",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "a wrong credential is answered at once",
        (),
        _PROOF,
        "            await trio.sleep(WRONG_S)\n",
        "",
        tests=_SERVER_TESTS,
    ),
    Mutant(
        "a newcomer is shut out for older ones",
        ("A25-h",),
        _ADMISSION,
        "standing[0])",
        "standing[-1])",
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "a wrong credential is no reason to go first",
        (),
        _ADMISSION,
        "        seat.was_wrong = True\n",
        "        pass\n",
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "an empty fragment is not counted",
        (),
        _FRAMES,
        "        self._fragments += 1\n",
        "        self._fragments += length > 0\n",
        tests=_FRAME_TESTS,
    ),
    Mutant(
        "what was sent behind the head is lost",
        (),
        _STREAMS,
        "        chunk: bytes | bytearray = self._behind\n",
        '        chunk: bytes | bytearray = b""\n',
        tests=_SERVER_TESTS,
    ),
    Mutant(
        "a connection may stay unproven",
        (),
        _VISIT,
        "    if not connection.is_proven:\n",
        "    if connection.is_proven:\n",
        tests=_SERVER_TESTS,
    ),
    Mutant(
        "an error of a connection ends the server",
        (),
        _VISIT,
        "                if rest is not None and not isinstance(rest, Exception):\n                    raise\n"
        "                if cancelled is not None:\n                    raise cancelled from None  # noqa: ASYNC104 - the cancelled part of it\n            finally:",
        "                raise\n            finally:",
        tests=_HOSTILE_TESTS,
    ),
)
