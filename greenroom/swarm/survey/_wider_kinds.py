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
        "A literal is raised", 3, "It is not an exception: this raises a `TypeError`.", "Raise an exception."
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
        "A value that contains SQL changes the statement.",
        "Pass the values as parameters: `execute(statement, values)`.",
    ),
    "extract-all": FindingKind(
        "An archive is unpacked without a filter",
        2,
        "Before Python 3.14, members of the archive may be written outside the target folder.",
        'Pass `filter="data"`.',
    ),
    "weak-hash": FindingKind(
        "A password goes through MD5 or SHA-1",
        2,
        "These hashes are fast: an attacker tries billions of passwords a second.",
        "Use `hashlib.scrypt`, or a library for password hashes.",
    ),
    "bind-all": FindingKind(
        "A server listens on all addresses",
        2,
        "Every machine on the network can connect to it.",
        "Listen on `127.0.0.1` by default, and make the address a setting.",
    ),
    "unsafe-setting": FindingKind(
        "A setting switches a protection off", 2, "The attack that it prevents is possible.", "Leave it on."
    ),
    "import-cycle": FindingKind(
        "Modules import each other while they load",
        2,
        "Whether it works depends on which module is imported first; a new import elsewhere can break it.",
        "Move shared code to a third module, or import inside the function that needs it.",
    ),
    "loop-variable": FindingKind(
        "A function made in a loop uses the loop's variable",
        2,
        "If it is called later, it sees the last value.",
        "Bind the value: a default argument, or `functools.partial`.",
    ),
    "strip-characters": FindingKind(
        "`strip` with several characters",
        2,
        "It removes any of these characters, not the whole string.",
        "Use `removeprefix` or `removesuffix`.",
    ),
    "group-twice": FindingKind(
        "A group of `groupby` is used twice", 2, "The second use finds it empty.", "Copy it into a list."
    ),
    "dead-code": FindingKind(
        "Private code that nothing names", 2, "It has to be maintained, and has no use.", "Remove it, or use it."
    ),
    "raises-broad": FindingKind(
        "A test expects any exception",
        2,
        "A mistake in the test itself passes too.",
        "Name the exception, or give `match=`.",
    ),
    "stale-path": FindingKind(
        "Documentation names a file that is not there", 2, "Readers cannot find it.", "Correct the path."
    ),
    "stale-name": FindingKind(
        "Documentation names code that is not there",
        2,
        "Copied code raises an error.",
        "Use the current name.",
    ),
    "stale-command": FindingKind(
        "Documentation shows a command that does not exist",
        2,
        "The command fails for readers.",
        "Show the current command.",
    ),
    "stale-version": FindingKind(
        "Documentation pins another version", 2, "Readers install an old version.", "Use the current version."
    ),
    # Tidiness.
    "import-cycle-late": FindingKind(
        "Modules import each other within functions",
        1,
        "It works, but the modules cannot be understood or tested apart.",
        "Move shared code to a third module.",
    ),
    "named-nowhere": FindingKind(
        "Public code that nothing in the tree names",
        1,
        "No code, no test and no document uses it: it may be dead, or lack all three.",
        "Remove it, or test and document it.",
        sure="possible",
    ),
    "test-asserts-nothing": FindingKind(
        "A test without an assertion",
        1,
        "It shows only that nothing is raised.",
        "Assert what the code did, or say in the test's docstring that nothing else is meant.",
    ),
    "skip-always": FindingKind("A test is always skipped", 1, "It checks nothing.", "Fix it, or remove it."),
    "unused-import": FindingKind(
        "An import that nothing uses", 1, "It slows the import down and misleads readers.", "Remove it."
    ),
    "unused-variable": FindingKind(
        "A variable that nothing reads",
        1,
        "It is left over, or its use was forgotten.",
        "Remove it, or use it.",
    ),
}
"""By weight, as a report shows them."""
