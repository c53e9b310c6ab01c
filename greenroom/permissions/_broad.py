"""Which allow rules are too broad for the mode auto: those that would let any program run, or any agent start, unreviewed.

They do not count in that mode, and count again when it is left (the permission modes of the leading coding agent).
Must not know: modes, calls.
"""

from __future__ import annotations

import re
from typing import Final

from greenroom.permissions._rules import Rule

_SHELLS: Final = frozenset(("Bash", "PowerShell"))
_RUNS_ANYTHING: Final = re.compile(
    r"(?:python|pypy|ruby|perl|php|lua|node|deno|bun|tsx|ts-node|npx|bunx|uvx|sh|bash|dash|zsh|fish|ksh|pwsh|powershell|eval"
    r"|exec|source|env|xargs|sudo|doas|ssh|awk)[\d.]*(?:\.exe)?"
)
"""Programs that run what they are told, or another program."""
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
    words = fixed.partition("*")[0].split()
    while len(words) > 1 and _FLAG.fullmatch(words[-1]):  # `python -c *` is no narrower than `python *`
        words.pop()
    if not words:
        return True
    program = words[0].rpartition("/")[2]
    if " ".join((program, *words[1:])) in _SCRIPTS:
        return True
    return len(words) == 1 and _RUNS_ANYTHING.fullmatch(program) is not None
