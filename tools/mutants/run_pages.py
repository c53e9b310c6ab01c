"""Mutants of the page of a run: who gets data, what viewers are told, what a page leaves, what a file holds."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_COMMAND_TESTS: Final = ("tests/web/test_page_of_commands.py",)
_DOOR_TESTS: Final = ("tests/web/test_run_doors.py",)
_FILE_TESTS: Final = ("tests/web/test_run_file.py",)
_HEADS: Final = "greenroom.serving._heads"
_LIST: Final = "greenroom.web._run_list"
_OPENED: Final = "greenroom.web._opened_page"
_OPENED_TESTS: Final = ("tests/web/test_opened_page.py",)
_PAGE: Final = "greenroom.web._run_page"
_PAGE_TESTS: Final = ("tests/web/test_run_page.py",)
_REDACTION: Final = "greenroom.trace.exports._redaction"
_SHOWN: Final = "greenroom.web._shown_run"
_SHOWN_TESTS: Final = ("tests/web/test_shown_run.py",)

RUN_PAGES: Final = (
    Mutant(
        "events are read without a token",
        ("V-token",),
        _PAGE,
        "answer=partial(self._answer, answer), judge=judge)",
        "answer=partial(self._answer, answer))",
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "rows come without the right token",
        ("V-token",),
        _PAGE,
        "                judge=judge,\n                protocol=PROTOCOL,",
        "                judge=lambda _: True,\n                protocol=PROTOCOL,",
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "the token can be guessed",
        ("V-token",),
        _PAGE,
        "secrets.token_urlsafe(_TOKEN_BYTES)",
        '"0" * 32',
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "a host in other letters is ours",
        ("V-host",),
        _HEADS,
        "hosts[0] not in names.hosts:",
        "hosts[0].lower() not in names.hosts:",
        tests=_DOOR_TESTS,
    ),
    Mutant(
        "one of two origins decides",
        ("V-host",),
        _HEADS,
        "len(origins) > 1 or any(each not in",
        'all(each not in ["", *origins[1:]] and each not in',
        tests=_DOOR_TESTS,
    ),
    Mutant(
        "another port of this machine may read",
        ("V-host",),
        _HEADS,
        '_OURS: Final = frozenset({"none", "same-origin"})',
        '_OURS: Final = frozenset({"none", "same-origin", "same-site"})',
        tests=_DOOR_TESTS,
    ),
    Mutant(
        "a viewer may say more than its greeting",
        ("V-reads",),
        _PAGE,
        "        await connection.receive()\n        await connection.close(_REFUSED",
        "        while True:\n            await connection.receive()\n        await connection.close(_REFUSED",
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "a name is part of a path",
        ("V-runs",),
        _LIST,
        "journal = self._journals().get(run)",
        "journal = self._journals().get(run) or ((self._runs or Path()) / run / JOURNAL)",
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "a link leads out of the folder of runs",
        ("V-runs",),
        _LIST,
        "return journal == self._journal or not (journal.is_symlink() or journal.parent.is_symlink())",
        "return True",
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "a viewer that comes again gets all rows",
        ("V-rows",),
        _PAGE,
        "        return run, dict(has)\n",
        "        return run, {}\n",
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "a moment is one event further",
        ("V-moment",),
        _PAGE,
        'moment(_number(said, "at"), said',
        'moment(_number(said, "at") + 1, said',
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "a cut is told after five seconds",
        ("V-told",),
        _SHOWN,
        "LOCK_S: Final = 0.5",
        "LOCK_S: Final = 5.0",
        tests=_SHOWN_TESTS,
    ),
    Mutant(
        "viewers are not told of a cut",
        ("V-told",),
        _SHOWN,
        "is_folded or self.standing is not before:",
        "is_folded:",
        tests=_SHOWN_TESTS,
    ),
    Mutant(
        "a page closes before the last rows",
        ("V-ends",),
        _OPENED,
        "            await page.finish()\n",
        "            await trio.lowlevel.checkpoint()\n",
        tests=_OPENED_TESTS,
    ),
    Mutant(
        "the first viewer is the only one",
        ("V-viewer",),
        _PAGE,
        "MAX_VIEWERS: Final = 32",
        "MAX_VIEWERS: Final = 1",
        tests=_COMMAND_TESTS,
    ),
    Mutant(
        "what fails in a page fails in the program",
        ("V-fails",),
        _OPENED,
        "if rest is not None and not (has_started and isinstance(rest, Exception)):",
        "if rest is not None:",
        tests=_OPENED_TESTS,
    ),
    Mutant(
        "files of a page stay open",
        ("V-left",),
        _PAGE,
        "            shown.close()\n        self._open.clear()",
        "            _LEFT.append(shown)\n        self._open.clear()",
        tests=_OPENED_TESTS,
    ),
    Mutant(
        "the port is taken when the run has begun",
        ("V-port",),
        _OPENED,
        "    async with open_run_page(None, runs=runs, port=port) as page:",
        "    async with open_run_page(None, runs=runs, port=0) as page:",
        tests=_COMMAND_TESTS,
    ),
    Mutant(
        "a file holds words that nobody has asked for",
        ("V-content",),
        _REDACTION,
        "return name not in words and (name in _BASE or",
        "return True or (name in _BASE or",
        tests=_FILE_TESTS,
    ),
    Mutant(
        "a secret of the environment is in a file",
        ("V-masked",),
        _REDACTION,
        "known = self._secrets.mask(masked)",
        "known = masked",
        tests=_FILE_TESTS,
    ),
)
