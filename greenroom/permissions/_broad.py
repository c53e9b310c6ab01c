"""Which allow rules are too broad for the mode auto: those that would let any program run, or any agent start, unreviewed.

They do not count in that mode, and count again when it is left (the permission modes of the leading coding agent).
Must not know: modes, calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from greenroom.permissions._rules import Rule

_SHELLS: Final = frozenset(("Bash", "PowerShell"))
_WRAPPERS: Final = ("env", "xargs", "sudo", "doas", "nohup", "nice", "ionice", "setsid", "stdbuf", "timeout")
"""Programs that run another one, behind options of their own."""
_INTERPRETERS: Final = """
python pypy ruby perl php lua node deno bun tsx ts-node npx bunx uvx sh bash dash zsh fish ksh pwsh powershell eval exec source ssh awk
"""
_RUNS_ANYTHING: Final = (*_INTERPRETERS.split(), *_WRAPPERS)
"""Programs that run what they are told, or another program."""
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
"""Options of interpreters that take the next word, and say nothing of what is run; `-m` of Python names it."""
_SCRIPTS: Final = frozenset(
    ("npm run", "yarn run", "pnpm run", "bun run", "npm exec", "yarn dlx", "pnpm dlx", "uv run", "deno run")
)
"""What runs any script of a package."""


def is_broad(rule: Rule) -> bool:
    """Whether an allow rule lets through what nobody can foresee: `Bash`, `Bash(python*)`, `Bash(npm run *)`, `Agent`."""
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
        return True  # `python*` is also `python3 -c ...`, and `pyth*` is no narrower
    return _is_open(words)


def _begins_open(words: list[str]) -> bool:
    """Whether what begins with these words, the last of which may be half of one, can be what runs anything."""
    path, program = words[0].rpartition("/")[::2]
    if _begins_one(" ".join((program, *words[1:])), path):
        return True
    return program in _WRAPPERS and any(rest and _begins_open(rest) for rest in _wrapped(words))


def _is_open(words: list[str]) -> bool:
    """Whether the beginning of a command leaves open what is run."""
    words = [words[0].rpartition("/")[2], *words[1:]]
    if words[0] in _WRAPPERS:
        return any(not rest or _is_open(rest) for rest in _wrapped(words))
    while len(words) > 1 and _is_option(words):  # `python -c *` is no narrower than `python *`
        words.pop()
    if " ".join(words) in _SCRIPTS:
        return True
    return len(words) == 1 and (
        _interpreter(words[0]) is not None or any(one.startswith(f"{words[0]} ") for one in _SCRIPTS)
    )


def _wrapped(words: list[str]) -> Iterator[list[str]]:
    """Return what a wrapper may run: what stands behind it, and behind each of its options and what may be a value of one."""
    for at, word in enumerate(words[1:], 1):
        yield words[at:]
        if not (word.startswith("-") or "=" in word or word[0].isdigit() or words[at - 1].startswith("-")):
            return
    yield []


def _is_option(words: list[str]) -> bool:
    """Whether the last of these words only says how what follows is run."""
    if words[-1].startswith("-"):
        return True
    return len(words) > 2 and words[-2] in _VALUED.get(_interpreter(words[0]) or "", ())


def _begins_one(command: str, path: str) -> bool:
    if not command:
        return path.startswith("/") or not path  # any program of the machine; `./scripts/*` are the project's
    return any(one.startswith(command) for one in (*_RUNS_ANYTHING, *_SCRIPTS))


def _interpreter(program: str) -> str | None:
    """Return the interpreter that a program is, whichever version of it; None for another one."""
    return next(
        (one for one in _INTERPRETERS.split() if program.startswith(one) and _VERSION.fullmatch(program, len(one))),
        None,
    )
