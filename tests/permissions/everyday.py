"""Everyday commands, as public shell histories have them, and how many of them are asked about.

`python -m tests.permissions.everyday` prints the share. The file `everyday.tsv` holds the commands: what was decided
before options were told apart, what is decided now, the command, and the reason where it is asked about only now.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.permissions import Policy
from tests.permissions.policies import bash, policy

FILE: Final = Path(__file__).with_name("everyday.tsv")
RULES: Final = (
    "Bash(npm test *)",
    "Bash(npm run *)",
    "Bash(npx tsc *)",
    "Bash(tsc *)",
    "Bash(make *)",
    "Bash(pytest *)",
    "Bash(python -m pytest *)",
    "Bash(cargo build *)",
    "Bash(cargo test *)",
    "Bash(go build *)",
    "Bash(go test *)",
    "Bash(ruff check *)",
    "Bash(mypy *)",
    "Bash(kubectl get *)",
    "Bash(git add *)",
    "Bash(git commit *)",
    "Bash(git checkout *)",
)
"""Rules of people who build and test with these."""


@final
@attrs.frozen
class Everyday:
    """One command.

    Attributes:
        before: What was decided before options were told apart.
        expected: What is decided.
        command: The command.
        reason: Why it is asked about, where it was not before.
    """

    before: str
    expected: str
    command: str
    reason: str

    def decided(self, held: Policy) -> str:
        return bash(self.command, held).effect.value


def everyday() -> list[Everyday]:
    """Return the commands of the file."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [Everyday(*[*line.split("\t"), ""][:4]) for line in lines]


def main() -> int:
    """Print how many commands are asked about, before and now."""
    held, listed = policy(allow=RULES), everyday()
    decided = [(row, row.decided(held)) for row in listed]
    asked = [row for row, now in decided if now != "allow"]
    anew = [row for row in asked if row.before == "allow"]
    before = sum(row.before != "allow" for row in listed)
    print(f"{len(listed)} commands: {before} were asked about, {len(asked)} are now, {len(anew)} of them anew")
    for row, now in decided:
        if now != row.expected:
            print(f"  {now}, expected {row.expected}: {row.command}")
    for row in anew:
        print(f"  anew: {row.command}  ({row.reason or 'no reason given'})")
    return 1 if any(now != row.expected for row, now in decided) else 0


if __name__ == "__main__":
    sys.exit(main())
