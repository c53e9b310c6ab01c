"""Mutants of exports, of comparing and watching runs, and of the folders of failing tests."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_LINES: Final = ("tests/trace/test_otlp_lines.py",)
_OTLP: Final = "greenroom.trace.exports._export_otlp"
_PERFETTO: Final = "greenroom.trace.exports._export_perfetto"
_REDACTION: Final = "greenroom.trace.exports._redaction"
_TRACKS: Final = ("tests/trace/test_perfetto.py",)
_WATCH: Final = "greenroom.session.parts._session_watch"
_WATCHED: Final = ("tests/session/test_session_watch.py",)
_WORDS: Final = ("tests/replay/test_export_words.py",)

RUN_EXPORTS: Final = (
    Mutant(
        "a line of spans may be too long for a collector",
        ("X-otlp",),
        _OTLP,
        "size + len(content) + 1 > room",
        "size > room",
        tests=_LINES,
    ),
    Mutant(
        "a line holds one span too many",
        ("X-otlp",),
        _OTLP,
        "len(line) == MAX_SPANS",
        "len(line) > MAX_SPANS",
        tests=_LINES,
    ),
    Mutant(
        "the last line of spans is lost",
        ("X-otlp",),
        _OTLP,
        "    if line:\n        sink",
        "    if count > 512 and line:\n        sink",
        tests=_LINES,
    ),
    Mutant(
        "slices overlap on a track",
        ("X-perfetto",),
        _PERFETTO,
        "if not open_until or stop <= open_until[-1]:",
        "if True:",
        tests=_TRACKS,
    ),
    Mutant(
        "a flow ends in each turn of its message",
        ("X-perfetto",),
        _PERFETTO,
        "        self._flows.discard(put)\n",
        "",
        tests=_TRACKS,
    ),
    Mutant(
        "a track is told after its events",
        ("X-perfetto",),
        _PERFETTO,
        "return track, [*packets, _nested(60, described) + _number(10, 1)]",
        "return track, packets",
        tests=_TRACKS,
    ),
    Mutant(
        "words of a known field are kept",
        ("X-words",),
        _REDACTION,
        "return name not in words and (",
        "return (",
        tests=_WORDS,
    ),
    Mutant(
        "words of an unknown event are kept",
        ("X-words",),
        _REDACTION,
        "or not _holds_text(value))\n\n    def _field",
        "or True)\n\n    def _field",
        tests=_WORDS,
    ),
    Mutant(
        "names are not masked",
        ("X-secrets",),
        _REDACTION,
        "return self._field(value, is_words=False)",
        "return value",
        tests=_WORDS,
    ),
    Mutant(
        "texts are cut before they are masked",
        ("X-secrets",),
        _REDACTION,
        "            text = self._masked(value)\n",
        "            text = self._masked(value[:SHORT_CHARS]) + value[SHORT_CHARS:]\n",
        tests=_WORDS,
    ),
    Mutant(
        "half a journal is exported as a whole one",
        ("X-whole",),
        "greenroom.trace.exports._entry_source",
        "if len(entries) != end - begin:",
        "if not entries:",
        tests=_WORDS,
    ),
    Mutant(
        "an export is written in its place",
        ("X-whole",),
        "greenroom.replay._run_export",
        'beside = path.with_name(f".{path.name}.{os.getpid()}.part")',
        "beside = path",
        tests=("tests/replay/test_replacement.py",),
    ),
    Mutant(
        "lost events are skipped",
        ("X-watch",),
        _WATCH,
        "            if seq > self.state.seq + 1:\n                self._is_behind = True\n            elif seq == self.state.seq + 1:",
        "            if seq > self.state.seq:",
        tests=_WATCHED,
    ),
    Mutant(
        "a snapshot has only what the recorder holds",
        ("X-watch",),
        _WATCH,
        "if entry.seq == world.seq + 1:",
        "if entry.seq > world.seq + 1:",
        tests=_WATCHED,
    ),
    Mutant(
        "the run that is kept is the one before it was shortened",
        ("X-kept",),
        "greenroom.testing._explore",
        "self._record_whole(choices)",
        "self._record_whole(found)",
        tests=("tests/testing/test_kept_failures.py",),
    ),
    Mutant(
        "a kept run lacks the mail of plain actors",
        ("X-kept",),
        "greenroom.testing._explore",
        "    Behavior.journal = Level.FULL\n",
        "",
        tests=("tests/testing/test_kept_failures.py",),
    ),
    Mutant(
        "a message that moved is missing and added",
        ("X-diff",),
        "greenroom.trace._diff_all",
        "            if added[text]:\n",
        "            if False:\n",
        tests=("tests/replay/test_run_comparison.py",),
    ),
    Mutant(
        "a conversation is compared up to its first difference",
        ("X-diff",),
        "greenroom.trace._diff_all",
        "range(other_begin + pairs, other_end)",
        "range(other_begin + pairs, other_begin + pairs)",
        tests=("tests/replay/test_run_comparison.py",),
    ),
)
