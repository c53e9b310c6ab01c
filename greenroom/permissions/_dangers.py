"""Options that write files or run programs: a rule for the beginning of a command covers them only if it names them.

Sources: the manual pages of the programs. Formatters and linters that change files of the project (`--fix`) are not
listed: they are allowed for that purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from greenroom.permissions._git_table import GIT_RUNS
from greenroom.permissions._options import is_option, names
from greenroom.permissions._shell_words import Word, git_command, program

_ANY: Final = (
    "--output --output-file --outfile --out-file --pager --to-command --use-compress-program --compress-program --rsh "
    "--checkpoint-action --upload-pack --receive-pack --ext-diff --extcmd --open-files-in-pager --exec --exec-batch "
    "--script-shell --config-env --exec-path --hostname-bin --unzip-command --rsh-command --rmt-command --files0-from"
)
_OF: Final[Mapping[str, str]] = {
    "sort": "-o -T --temporary-directory",
    "sed gsed": "-i --in-place",
    "awk gawk mawk nawk": "-i -l -o -p -d --include --load --pretty-print --profile --dump-variables",
    "find": "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from",
    "fd fdfind": "-x -X",
    "rg": "--pre -z --search-zip",
    "tree": "-o -R",
    "sdiff": "-o",
    "diff": "-l --paginate",
    "less more": "-o -O --log-file --LOG-FILE",
    "man": "-P -H --html -p --preprocessor",
    "curl": "-o -O -D -c -K -J --dump-header --cookie-jar --config --remote-name --remote-name-all --trace --trace-ascii "
    "--stderr --libcurl --etag-save --hsts --alt-svc --output-dir",
    "wget": "-O -o -a -P -e --output-document --append-output --directory-prefix --execute --use-askpass",
    "tar bsdtar": "-I -F --info-script --new-volume-script --index-file",
    "zip": "-TT",
    "rsync": "-e --rsync-path --log-file --write-batch --only-write-batch --partial-dir --backup-dir --temp-dir -T",
    "ssh scp sftp": "-o -F -S -E -J -D -L -R -w",
    "cargo": "--config",
    "go": "-exec -toolexec -vettool -o",
    "make gmake": "--eval -E",
    "gcc g++ cc c++ clang clang++": "-wrapper -specs -fplugin -B",
    "npm npx pnpm yarn": "--node-options --shell",
    "date": "-s --set",
    "file": "-C --compile",
    "gpg": "-o",
    "openssl": "-out",
    "xxd": "-r",
}
_FORMATS: Final = names("kubectl oc helm aws az gcloud gh docker podman terraform cargo jest vitest jira")
"""Programs whose `--output` names a format."""
_DANGERS: Final[Mapping[str, Mapping[str, None]]] = {
    name: dict.fromkeys(options.split()) for names, options in _OF.items() for name in names.split()
}
_EVERYWHERE: Final = dict.fromkeys(_ANY.split())
_GIT: Final = {command: dict.fromkeys(options.split()) for command, options in GIT_RUNS.items()}
_SECOND_OPERAND: Final = frozenset(("uniq", "xxd"))
"""Programs that write the second file which they are given."""


def unnamed_dangers(words: Sequence[Word], rule: str) -> bool:
    """True if a command has an option that writes or runs something, and the text of a rule does not name it."""
    return any(name not in re.split(r"[\s=*]+", rule) for name in _dangers(words))


def _dangers(words: Sequence[Word]) -> Iterator[str]:
    """Yield the options of a command that write or run something, by their full names."""
    name, values = program(words), [word.value or "" for word in words]
    if name == "git":
        yield from _git_dangers(words, values)
        return
    of_program = _DANGERS.get(name, {})
    operands = 0
    for value in values[1:]:
        if value == "--":
            break
        if not value.startswith("-"):
            operands += 1
            if (name in _SECOND_OPERAND and operands == 2) or value.startswith("SHELL="):
                yield value
            continue
        found = is_option(value, of_program) or is_option(value, _EVERYWHERE)
        if found and not (found == "--output" and name in _FORMATS):
            yield found


def _git_dangers(words: Sequence[Word], values: Sequence[str]) -> Iterator[str]:
    at = git_command(words)
    for value in values[1:at]:
        found = is_option(value, _GIT[""])
        if found:
            yield found
    command = values[at] if at < len(values) else ""
    known = _GIT["*"] | _GIT.get(command, {})
    for value in values[at + 1 :]:
        if value == "--":
            return
        found = value if value in known else is_option(value, known) if value.startswith("-") else ""
        if found:
            yield found
