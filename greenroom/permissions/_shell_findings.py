"""Findings about a call of a shell: every command in it on its own, and every file that it reads or writes.

Rule 1: a deny or ask rule applies if any command matches, however it is wrapped; a possible match that depends on
expansions is a doubt. Rule 2: each command, and each file of a redirection, is a need of its own. Rule 3: an unparsable
script is a doubt.

Must not know: modes.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from greenroom.permissions._dangers import unnamed_dangers
from greenroom.permissions._expansions import is_harmless
from greenroom.permissions._file_commands import FileUse, cd_target, file_use
from greenroom.permissions._findings import Findings, Need, parameter_matches, path_need, whole_tool_rule
from greenroom.permissions._git_commands import shown_paths
from greenroom.permissions._guards import critical_removal
from greenroom.permissions._options import is_option, names
from greenroom.permissions._place import Place, files_hidden_from
from greenroom.permissions._reader_table import READERS, VERSIONS
from greenroom.permissions._request import Request
from greenroom.permissions._rules import Effect, Rule, Scope, is_parameter, names_tool
from greenroom.permissions._shell import HIDDEN
from greenroom.permissions._shell_words import Command, Redirect, Unparsable, Word, git_command, program
from greenroom.permissions._text_patterns import TextPattern, command_pattern
from greenroom.permissions._unwrap import (
    Part,
    allowed_forms,
    is_safe_assignment,
    parts_of,
    pieces_of,
    plain_texts,
    raw_text,
)
from greenroom.permissions._updates import Update

MAX_DIRS: Final = 16
MAX_SUGGESTED: Final = 5
MAX_PIECES: Final = 100
"""Maximum number of pieces of an unparsable script that are treated as commands."""

_MONITOR: Final = "Monitor"
_SEPARATORS: Final = re.compile(r"[;&|\n\r(){}`]+|\$\(")
_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""Sequences that a terminal obeys."""
_GRAMMAR: Final = names("if then elif else while until do time ! { -p --")
_NO_PREFIX: Final = frozenset(("watch", "setsid", "ionice", "flock"))
_PRINTERS: Final = (
    frozenset(READERS)
    | names(
        "sed gsed awk gawk mawk nawk jq less more most bat batcat base64 base32 zcat bzcat xzcat zless zgrep pr split dd ln install "
        "rsync scp tar zip curl"
    )
) - names("basename dirname type which tr date id groups seq")
"""Programs that print, copy or send what the files hold which they are given."""
_MAKES_LINKS: Final = names("ln mv tar bsdtar unzip rsync cpio 7z patch")
_GIT_MAKES_LINKS: Final = names(
    "checkout switch pull clone stash merge reset apply am rebase worktree cherry-pick restore submodule revert"
)
_BUILTINS: Final = names(
    "echo true false : for case (( exit return break continue cd pwd printf test [ [[ type command builtin set unset export time"
)
"""Commands that the shell runs itself, without a search of PATH."""
_LOCAL: Final = re.compile(r"([a-z_][a-z0-9_]*)=")
_FREE_TARGETS: Final = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"))
_SUBCOMMAND: Final = re.compile(r"[a-z][a-z0-9-]*")
_HAVE_SUBCOMMANDS: Final = frozenset(
    (
        "git",
        "npm",
        "pnpm",
        "yarn",
        "cargo",
        "go",
        "make",
        "pip",
        "uv",
        "docker",
        "kubectl",
        "gh",
        "brew",
        "apt",
        "systemctl",
    )
)


def shell_findings(request: Request, place: Place) -> Findings:
    """Find out about a call of a shell."""
    found = Findings()
    if request.tool == _MONITOR:  # it always runs in the background, which rules may speak about
        request = attrs.evolve(request, input={**request.input, "run_in_background": True})
    for effect in (Effect.DENY, Effect.ASK):
        found.note(effect, request.tool, whole_tool_rule(request, effect))
    script = request.input.get(request.traits.subject)
    if not isinstance(script, str):
        found.doubts.append(f"{request.traits.subject!r} is missing or no text")
        return found
    for effect in (Effect.DENY, Effect.ASK):
        for rule in _scoped(request, effect):
            if parameter_matches(rule.content or "", request):
                found.note(effect, request.tool, rule)
    try:
        parts = parts_of(script)
    except Unparsable as error:
        found.doubts.append(f"the command cannot be read with certainty: {error}")
        _look_at_text(script, request, found)
        return found
    _Finder(request, place, found, parts).find()
    return found


def _scoped(request: Request, effect: Effect) -> list[Rule]:
    return [rule for rule in request.policy.of(effect) if rule.content is not None and names_tool(rule, request.tool)]


