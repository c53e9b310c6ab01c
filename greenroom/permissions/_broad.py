"""Which allow rules are too broad for the mode auto: those that would let any program run, or any agent start, unreviewed.

They do not count in that mode, and count again when it is left (the permission modes of the leading coding agent).
Must not know: modes, calls.
"""

from __future__ import annotations

import re
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
_FLAG: Final = re.compile(r"--?[A-Za-z-]+")
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
    path, program = words[0].rpartition("/")[::2]
    words[0] = program
    if "*" in fixed and not beginning[-1].isspace() and _begins_one(" ".join(words), path):
        return True  # `python*` is also `python3 -c ...`, and `pyth*` is no narrower
    while len(words) > 1 and _is_option(words):  # `python -c *` is no narrower than `python *`
        words.pop()
    if " ".join(words) in _SCRIPTS:
        return True
    return len(words) == 1 and (_runs_anything(program) or any(one.startswith(f"{program} ") for one in _SCRIPTS))


def _is_option(words: list[str]) -> bool:
    """Whether the last of these words only says how what follows is run."""
    if _FLAG.fullmatch(words[-1]):
        return True
    is_value = bool(_FLAG.fullmatch(words[-2])) or "=" in words[-1] or words[-1][0].isdigit()
    return words[0] in _WRAPPERS and is_value


def _begins_one(command: str, path: str) -> bool:
    if not command:
        return path.startswith("/") or not path  # any program of the machine; `./scripts/*` are the project's
    return any(one.startswith(command) for one in (*_RUNS_ANYTHING, *_SCRIPTS))


def _runs_anything(program: str) -> bool:
    return any(program.startswith(one) and _VERSION.fullmatch(program, len(one)) for one in _RUNS_ANYTHING)
