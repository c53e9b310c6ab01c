"""Commands of git that only read, with the options under which that is certain.

Source: the manual pages of git 2.39 to 2.47. What is left out on purpose: options that write (`--output`), that run a program
(`--ext-diff`, `--textconv`, `-O` of `git grep`, `%G` of `--format` and `--show-signature`, which run gpg), that read files
outside of the repository (`--contents`, `--no-index`, `-S` and `--ignore-revs-file` of `git blame`, `-F`, `-X`, `-O` orders),
and options of git itself in front of the command (`-c`, `-C`, `--git-dir`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from greenroom.permissions._options import Operands, Spec, names, read_spec

_DIFF: Final = (
    "-abcDEFgimprRstuwWz -# -B? -C? -G: -l: -M? -S: -U: -X? --patch --no-patch --patch-with-stat --patch-with-raw --stat=? "
    "--numstat --shortstat --dirstat=? --cumulative --summary --name-only --name-status --check --color=? --no-color "
    "--color-words=? --word-diff=? --word-diff-regex= --color-moved=? --no-color-moved --color-moved-ws= --no-renames "
    "--rename-empty --no-rename-empty --find-renames=? --find-copies=? --find-copies-harder --break-rewrites=? "
    "--irreversible-delete --diff-filter= --pickaxe-all --pickaxe-regex --relative=? --no-relative --text "
    "--ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines "
    "--ignore-matching-lines= --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv "
    "--ignore-submodules=? --submodule=? --src-prefix= --dst-prefix= --no-prefix --default-prefix --line-prefix= --unified= "
    "--minimal --patience --histogram --diff-algorithm= --anchored= --raw --full-index --binary --abbrev=? --no-abbrev "
    "--compact-summary --cached --staged --merge-base --ita-invisible-in-index --ita-visible-in-index --indent-heuristic "
    "--no-indent-heuristic --ws-error-highlight= --cc --combined-all-paths --diff-merges= --no-diff-merges --remerge-diff "
    "--base --ours --theirs"
)
_LOG: Final = (
    _DIFF + " -n: -L: -i -q --oneline --graph --all --branches=? --tags=? --remotes=? --glob= --exclude= --decorate=? "
    "--no-decorate --decorate-refs= --decorate-refs-exclude= --clear-decorations --since= --after= --until= --before= "
    "--author= --committer= --grep= --grep-reflog= --invert-grep --all-match --max-count= --skip= --merges --no-merges "
    "--min-parents= --max-parents= --no-min-parents --no-max-parents --first-parent --reverse --date= --format= --pretty=? "
    "--abbrev-commit --no-abbrev-commit --follow --full-history --topo-order --date-order --author-date-order "
    "--simplify-by-decoration --simplify-merges --left-right --cherry --cherry-pick --cherry-mark --left-only --right-only "
    "--not --walk-reflogs --notes=? --no-notes --no-walk=? --boundary --ancestry-path --dense --sparse --show-pulls --source "
    "--mailmap --no-mailmap --use-mailmap --log-size --encoding= --expand-tabs=? --no-expand-tabs --extended-regexp "
    "--basic-regexp --fixed-strings --perl-regexp --regexp-ignore-case --relative-date --parents --children --count "
    "--timestamp --reflog --root --no-commit-id --objects --header --full-diff --always"
)
_REFS: Final = (
    "--sort= --format= --points-at= --merged=? --no-merged=? --contains=? --no-contains=? --ignore-case --column=? --no-column "
    "--color=? --no-color --abbrev=? --no-abbrev"
)

_TABLE: Final[tuple[tuple[str, Operands, str], ...]] = (
    ("log show whatchanged diff diff-tree diff-index diff-files rev-list reflog", "paths", _LOG),
    (
        "status",
        "paths",
        (
            "-bsvz -u? --short --branch --porcelain=? --long --verbose --untracked-files=? --ignored=? --ignore-submodules=? "
            "--column=? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames=? --show-stash"
        ),
    ),
    (
        "blame annotate",
        "paths",
        (
            "-bcefklnpstw -L: -C? -M? --root --show-stats --porcelain --line-porcelain --incremental --show-name --show-number "
            "--show-email --date= --abbrev=? --color-lines --color-by-age --ignore-rev= --since= --first-parent --minimal"
        ),
    ),
    (
        "rev-parse",
        "paths",
        (
            "-q --show-toplevel --abbrev-ref=? --short=? --verify --quiet --git-dir --git-common-dir --is-inside-work-tree "
            "--is-inside-git-dir --is-bare-repository --is-shallow-repository --show-prefix --show-cdup --symbolic "
            "--symbolic-full-name --branches=? --tags=? --remotes=? --all --absolute-git-dir --show-superproject-working-tree "
            "--show-object-format=? --local-env-vars --revs-only --no-revs --flags --no-flags"
        ),
    ),
    (
        "ls-files",
        "paths",
        (
            "-cdfikmostuvz -x: --cached --deleted --others --ignored --stage --unmerged --killed --modified --directory "
            "--no-empty-directory --eol --exclude= --exclude-standard --error-unmatch --full-name --abbrev=? --deduplicate "
            "--recurse-submodules --format="
        ),
    ),
    (
        "ls-tree",
        "paths",
        "-drtlz --name-only --name-status --object-only --full-name --full-tree --abbrev=? --long --format=",
    ),
    (
        "describe",
        "paths",
        (
            "--tags --all --always --abbrev= --long --dirty=? --broken=? --match= --exclude= --exact-match --first-parent --contains "
            "--candidates= --debug"
        ),
    ),
    ("shortlog", "paths", _LOG + " -ensc -w? --summary --numbered --email --committer --group="),
    (
        "grep",
        "pattern",
        (
            "-acEFGhHiIlLnopPqrvwWz -# -A: -B: -C: -e: -m: --count --cached --untracked --no-exclude-standard --exclude-standard "
            "--recurse-submodules --invert-match --ignore-case --word-regexp --text --max-depth= --recursive --no-recursive "
            "--extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --full-name "
            "--files-with-matches --name-only --files-without-match --null --only-matching --color=? --no-color --break "
            "--heading --show-function --context= --after-context= --before-context= --function-context --threads= --and --or "
            "--not --all-match --quiet --max-count= --no-textconv"
        ),
    ),
    ("cat-file", "paths", "-pste --allow-unknown-type"),
    ("branch", "paths", "-ailrv --all --remotes --list --show-current --verbose " + _REFS),
    ("tag", "paths", "-il -n? --list " + _REFS),
    ("remote", "paths", "-v --verbose --push --all"),
    ("stash", "paths", _LOG + " --include-untracked --only-untracked"),
    (
        "config",
        "paths",
        (
            "-lz --get --get-all --get-regexp --list --name-only --show-origin --show-scope --global --local --system --worktree "
            "--type= --bool --int --bool-or-int --path --null --default= --includes --no-includes"
        ),
    ),
    ("worktree", "paths", "-vz --verbose --porcelain"),
    ("merge-base", "paths", "-a --all --octopus --independent --is-ancestor --fork-point"),
    ("name-rev", "paths", "--tags --name-only --refs= --exclude= --all --always --no-undefined"),
    ("for-each-ref", "paths", "--count= --include-root-refs " + _REFS),
    ("show-ref", "paths", "-dqs? --heads --branches --tags --head --hash=? --dereference --verify --quiet --abbrev=?"),
    (
        "show-branch",
        "paths",
        "-ar --all --remotes --current --topo-order --date-order --sparse --list --no-name --sha1-name",
    ),
    ("count-objects", "none", "-vH --verbose --human-readable"),
    ("check-ignore", "paths", "-qvn --quiet --verbose --non-matching --no-index"),
    ("symbolic-ref", "path", "-q --quiet --short"),
    ("cherry", "paths", "-v --abbrev=?"),
    ("version", "none", ""),
)

GIT_READS: Final[Mapping[str, Spec]] = {
    name: read_spec(operands, options) for names, operands, options in _TABLE for name in names.split()
}
"""By command of git. Some only read with certain words: see GIT_FORMS."""

GIT_FORMS: Final[Mapping[str, frozenset[str]]] = {
    "reflog": frozenset(("", "show", "exists")),
    "remote": frozenset(("", "get-url")),
    "stash": frozenset(("list", "show")),
    "worktree": frozenset(("list",)),
}
"""The first operands with which these commands only read; "" for none."""

GIT_LISTS: Final = frozenset(("branch", "tag"))
"""Commands that make what they name, unless one of LISTING asks for a list."""
LISTING: Final = (
    "-l",
    "--list",
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
)
GIT_GLOBAL: Final = frozenset(
    ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects")
)
"""Options in front of the command that change nothing but how it shows what it reads."""

GIT_SHOWS: Final = names(
    "annotate archive blame cat-file checkout-index diff diff-files diff-index diff-tree difftool fast-export format-patch grep "
    "log merge-file range-diff reflog rev-list send-email show stash whatchanged"
)
"""Commands that print what files hold, or held."""
GIT_SHOWS_IF: Final[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
    ("log", "reflog", "rev-list"),
    (
        *("-p", "-u", "-L", "-U", "-c", "-m", "-W", "-X"),
        *("--patch", "--unified", "--cc", "--binary", "--word-diff", "--color-words", "--function-context"),
        *("--patch-with-stat", "--patch-with-raw", "--remerge-diff", "--diff-merges"),
    ),
) | {"stash": ("-p", "-u", "--patch")}
"""Those among them that do so only with one of these options."""

GIT_RUNS: Final[Mapping[str, str]] = {
    "": "-c --config-env --exec-path= --upload-pack --receive-pack --exec -p --paginate",
    "*": "--output --ext-diff --textconv --upload-pack --receive-pack --exec --no-index --contents --filters --extcmd "
    "--open-files-in-pager --template --edit-description --separate-git-dir",
    "grep": "-O --open-files-in-pager",
    "difftool": "-x --extcmd --tool -t",
    "mergetool": "--tool -t",
    "rebase": "-x --exec",
    "clone": "-u --upload-pack -c --config --template",
    "fetch": "--upload-pack",
    "pull": "--upload-pack",
    "push": "--receive-pack --exec",
    "ls-remote": "--upload-pack --exec",
    "archive": "-o --output --exec --remote",
    "format-patch": "-o --output-directory --output",
    "bisect": "run",
    "submodule": "foreach",
    "filter-branch": "--env-filter --tree-filter --index-filter --msg-filter --commit-filter --parent-filter "
    "--tag-name-filter --setup",
    "send-email": "--smtp-server --sendmail-cmd --to-cmd --cc-cmd --header-cmd",
    "config": "--edit -e",
}
"""Options that write elsewhere, or run a program: before the command (""), of every command (`*`), and of single ones.
"""