def _look_at_text(script: str, request: Request, found: Findings) -> None:
    """Match rules against an unparsable script: plainly visible commands are denied all the same."""
    rules = {effect: _scoped(request, effect) for effect in (Effect.DENY, Effect.ASK)}
    if not any(rules.values()):
        return
    texts = dict.fromkeys((" ".join(script.split()), *_plain_commands(script)))
    for effect, listed in rules.items():
        for rule in listed:
            pattern = command_pattern(rule.content or "")
            if any(pattern.matches(text) for text in texts):
                found.note(effect, script, rule)


def _plain_commands(script: str) -> Iterator[str]:
    """Yield what may be commands of a script that no shell would read so: between what separates commands, without disguise."""
    pieces: dict[str, None] = {}
    for filler in ("", " ", "\n"):
        plain = re.sub(r"[^\S \t\n]", " ", HIDDEN.sub(filler, _TERMINAL.sub(filler, script)))
        pieces |= dict.fromkeys(_SEPARATORS.split(plain))
    for piece in itertools.islice(pieces, MAX_PIECES):
        words = piece.split()
        while words and words[0] in _GRAMMAR:
            del words[0]
        if not words:
            continue
        text = " ".join(words)
        yield text
        try:
            parts = parts_of(text)
        except Unparsable:
            continue
        for part in parts:
            for reached in part.reached:
                yield from plain_texts(reached)


