"""The kinds of findings that need the whole tree, the linter, or a look at more than one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from greenroom.swarm.survey._finding_kind import FindingKind

WIDER_KINDS: Final[Mapping[str, FindingKind]] = {
    # Wrong as it stands.
    "undefined-name": FindingKind(
        "A name that is not defined", 3, "The line raises a `NameError`.", "Define it, or import it."
    ),
    "format-args": FindingKind(
        "A format and its values do not fit", 3, "The line raises an error, or leaves a value out.", "Make them agree."
    ),
    "raise-literal": FindingKind(
        "A text is raised", 3, "It is not an exception: this raises a `TypeError`.", "Raise one."
    ),
    "except-twice": FindingKind(
        "An exception is handled twice", 3, "The second handler is never reached.", "Keep one of the handlers."
    ),
    "assert-constant": FindingKind(
        "A test asserts a constant", 3, "It passes whatever the code does.", "Assert what the code did."
    ),
    # A mistake or a risk.
    "sql": FindingKind(
        "SQL is put together from values",
        2,
        "Whoever chooses a value chooses the statement.",
        "Give the values apart: `execute(statement, values)`.",
    ),
    "extract-all": FindingKind(
        "An archive is unpacked without a filter",
        2,
        "Before Python 3.14 its members may be written outside of the folder.",
        'Pass `filter="data"`.',
    ),
    "weak-hash": FindingKind(
        "A password goes through MD5 or SHA-1",
        2,
        "Passwords are guessed from it by the billion a second.",
        "Use `hashlib.scrypt`, or a library for passwords.",
    ),
    "bind-all": FindingKind(
        "A server listens on all addresses",
        2,
        "Everybody in the network reaches it, on a laptop too.",
        "Listen on `127.0.0.1` by default, and let a setting say more.",
    ),
    "unsafe-setting": FindingKind(
        "A setting switches a protection off", 2, "What it protects from is possible again.", "Leave it on."
    ),
    "import-cycle": FindingKind(
        "Modules import each other while they load",
        2,
        "Which one is imported first decides whether the names are there: a new import elsewhere can break it.",
        "Move what both need to a third module, or import where it is used.",
    ),
    "loop-variable": FindingKind(
        "A function made in a loop uses the loop's variable",
        2,
        "When it is called it sees the last value.",
        "Bind the value: a default argument, or `functools.partial`.",
    ),
    "strip-characters": FindingKind(
        "`strip` with several characters",
        2,
        "It takes away any of the characters, not the text.",
        "Use `removeprefix` or `removesuffix`.",
    ),
    "group-twice": FindingKind(
        "A group of `groupby` is used twice", 2, "The second time it is empty.", "Make a list of it."
    ),
    "dead-code": FindingKind(
        "Private code that nothing names", 2, "It is read and kept up for nobody.", "Take it away, or use it."
    ),
    "raises-broad": FindingKind(
        "A test expects any exception",
        2,
        "A slip in the test itself passes too.",
        "Name the exception, or give `match=`.",
    ),
    "stale-path": FindingKind(
        "Documentation names a file that is not there", 2, "The reader looks for it in vain.", "Mend the path."
    ),
    "stale-name": FindingKind(
        "Documentation names code that is not there",
        2,
        "What the reader copies raises an error.",
        "Name what is there today.",
    ),
    "stale-command": FindingKind(
        "Documentation shows a command that does not exist",
        2,
        "What the reader types fails.",
        "Show the command of today.",
    ),
    "stale-version": FindingKind(
        "Documentation pins another version", 2, "The reader installs an old one.", "Write the version of the project."
    ),
    # Tidiness.
    "import-cycle-late": FindingKind(
        "Modules import each other within functions",
        1,
        "It works, and shows that the modules are one.",
        "Move what both need to a third module.",
    ),
    "named-nowhere": FindingKind(
        "Public code that nothing in the tree names",
        1,
        "No code, no test and no document uses it: it may be dead, or lack all three.",
        "Take it away, or test and document it.",
        sure="possible",
    ),
    "test-asserts-nothing": FindingKind(
        "A test without an assertion",
        1,
        "It shows only that nothing is raised.",
        "Assert what the code did, or say in the test's docstring that nothing else is meant.",
    ),
    "skip-always": FindingKind(
        "A test is always skipped", 1, "It says what was once wanted, and checks nothing.", "Mend it, or take it away."
    ),
    "unused-import": FindingKind("An import that nothing uses", 1, "It costs time and misleads.", "Take it away."),
    "unused-variable": FindingKind(
        "A variable that nothing reads",
        1,
        "Either it is left over, or something forgot it.",
        "Take it away, or use it.",
    ),
}
"""By weight, as a report shows them."""
