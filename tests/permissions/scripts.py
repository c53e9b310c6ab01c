"""Shell scripts out of a grammar: what people write, what they would never write, and what no shell accepts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

READERS: Final = [
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "find",
    "sort",
    "diff",
    "uniq",
    "cut",
    "tr",
    "rg",
    "tree",
    "du",
    "stat",
    "file",
    "nl",
    "rev",
]
"""Programs that the rules know."""
DENIED: Final = "rm"
WRITERS: Final = (DENIED, "touch", "deploy")
"""Programs that no rule allows."""
NAMES: Final = ["a.py", "src/a.py", "src", "./a.py", "src/../a.py", "."]
OUTSIDE: Final = [
    "link",
    "etc/passwd",
    "../outside/x",
    "../outside",
    "src/up/x",
    "$PWD/../outside/x",
    "etc/../x",
    "/dev/stdin",
    "~/x",
]
PATTERNS: Final = [
    "l*",
    "?ink",
    "[l]ink",
    "*ink",
    "src/u?/*",
    "e*/x",
    "s*/up/x",
    "*/x",
    "*.py",
    "src/*.py",
    "{link,a.py}",
    "{a..c}.py",
    "../o*",
    "@(link)",
    ".*",
    "**/x",
    "-*",
    "odd/*",
]
OPTIONS: Final = [
    "-n",
    "-l",
    "-R",
    "-L",
    "-r",
    "-rL",
    "-o",
    "-f",
    "-e",
    "-i",
    "-1",
    "-5",
    "-c",
    "-v",
    "--",
    "-f=x",
    "--output=out",
    "-oout",
    "--files0-from=a.py",
    "--pre=rm",
    "-d",
    "--color=auto",
    "--follow",
    "--include=*.py",
    "-name",
    "-exec",
    "-delete",
    "-maxdepth",
    "--recursive",
    "--outp=out",
    "-X/x",
    "--no-such",
]
VARIABLES: Final = [
    "$HOME",
    "$SECRET_KEY",
    "${SECRET_KEY}",
    "${SECRET_KEY:0:9}",
    "${X:-$SECRET_KEY}",
    "$f",
    "$x",
    "${x}",
    "$1",
    "$?",
    "$#",
    "$((1+1))",
    "$((SECRET_KEY))",
    "${#x}",
]
WRAPPERS: Final = [
    "time",
    "time --",
    "time -p --",
    "! time --",
    "command",
    "builtin",
    "exec",
    "env",
    "env -i PATH=$PATH",
    "env A=1",
    "env =1",
    "env a-b=1",
    "env -",
    "nice",
    "nice -n 5",
    "nohup",
    "timeout 5",
    "timeout -k 1 5",
    "stdbuf -oL",
    "setsid -w",
    "xargs",
    "xargs -n 1",
    "A=1",
    "LANG=C",
    "linux64",
    "setarch x86_64",
    "choom -n 0 --",
    "setpriv --nnp",
    "ionice -c 3",
    "bash -c",
    "eval",
    "! ",
    "2>/dev/null",
    "</dev/null",
    "env -S",
]
LATER: Final = (
    "shopt -s expand_aliases\nalias q='rm x'\nq",
    "mapfile -C 'rm' -c 1 <<< x",
    "compgen -C 'rm x'",
    "compgen -W '$(rm x)'",
    "hash -p $BIN/rm ls; ls x",
    "hash -p$BIN/rm ls; ls x",
    "x=p; hash -$x $BIN/rm ls; ls x",
    'x=-p$BIN/rm; hash "$x" ls; ls x',
    "x='. -maxdepth 0 -exec rm x'; find $x ';'",
    "x=xec; find . -maxdepth 0 -e$x rm x ';'",
    "PS4='$(rm x)'; set -x; :",
    "printf -v PS4 '%s' '$(rm x)'; set -x; :",
    "read -r PS4 <<< '$(rm x)'; set -x; :",
    "BASH_ENV=<(echo rm x) bash -c :",
    "declare -n r=PS4; r='$(rm x)'; set -x; :",
    "trap 'rm x' EXIT",
    "sed '1e rm x' a.py",
    "sed -n 's/x/rm x/e' a.py",
    "awk 'BEGIN{system(\"rm x\")}'",
    "awk 'BEGIN{print 1 | \"rm x\"}'",
    "find . -maxdepth 1 -exec rm x ';'",
    "echo rm x | bash",
    "bash <<< 'rm x'",
    "source <(echo rm x)",
    ". /dev/stdin <<< 'rm x'",
    "x=rm; $x x",
    'set -- rm x; "$@"',
    "a='x[$(rm x)]'; echo $((a))",
    "a='x[$(rm x)]'; [[ a -eq 1 ]]",
    "test -v 'x[$(rm x)]'",
    "read -r 'x[$(rm x)]' <<< 1",
    'f() { "$@"; }; f rm x',
    "command_not_found_handle() { rm x; }; nothing_of_that_name",
    "enable -n echo; echo x",
    "r${X}m x",
    "$'\\x72m' x",
    "\\r\\m x",
    "{rm,x}",
    "$(echo rm) x",
    "xargs -I{} {} x <<< rm",
    "xargs env <<< 'rm x'",
    "ls() { rm x; }; ls",
    "f\\\nor x in a; d\\\no rm x; done",
    "r\\\nm x",
    "while read -r c; do $c; done <<< 'rm x'",
)
GLYPHS: Final = "&|;<>(){}[]$`'\"\\*?~#!=:-/ \n\taxr01"


class Scripts:
    """Makes scripts; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._depth = 0

    def script(self) -> str:
        """Return one script."""
        self._depth = 0
        text = self._list()
        if self._random.random() < 0.15:
            text = self._damaged(text)
        return text

    def _one(self, *choices: Callable[[], str]) -> str:
        return self._random.choice(choices)()

    def _list(self) -> str:
        parts = [self._pipeline()]
        while self._random.random() < 0.4 and len(parts) < 4:
            parts += [self._random.choice(["; ", " && ", " || ", "\n", " & ", ";", "\n# x\n"]), self._pipeline()]
        return "".join(parts)

    def _pipeline(self) -> str:
        self._depth += 1
        parts = [self._command()]
        while self._random.random() < 0.25 and len(parts) < 3:
            parts.append(self._command())
        self._depth -= 1
        return self._random.choice([" | ", " |& ", "|"]).join(parts)

    def _command(self) -> str:
        chance = self._random.random()
        if chance < 0.06:
            return self._random.choice(LATER)
        if chance < 0.30 and self._depth < 4:
            return self._compound()
        return self._simple()

    def _simple(self) -> str:
        pick = self._random
        words = [self._word() for _ in range(pick.choice([0, 1, 1, 2, 2, 3]))]
        chance = pick.random()
        if chance < 0.55:
            name = pick.choice(READERS)
        elif chance < 0.85:
            name = pick.choice(
                [
                    "echo",
                    "printf %s",
                    "test -f",
                    "pwd",
                    "true",
                    ":",
                    "[ -n x ] ; echo",
                    "cd src; cat",
                    "read -r x; echo",
                ]
            )
        else:
            name = pick.choice(WRITERS)
        text = " ".join([name, *words])
        while pick.random() < 0.15:
            text = self._wrapped(text)
        if pick.random() < 0.2:
            text += pick.choice(
                [" 2>/dev/null", " >/dev/null", " > out", " < link", " < a.py", " 2>&1", " <<< $SECRET_KEY", " >> out"]
            )
        if pick.random() < 0.04:
            text += pick.choice([" <<E\nx $SECRET_KEY\nE", " <<'E'\n$SECRET_KEY\nE", " <<E\n$(rm x)\nE", " <<E"])
        return text

    def _wrapped(self, text: str) -> str:
        wrapper = self._random.choice(WRAPPERS)
        if wrapper in ("bash -c", "eval", "env -S"):
            return f"{wrapper} '{text}'" if "'" not in text else text
        return f"{wrapper} {text}"

    def _word(self) -> str:
        chance = self._random.random()
        pick = self._random.choice
        if chance < 0.30:
            return pick(NAMES)
        if chance < 0.38:
            return pick(OUTSIDE)
        if chance < 0.52:
            return pick(PATTERNS)
        if chance < 0.72:
            return pick(OPTIONS)
        if chance < 0.80:
            return pick(VARIABLES)
        if chance < 0.84:
            return '"' + pick(VARIABLES) + '"'
        if chance < 0.90:
            return pick(["'*'", "'/etc/*'", '"l*"', "l\\*", "$'a'", "c'a't", "'x y'", "x=1", "#x", "~", "--", "''"])
        if self._depth >= 3:
            return "x"
        inner = self._list()
        return pick(["$({})", '"$({})"', "`{}`", "<({})"]).format(inner if "`" not in inner else "true")

    def _compound(self) -> str:
        forms = (
            lambda: f"( {self._list()} )",
            lambda: f"{{ {self._list()}; }}",
            lambda: f"if {self._pipeline()}; then {self._list()}; fi",
            lambda: f"if {self._pipeline()}\nthen {self._list()}\nelse {self._list()}\nfi",
            lambda: f"for f in {self._word()} {self._word()}; do {self._list()}; done",
            lambda: f'for f in {self._word()}; do {self._random.choice(READERS)} "$f"; done',
            lambda: f"for f in *; do echo $f {self._word()}; done",
            lambda: f"while {self._pipeline()}; do {self._list()}; break; done",
            lambda: f"until ! {self._simple()}; do {self._list()}; break; done",
            lambda: f"case {self._word()} in {self._random.choice(['a', '*', 'x|y', '$x'])}) {self._list()};; esac",
            lambda: f"f() {{ {self._list()}; }}; f {self._word()}",
            lambda: f"function g {{ {self._list()}; }}; g",
            lambda: f"[[ {self._word()} {self._random.choice(['==', '!=', '-nt', '=~'])} {self._word()} ]]",
            lambda: f"x={self._word()}; {self._simple()}",
            lambda: f"((i=1+{self._random.choice(['1', 'SECRET_KEY', 'x'])}))",
            lambda: f"for ((i=0;i<1;i++)); do {self._list()}; done",
            lambda: f"time {self._pipeline()}",
            lambda: f"! {self._pipeline()}",
        )
        self._depth += 1
        text = self._one(*forms)
        self._depth -= 1
        return text

    def _damaged(self, text: str) -> str:
        pick = self._random
        for _ in range(pick.choice([1, 1, 2])):
            at = pick.randrange(len(text) + 1)
            how = pick.random()
            if how < 0.4:
                text = text[:at] + text[at + 1 :]
            elif how < 0.8:
                text = text[:at] + pick.choice(GLYPHS) + text[at:]
            else:
                text = text[:at]
        return text