@final
@attrs.define
class _Finder:
    request: Request
    place: Place
    found: Findings
    parts: Sequence[Part]
    dirs: list[str] | None = attrs.field(init=False)
    """The folders that the next command may run in; None once that cannot be told."""
    changes_dir: bool = attrs.field(init=False)
    changes_shell: bool = attrs.field(init=False)
    """True if an option of the shell may have changed when a pattern is resolved."""
    makes_links: bool = attrs.field(init=False)
    """True if paths may lead elsewhere while the script runs than they do now."""
    whole: Rule | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.dirs = [self.request.cwd]
        names = {program(words) for part in self.parts for words in part.reached}
        self.changes_dir = bool(names & {"cd", "pushd", "popd"})
        self.changes_shell = bool(names & {"shopt", "set", "enable"})
        self.makes_links = any(_makes_links(words) for part in self.parts for words in part.reached)
        self.whole = whole_tool_rule(self.request, Effect.ALLOW)

    def find(self) -> None:
        patterns = {
            effect: [(rule, command_pattern(rule.content or "")) for rule in _scoped(self.request, effect)]
            for effect in Effect
        }
        for part in self.parts:
            for effect in (Effect.DENY, Effect.ASK):
                self._speak(part, effect, patterns[effect])
            removed = critical_removal(part.reached, dirs=self.dirs or (self.request.cwd,), home=self.place.policy.home)
            if removed is not None:
                self.found.doubts.append(f"it may delete a critical folder: {removed}")
            self._hidden(part)
            self._shown(part)
            self._command(part, patterns[Effect.ALLOW])
            for redirect in part.command.redirects:
                self._redirect(redirect)
            self._follow(part)

    def _speak(self, part: Part, effect: Effect, rules: Sequence[tuple[Rule, TextPattern]]) -> None:
        for words in part.reached if rules else ():
            texts, pieces = plain_texts(words), pieces_of(words)
            for rule, pattern in rules:
                if any(pattern.matches(text) for text in texts):
                    self.found.note(effect, raw_text(words), rule)
                elif any(pattern.may_match(piece) for piece in pieces):
                    does = "denies" if effect is Effect.DENY else "asks about"
                    self.found.doubts.append(f"{raw_text(words)!r} may become what {rule} {does}")

    def _hidden(self, part: Part) -> None:
        """Record a doubt about a text that no rule can read, if any rule denies something."""
        if part.is_hidden and not self.found.doubts:
            rule = next(iter(self.place.policy.of(Effect.DENY)), None)
            if rule is not None:
                text = part.command.raw or "a text"
                self.found.doubts.append(f"{text!r} runs a text that no rule reads, and {rule} denies something")

    def _shown(self, part: Part) -> None:
        """Record the rules that match files which a command prints, whatever its wrappers and options."""
        if not self.place.has_path_rules():
            return
        for words in part.reached:
            name, is_open = program(words), False
            texts: list[str] = []
            if name == "git":
                texts, is_open = shown_paths(words)
                dirs = [folder for at in self.dirs or (self.request.cwd,) for folder in (at, *_parents(at))]
            elif name in _PRINTERS:
                use = file_use(words)
                listed = use.paths if use is not None else words[1:]
                texts = [text for word in listed for text in _paths_in(word.value or "", is_known=use is not None)]
                is_open = any(word.value is None and not word.is_process for word in listed)
                dirs = self.dirs or [self.request.cwd]
            else:
                continue
            for text in texts:
                for path in self.place.absolute(text, dirs) or ():
                    for effect in (Effect.DENY, Effect.ASK):
                        self.found.note(effect, text, self.place.speaks(effect, path, {"Read"}))
            if is_open and self.place.has_path_rules(Effect.DENY):
                self.found.doubts.append(f"{raw_text(words)!r} may show a file that a rule keeps from being read")

    # --- commands ------------------------------------------------------------------------------------------------

    def _command(self, part: Part, rules: Sequence[tuple[Rule, TextPattern]]) -> None:
        command = part.command
        if not command.words and all(map(_is_plain_assignment, command.assignments)) and _all_harmless(command):
            return
        forms = allowed_forms(command)
        rule = self.whole or next((rule for rule, pattern in rules if _covers(pattern, forms)), None)
        is_fed = any(program(words) == "xargs" for words in forms)  # it reads the names of files that it does not name
        use = file_use(forms[-1]) if not is_fed and _all_harmless(command) else None
        is_home, blocked = self._paths(use) if use is not None else (False, None)
        programs = self.place.programs_of(self.request.cwd) if is_home and use is not None and use.is_git else ()
        own = self._own_program(forms) if is_home else ""
        is_home = is_home and not programs and not own
        self.found.needs.append(
            Need(
                text=command.raw,
                is_read=is_home and use is not None and not use.is_edit,
                is_edit=is_home and use is not None and use.is_edit,
                rule=rule,
                blocked_path=blocked,
                updates=_suggest(forms[-1], self.request.tool),
                why=_untrusted(programs) or (f"it would run {own}, which lies in a working directory" if own else ""),
            )
        )

    def _own_program(self, forms: Sequence[Sequence[Word]]) -> str:
        """Return the first program of a known command that is not the one whose effects are known."""
        for words in forms:
            name = words[0].value or "" if words else ""
            if "/" in name or name in _BUILTINS or (name in VERSIONS and self.place.policy.is_trusted):
                continue
            own = self.place.own_program(name, changes_dir=self.changes_dir)
            if own:
                return own
        return ""

    def _paths(self, use: FileUse) -> tuple[bool, str | None]:
        """Return whether all paths of a known command are free to access, and one that is not."""
        is_free = not (use.is_git and self.changes_dir) and (
            use.is_git or use.is_edit or not self.makes_links or not use.paths
        )
        if use.searches and files_hidden_from("Read", self.place.policy, self.place.request.cwd) is not None:
            is_free = False  # it may show a file that a rule keeps from being read
        blocked: str | None = None
        for word in use.paths:
            if word.is_process:
                continue
            value = word.value
            places = self._places(value)
            if value is None or places is None:
                is_free = False
                continue
            for path in places:
                if word.has_pattern and not self._pattern(value, path, use):
                    is_free = False
                matches = self.place.matches_of(path) if word.has_pattern else ()
                inside = self.place.matches_of(f"{path}/*") if use.opens else ()
                is_free = is_free and inside is not None
                for name in (path, *(matches or ()), *(inside or ())):
                    need = self._file(value, name, is_edit=use.is_edit)
                    if not (need.is_read or need.is_edit or (need.rule is not None and not use.is_edit)):
                        is_free, blocked = False, blocked or need.blocked_path
        return is_free, blocked

    def _pattern(self, value: str, path: str, use: FileUse) -> bool:
        """Return whether it is known for certain which files a pattern stands for, and that none is taken for an option."""
        if self.changes_shell or (use.is_edit and _may_be_hidden(value)):
            return False
        matches = self.place.matches_of(path)
        if matches is None or (path not in self.request.matches and self.place.has_path_rules()):
            return False
        folder = path[: len(path) - len(value)]
        return not (value[:1] in "*?[" and any(match[len(folder) :].startswith("-") for match in matches))

    def _places(self, value: str | None) -> list[str] | None:
        if value is None or not value:
            return None
        if self.dirs is None and not value.startswith(("/", "~")):
            return None
        return self.place.absolute(value, self.dirs or ())

    def _file(self, text: str, path: str, *, is_edit: bool) -> Need:
        """Note what rules say about one path, and return what it needs."""
        for effect in (Effect.DENY, Effect.ASK):
            names = {"Edit", "Write"} if is_edit else {"Read"}
            names |= {"Read"} if effect is Effect.DENY else set()
            self.found.note(effect, text, self.place.speaks(effect, path, names))
        tool = "Edit" if is_edit else "Read"
        rule = next(
            (rule for rule in self.place.policy.of(Effect.ALLOW) if rule.content is None and rule.tool == tool), None
        ) or self.place.speaks(Effect.ALLOW, path, {tool})
        return path_need(text, path, self.place, is_edit=is_edit, rule=rule, found=self.found)

    def _redirect(self, redirect: Redirect) -> None:
        target = redirect.target
        if target.value in _FREE_TARGETS or target.raw.startswith(("<(", ">(")):
            return
        text = f"{redirect.operator} {target.raw}"
        places = self._places(target.value)
        if places is None or target.has_gap:
            self.found.needs.append(Need(text=text, rule=self.whole))
            return
        if redirect.is_write:
            for effect in (Effect.DENY, Effect.ASK):
                rules = (rule for rule in self.place.policy.of(effect) if rule.content is None)
                self.found.note(effect, text, next((rule for rule in rules if rule.tool in ("Edit", "Write")), None))
        for path in places:
            need = self._file(target.value or "", path, is_edit=redirect.is_write)
            need = attrs.evolve(need, is_read=need.is_read and not self.makes_links)
            self.found.needs.append(attrs.evolve(need, text=text, rule=self.whole or need.rule))

    # --- the current folder --------------------------------------------------------------------------------------

    def _follow(self, part: Part) -> None:
        for words in part.reached:
            name = program(words)
            if name in ("pushd", "popd"):
                self.dirs = None
            elif name == "cd":
                self._change(words[1:])

    def _change(self, words: Sequence[Word]) -> None:
        target = cd_target(words)
        places = self._places(target.value) if target is not None else None
        if places is None:
            self.dirs = None
            return
        for path in places:
            for effect in (Effect.DENY, Effect.ASK):
                self.found.note(effect, f"cd {path}", self.place.speaks(effect, path, {"Cd"}, searches=True))
        if self.dirs is not None:
            # Whether a `cd` takes effect depends on how the script goes, so both folders stay possible.
            self.dirs = list(dict.fromkeys((*self.dirs, *map(posixpath.normpath, places))))
            self.dirs = self.dirs if len(self.dirs) <= MAX_DIRS else None


