"""What is found out about a call of a shell: every command in it on its own, and every file that it reads or writes.

Rule 1: a deny or ask rule speaks if any command matches, however it is wrapped; one that could match, depending on what the
shell makes of the text, is a doubt. Rule 2: each command, and each file of a redirection, is a need of its own. Rule 3: what
cannot be read is a doubt.
Must not know: modes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Final, final

import attrs

from greenroom.permissions._file_commands import FileUse, cd_target, file_use
from greenroom.permissions._findings import Findings, Need, parameter_matches, path_need, whole_tool_rule
from greenroom.permissions._guards import critical_removal
from greenroom.permissions._place import Place, files_hidden_from
from greenroom.permissions._request import Request
from greenroom.permissions._rules import Effect, Rule, Scope, is_parameter, names_tool
from greenroom.permissions._shell_words import Redirect, Unparsable, Word
from greenroom.permissions._text_patterns import TextPattern, command_pattern
from greenroom.permissions._unwrap import (
    Part,
    allowed_forms,
    is_safe_assignment,
    parts_of,
    pieces_of,
    plain_texts,
    program,
    raw_text,
)
from greenroom.permissions._updates import Update

MAX_DIRS: Final = 16
MAX_SUGGESTED: Final = 5

_NO_PREFIX: Final = frozenset(("watch", "setsid", "ionice", "flock"))
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
    return [one for one in request.policy.of(effect) if one.content is not None and names_tool(one, request.tool)]


def _look_at_text(script: str, request: Request, found: Findings) -> None:
    """Hold rules against a script that cannot be read, as it stands: what matches so is denied all the same."""
    for effect in (Effect.DENY, Effect.ASK):
        for rule in _scoped(request, effect):
            if command_pattern(rule.content or "").matches(" ".join(script.split())):
                found.note(effect, script, rule)


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
    whole: Rule | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.dirs = [self.request.cwd]
        self.changes_dir = any(
            program(words) in ("cd", "pushd", "popd") for part in self.parts for words in part.reached
        )
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
                elif any(pattern.may_match(one) for one in pieces):
                    does = "denies" if effect is Effect.DENY else "asks about"
                    self.found.doubts.append(f"{raw_text(words)!r} may become what {rule} {does}")

    # --- commands ------------------------------------------------------------------------------------------------

    def _command(self, part: Part, rules: Sequence[tuple[Rule, TextPattern]]) -> None:
        command = part.command
        if not command.words and all(map(is_safe_assignment, command.assignments)):
            return
        forms = allowed_forms(command)
        rule = self.whole or next((rule for rule, pattern in rules if _covers(pattern, forms)), None)
        use = file_use(forms[-1])
        is_home, blocked = self._paths(use) if use is not None else (False, None)
        self.found.needs.append(
            Need(
                text=command.raw,
                is_read=is_home and use is not None and not use.is_edit,
                is_edit=is_home and use is not None and use.is_edit,
                rule=rule,
                blocked_path=blocked,
                updates=_suggest(forms[-1]),
            )
        )

    def _paths(self, use: FileUse) -> tuple[bool, str | None]:
        """Return whether all paths of a known command lie where that is free, and one that does not."""
        is_free = not (use.is_git and self.changes_dir)
        if use.searches and files_hidden_from("Read", self.place.policy, self.place.request.cwd) is not None:
            is_free = False  # it may show a file that a rule keeps from being read
        blocked: str | None = None
        for word in use.paths:
            value = word.value
            places = self._places(value)
            if value is None or places is None:
                is_free = False
                continue
            if word.has_gap and (self.place.has_path_rules() or (use.is_edit and _may_be_hidden(value))):
                is_free = False
            for path in places:
                need = self._file(value, path, is_edit=use.is_edit)
                if not (need.is_read or need.is_edit or (need.rule is not None and not use.is_edit)):
                    is_free, blocked = False, blocked or need.blocked_path
        return is_free, blocked

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
            (one for one in self.place.policy.of(Effect.ALLOW) if one.content is None and one.tool == tool), None
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
                rules = (one for one in self.place.policy.of(effect) if one.content is None)
                self.found.note(effect, text, next((one for one in rules if one.tool in ("Edit", "Write")), None))
        for path in places:
            need = self._file(target.value or "", path, is_edit=redirect.is_write)
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


def _may_be_hidden(path: str) -> bool:
    return any(part.startswith((".", "[")) and set(part) & set("*?[") for part in path.split("/"))


def _covers(pattern: TextPattern, forms: Sequence[Sequence[Word]]) -> bool:
    """Whether an allow rule covers one of the forms of a command."""
    for words in forms:
        if not pattern.matches(raw_text(words)):
            continue
        name = program(words)
        runs_others = name in _NO_PREFIX or (name == "find" and file_use(words) is None)
        if pattern.is_exact or not runs_others:
            return True
    return False


def _suggest(words: Sequence[Word]) -> tuple[Update, ...]:
    """Return the rule that would allow a command for good: a prefix where programs have subcommands, else the very text."""
    text = raw_text(words)
    if len(words) > 1 and words[0].raw in _HAVE_SUBCOMMANDS and _SUBCOMMAND.fullmatch(words[1].raw):
        text = f"{words[0].raw} {words[1].raw} *"
    elif not text or "*" in text or "\n" in text or text.endswith((":", " ")) or is_parameter("Bash", text):
        return ()
    return (Update(kind="addRules", destination=Scope.LOCAL, rules=(f"Bash({text})",)),)
