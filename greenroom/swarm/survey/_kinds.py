"""The kinds of findings: a table with the weight of each, why it matters and what to do about it.

A kind is worth its line only where it can be told exactly: a pattern that is normal in half of all code is left out. The order of the
table is the order of the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from greenroom.swarm.survey._finding_kind import WEIGHTS, FindingKind
from greenroom.swarm.survey._wider_kinds import WIDER_KINDS

__all__ = ["KINDS", "MAX_DEPTH", "VERY_LONG_LINES", "WEIGHTS", "FindingKind"]

VERY_LONG_LINES: Final = 150
MAX_DEPTH: Final = 6

_OF_FILES: Final[Mapping[str, FindingKind]] = {
    # Wrong as it stands.
    "secret": FindingKind(
        "What looks like a key is in the files",
        3,
        "Everybody who can read the repository has it, in its history too.",
        "Revoke it, then take it out; keep keys in the environment.",
        sure="likely",
    ),
    "conflict": FindingKind(
        "A merge conflict was committed", 3, "Neither side's text is the file's.", "Choose, and remove the marks."
    ),
    "syntax": FindingKind(
        "A file does not parse",
        3,
        "It cannot be imported.",
        "Mend the line, or give the file a name that does not end in `.py` if it is not a program.",
    ),
    "no-toml": FindingKind(
        "`pyproject.toml` does not parse", 3, "Nothing can build or install the project.", "Mend the line."
    ),
    "assert-tuple": FindingKind(
        "A condition is a tuple",
        3,
        "A tuple with something in it is always true: nothing is checked.",
        "Take the parentheses away.",
    ),
    "always-true": FindingKind(
        "A condition is always true",
        3,
        'In `x == "a" or "b"`, the `"b"` alone is true.',
        'Write `x in ("a", "b")`.',
    ),
    "lost-compare": FindingKind(
        "A comparison whose result nobody uses", 3, "It checks nothing.", "Put `assert` before it, or take it away."
    ),
    "unawaited": FindingKind(
        "A coroutine is made and never awaited", 3, "The function does not run.", "Put `await` before the call."
    ),
    "exception-lost": FindingKind(
        "An exception is made and not raised", 3, "The error goes unnoticed.", "Put `raise` before it."
    ),
    "not-implemented": FindingKind(
        "`NotImplemented` is raised",
        3,
        "It is not an exception: this raises a `TypeError`.",
        "Raise `NotImplementedError`.",
    ),
    "except-or": FindingKind(
        "`except A or B`", 3, "This catches the first kind only.", "Write the kinds as a tuple: `except (A, B)`."
    ),
    "except-late": FindingKind(
        "A handler that is never reached",
        3,
        "A handler above it catches the same exceptions.",
        "Put the narrower handler first.",
    ),
    "redefined": FindingKind(
        "A function or class is defined twice",
        3,
        "The second takes the name; the first cannot be reached. A test that it hides never runs.",
        "Rename one of them, or take one away.",
    ),
    "same-key": FindingKind(
        "A key twice in one dict, with different values", 3, "The first value is lost.", "Keep one."
    ),
    "is-literal": FindingKind(
        "`is` with a literal",
        3,
        "This compares identity, which is an accident of the interpreter.",
        "Write `==` or `!=`.",
    ),
    "frozen-default": FindingKind(
        "A default argument that is computed once",
        3,
        "The call is made when the function is defined, never again.",
        "Let the default be `None`, and compute it in the body.",
    ),
    "mutable-default": FindingKind(
        "A mutable default argument that is changed",
        3,
        "It is made once: what one call puts into it, the next one finds.",
        "Let the default be `None`, and make a new one in the body.",
    ),
    "undefined-all": FindingKind(
        "A name in `__all__` that the module does not have",
        3,
        "`from module import *` raises an `AttributeError`.",
        "Take the name out, or define it.",
    ),
    "yaml-load": FindingKind(
        "`yaml.load` without a loader",
        3,
        "With PyYAML 6 the call fails; with older ones it can run code from the text.",
        "Use `yaml.safe_load`.",
    ),
    "tls": FindingKind(
        "Certificates are not checked",
        3,
        "Anybody on the way can read and change what passes.",
        "Leave the check on; for a private authority, give its certificate.",
    ),
    "debugger": FindingKind(
        "A debugger is started", 3, "The program stops where nobody is looking.", "Take the line away."
    ),
    # A mistake or a risk.
    "async-blocks": FindingKind(
        "A blocking call in an `async def`",
        2,
        "Everything else in the event loop stands still meanwhile.",
        "Use the async counterpart, or run it in a thread.",
    ),
    "task-dropped": FindingKind(
        "The result of `create_task` is not kept",
        2,
        "The event loop holds tasks weakly: this one may be collected half-way, and its error goes unseen.",
        "Keep the task until it is done, or use a task group.",
    ),
    "mutable-kept": FindingKind(
        "A mutable default argument that is kept or given back",
        2,
        "It is made once: all callers share it, and a change of one is a change for all.",
        "Let the default be `None`, and make a new one in the body.",
    ),
    "bare-except": FindingKind(
        "Bare `except:`",
        2,
        "It catches the interrupt key and cancellation too.",
        "Name the exceptions; at least write `except Exception:`.",
    ),
    "base-exception": FindingKind(
        "`BaseException` is caught and dropped",
        2,
        "This stops cancellation, the interrupt key and exit.",
        "Catch `Exception`, or raise it again.",
    ),
    "swallowed": FindingKind(
        "Every error is swallowed, and no comment says why",
        2,
        "`except Exception: pass` hides what will be searched for later.",
        "Name the exceptions that are expected, or log the error; else say in a comment why it does not matter.",
    ),
    "finally-return": FindingKind(
        "`return`, `break` or `continue` in `finally`",
        2,
        "It drops the exception that is on its way out.",
        "Put it after the `try` statement.",
    ),
    "unreachable": FindingKind(
        "Code that can never run",
        2,
        "It follows a `return`, `raise`, `break` or `continue` of the same block.",
        "Take it away, or mend what stands before it.",
    ),
    "shell": FindingKind(
        "A shell runs a command line that is put together",
        2,
        "What is put into the line can add commands of its own.",
        "Give the command as a list, without a shell.",
    ),
    "eval": FindingKind(
        "`eval` or `exec`",
        2,
        "Control of the text is control of the program.",
        "For data use `ast.literal_eval` or JSON; else make sure that no text from outside gets there.",
    ),
    "unpickle": FindingKind(
        "Data is unpickled, or loaded as YAML that may make any object",
        2,
        "Loading it can run any code: fine for what this program wrote itself, not for what comes from elsewhere.",
        "For what comes from outside use JSON, `yaml.safe_load` or another format of plain data.",
    ),
    "mktemp": FindingKind(
        "`tempfile.mktemp`", 2, "Somebody else can make the file first.", "Use `mkstemp` or `NamedTemporaryFile`."
    ),
    "no-timeout": FindingKind(
        "A network call without a timeout",
        2,
        "It waits without a limit for a server that does not answer.",
        "Give it a `timeout`.",
    ),
    "open-left": FindingKind(
        "A file is opened and not closed",
        2,
        "It is closed when it is collected, at some time; until then written data may be missing.",
        "Use `with open(...)`, or `Path.read_text` and its relatives.",
    ),
    "assert-check": FindingKind(
        "`assert` checks an argument of a public function",
        2,
        "With `python -O` the check is gone.",
        "Raise a `ValueError` or a `TypeError`.",
    ),
    "utcnow": FindingKind(
        "A time in UTC that does not say so",
        2,
        "`utcnow` and `utcfromtimestamp` give naive times, which most calls take for local ones; deprecated since 3.12.",
        "Use `datetime.now(UTC)`, `datetime.fromtimestamp(t, UTC)`.",
    ),
    "test-empty": FindingKind(
        "A test that does nothing", 2, "It passes whatever the code does.", "Write it, or take it away."
    ),
    "dead-link": FindingKind(
        "Documentation links to a file that is not there",
        2,
        "The reader ends at an error.",
        "Mend the link. (Files that ignore files name count as absent.)",
    ),
    "no-readme-file": FindingKind(
        "`pyproject.toml` names a README that is not there", 2, "The build fails.", "Mend the name, or add the file."
    ),
    "no-licence": FindingKind(
        "No licence", 2, "Without one nobody may use the code.", "Add a LICENSE file, and name it in `pyproject.toml`."
    ),
    "no-requires-python": FindingKind(
        "`requires-python` is missing",
        2,
        "Installers give the package to Pythons that it does not work on.",
        "Add it to the table `[project]`.",
    ),
    # Tidiness.
    "leftover": FindingKind("Debugging left in other languages", 1, "It shows to users.", "Take the lines away."),
    "mutable-read": FindingKind(
        "A mutable default argument",
        1,
        "It is made once and shared by all calls; nothing changes it here, yet.",
        "Use a tuple or `None`.",
    ),
    "skip-silent": FindingKind(
        "A test is skipped and nothing says why", 1, "Nobody dares to turn it on again.", "Give it a reason."
    ),
    "none-compare": FindingKind(
        "`== None`", 1, "This asks the object instead of the identity.", "Write `is None` or `is not None`."
    ),
    "f-string": FindingKind(
        "An f-string without placeholders", 1, "Either the `f` or a placeholder is a mistake.", "Mend it."
    ),
    "star-import": FindingKind("`from ... import *`", 1, "Nobody sees where a name comes from.", "Import the names."),
    "all-twice": FindingKind("A name twice in `__all__`", 1, "One of them may stand for another name.", "Keep one."),
    "print": FindingKind(
        "`print` in library code",
        1,
        "Callers cannot turn it off; single ones are often left from debugging.",
        "Use `logging`, or take it away.",
    ),
    "no-readme": FindingKind(
        "`pyproject.toml` names no README",
        1,
        "The package's page in an index stays empty.",
        'Add `readme = "README.md"`.',
    ),
    "very-long": FindingKind(
        f"A function of more than {VERY_LONG_LINES} lines", 1, "Nobody sees all of it at once.", "Cut it up."
    ),
    "depth": FindingKind(
        f"More than {MAX_DEPTH} blocks within each other", 1, "Hard to follow.", "Return early, or cut it up."
    ),
}

KINDS: Final[Mapping[str, FindingKind]] = dict(
    sorted({**_OF_FILES, **WIDER_KINDS}.items(), key=lambda entry: -entry[1].weight)
)
"""In the order in which a report shows them: by weight."""