def _untrusted(programs: Sequence[str]) -> str:
    if not programs:
        return ""
    named = f"{programs[0]} and {len(programs) - 1} more" if len(programs) > 1 else programs[0]
    return f"git may run what this repository names ({named}), and the folder is not trusted (--trust, is_trusted=True)"


def _may_be_hidden(path: str) -> bool:
    return any(part.startswith((".", "[")) and set(part) & set("*?[") for part in path.split("/"))


def _is_plain_assignment(word: Word) -> bool:
    """True if it sets a variable of the script only, or one that does not affect programs."""
    if is_safe_assignment(word):
        return True
    name = _LOCAL.match(word.raw)
    return name is not None and not name[1].endswith("_proxy") and "(" not in word.raw.replace("$(", "")


def _all_harmless(command: Command) -> bool:
    return all(map(is_harmless, (*command.assignments, *command.words, *command.texts)))


def _makes_links(words: Sequence[Word]) -> bool:
    """True if a command may create a link: by moving, copying a folder, unpacking, or checking out."""
    name = program(words)
    if name == "git":
        at = git_command(words)
        return at < len(words) and words[at].value in _GIT_MAKES_LINKS
    recursive = ("-r", "-R", "-a", "-d", "-P", "--recursive", "--archive", "--no-dereference")
    copies = name == "cp" and any(is_option(word.value or "$", dict.fromkeys(recursive)) for word in words[1:])
    return copies or name in _MAKES_LINKS


def _paths_in(text: str, *, is_known: bool) -> Iterator[str]:
    """Yield what may be a path in an argument: all of it, or what stands behind `=` or `@`."""
    if text and not text.startswith("-"):
        yield text
    if not is_known:
        yield from filter(None, (text.partition("=")[2], text.rpartition("@")[2] if "@" in text else ""))


def _parents(folder: str) -> Iterator[str]:
    while folder not in ("/", ""):
        folder = posixpath.dirname(folder)
        yield folder


def _covers(pattern: TextPattern, forms: Sequence[Sequence[Word]]) -> bool:
    """True if an allow rule covers one of the forms of a command."""
    for words in forms:
        if not pattern.matches(raw_text(words)):
            continue
        if pattern.is_exact or not (program(words) in _NO_PREFIX or unnamed_dangers(words, pattern.text)):
            return True
    return False


def _suggest(words: Sequence[Word], tool: str) -> tuple[Update, ...]:
    """Return the rule that would allow a command permanently: a prefix if the program has subcommands, else the exact
    text.
    """
    text = raw_text(words)
    if len(words) > 1 and words[0].raw in _HAVE_SUBCOMMANDS and _SUBCOMMAND.fullmatch(words[1].raw):
        text = f"{words[0].raw} {words[1].raw} *"
    elif not text or "*" in text or "\n" in text or text.endswith((":", " ")) or is_parameter(tool, text):
        return ()
    return (Update(kind="addRules", destination=Scope.LOCAL, rules=(f"{tool}({text})",)),)
