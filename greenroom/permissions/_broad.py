"""Allow rules that are too broad for mode auto: they would let any program run, or any agent start, unreviewed.

They are ignored in that mode, and apply again when it is left, as in Claude Code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from greenroom.permissions._rules import Rule

_SHELLS: Final = frozenset(("Bash", "Monitor", "PowerShell"))
_WRAPPERS: Final = ("env", "xargs", "sudo", "doas", "nohup", "nice", "ionice", "setsid", "stdbuf", "timeout")
"""Programs that run another one, after options of their own."""
_INTERPRETERS: Final = """
python pypy ruby perl php lua node deno bun tsx ts-node npx bunx uvx sh bash dash zsh fish ksh pwsh powershell eval exec source ssh awk
"""
_RUNS_ANYTHING: Final = (*_INTERPRETERS.split(), *_WRAPPERS)
"""Programs that run their input, or another program."""
_VERSION: Final = re.compile(r"[\d.]*(?:\.exe)?")
_VALUED: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(options.split())
    for names, options in {
        "python pypy": "-X -W --check-hash-based-pycs",
        "node bun tsx ts-node": "-r --require --import --loader --experimental-loader --input-type --env-file -C --conditions",
        "deno": "-c --config --import-map --cert --location --seed",
        "npx bunx": "-p --package -w --workspace",
        "uvx": "--from --with -w -p --python --index --index-url -i --env-file",
        "ruby": "-I -r -E -C -x",
        "perl": "-I",
        "php": "-d -c -z",
        "lua": "-l",
        "sh bash dash zsh ksh fish": "-o -O --rcfile --init-file -C --init-command",
        "pwsh powershell": "-ExecutionPolicy -ConfigurationName -WorkingDirectory -wd -ep -ex",
        "ssh": "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
        "awk": "-F -v",
    }.items()
    for name in names.split()
}
"""Options of interpreters that take the next word without naming the program; `-m` of Python names it."""
_SCRIPTS: Final = frozenset(
    ("npm run", "yarn run", "pnpm run", "bun run", "npm exec", "yarn dlx", "pnpm dlx", "uv run", "deno run")
)
"""Commands that run any script of a package."""


def is_broad(rule: Rule) -> bool:
    """True if an allow rule permits unforeseeable programs: `Bash`, `Bash(python*)`, `Bash(npm run *)`, `Agent`."""
    if rule.tool == "Agent":
        return True
    if rule.tool not in _SHELLS:
        return False
    content = rule.content
    if content is None:
        return True
    fixed = content.removesuffix(":*")
    if "*" not in content:
        return False
    beginning = fixed.partition("*")[0]
    words = beginning.split()
    if not words:
        return True
    if "*" in fixed and not beginning[-1].isspace() and _begins_open(words):
        return True  # `python*` also matches `python3 -c ...`, and `pyth*` is not narrower
    return _is_open(words)


def _begins_open(words: list[str]) -> bool:
    """True if a command that begins with these words, the last possibly incomplete, can run any program."""
    path, program = words[0].rpartition("/")[::2]
    if _begins_one(" ".join((program, *words[1:])), path):
        return True
    return program in _WRAPPERS and any(rest and _begins_open(rest) for rest in _wrapped(words))


def _is_open(words: list[str]) -> bool:
    """True if the beginning of a command leaves open which program is run."""
    words = [words[0].rpartition("/")[2], *words[1:]]
    if words[0] in _WRAPPERS:
        return any(not rest or _is_open(rest) for rest in _wrapped(words))
    while len(words) > 1 and _is_option(words):  # `python -c *` is not narrower than `python *`
        words.pop()
    if " ".join(words) in _SCRIPTS:
        return True
    return len(words) == 1 and (
        _interpreter(words[0]) is not None or any(script.startswith(f"{words[0]} ") for script in _SCRIPTS)
    )


def _wrapped(words: list[str]) -> Iterator[list[str]]:
    """Yield the commands that a wrapper may run: the words after it, and after each of its options and their possible
    values.
    """
    for at, word in enumerate(words[1:], 1):
        yield words[at:]
        if not (word.startswith("-") or "=" in word or word[0].isdigit() or words[at - 1].startswith("-")):
            return
    yield []


def _is_option(words: list[str]) -> bool:
    """True if the last of these words is an option that only affects how the next ones run."""
    if words[-1].startswith("-"):
        return True
    return len(words) > 2 and words[-2] in _VALUED.get(_interpreter(words[0]) or "", ())


def _begins_one(command: str, path: str) -> bool:
    if not command:
        return path.startswith("/") or not path  # any program of the machine; `./scripts/*` are the project's
    return any(prefix.startswith(command) for prefix in (*_RUNS_ANYTHING, *_SCRIPTS))


def _interpreter(program: str) -> str | None:
    """Return the interpreter that a program is, in any version; None for another program."""
    return next(
        (
            interpreter
            for interpreter in _INTERPRETERS.split()
            if program.startswith(interpreter) and _VERSION.fullmatch(program, len(interpreter))
        ),
        None,
    )
