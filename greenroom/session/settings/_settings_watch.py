"""Settings files that are edited while a session runs: what they say is in force within seconds, without a restart.

Rule 1: an edit that cannot be used changes nothing: what counted before counts, and people are told why, in a line. Rule 2: a file counts
when two looks saw the same of it: its editor may not have finished. Rule 3: what is in force at once is `AT_ONCE`; of the rest people
are told that it counts from the next session on. Rule 4: hooks of `ConfigChange` may refuse an edit; of what a lasting answer
wrote nobody is asked or told: it is in force already.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, final

import trio

from greenroom.agents import AgentState
from greenroom.core import Recorder, SettingsError
from greenroom.core.ports import Ports
from greenroom.core.sources import Diagnostic, stamp_of
from greenroom.permissions import Policy, Scope
from greenroom.session.assembly._session_plan import Plan
from greenroom.session.equipment._composition import Composition
from greenroom.session.equipment._session_hooks import ask_of_change, notice
from greenroom.session.equipment._session_rules import KEPT_IN
from greenroom.session.settings._session_policy import make_policy, rebased
from greenroom.session.settings._session_settings import AT_ONCE, Settings, combined_settings
from greenroom.session.settings._settings_files import (
    SettingsFile,
    SettingSource,
    Stamps,
    read_settings_file,
    settings_files,
    settings_path,
)

LOOK_S: Final = 1.0
"""Seconds between two looks at the files."""
SETTINGS_NOTICE: Final = "settings"
"""The source of the notices that people are given of edits."""
_Places: TypeAlias = dict[Path, tuple[SettingSource, bool]]
"""Files of settings, each with whose it is and whether it is ours."""


# --- pure ---------------------------------------------------------------------------------------------------------------


@final
class Settling:
    """Says which files have changed and are left alone.

    Args:
        known: What counts so far.
    """

    def __init__(self, known: Stamps) -> None:
        self._known = dict(known)
        self._last = dict(known)

    def look(self, stamps: Stamps) -> frozenset[Path]:
        """Take a look at the files; returns those that are not as they were when they counted, and were so at the look before."""
        last, known = self._last, self._known
        settled = frozenset(path for path, one in stamps.items() if one == last.get(path) != known.get(path))
        self._last = dict(stamps)
        self._known.update({path: stamps[path] for path in settled})
        return settled


def changed_keys(before: SettingsFile | None, after: SettingsFile | None) -> frozenset[str]:
    """Return the keys at the top of a file whose values are others now; a file that is not there holds none."""
    old, new = ({} if file is None else file.values for file in (before, after))
    return frozenset(key for key in {*old, *new} if old.get(key) != new.get(key))


# --- the watch ----------------------------------------------------------------------------------------------------------


@final
class SettingsWatch:
    """Looks at the settings files of one session as long as it runs.

    Args:
        plan: What they were when it began.
        composition: The agents that they count for.
        home: The main agent's, whose hooks are asked.
        ports: Disk and threads.
        recorder: Where people are told.
    """

    def __init__(
        self, plan: Plan, composition: Composition, home: AgentState, *, ports: Ports, recorder: Recorder
    ) -> None:
        self._plan = plan
        self._composition = composition
        self._home = home
        self._blocking = ports.blocking
        self._recorder = recorder
        self._settings = plan.settings
        self._places: _Places = {
            path: (source, is_own) for path, source, is_own in settings_files(plan.places, plan.sources)
        }
        """The places of settings files, in order of precedence, with their sources."""

    async def run(self) -> None:
        """Look again and again, until it is cancelled."""
        settling = Settling(self._plan.stamps)
        while True:
            await trio.sleep(LOOK_S)
            self._places, stamps = await self._blocking.run(self._look)
            changed = settling.look(stamps)
            if changed:
                await self._take_in(changed)

    def _look(self) -> tuple[_Places, Stamps]:
        """Return where settings may lie now, and what is there: an administrator may add parts. It looks at the disk."""
        places = self._plan.places
        now = None if places is None else places.with_policies_now()
        files = settings_files(now, self._plan.sources)
        found: _Places = {path: (source, is_own) for path, source, is_own in files}
        found |= {path: about for path, about in self._places.items() if path not in found}
        return found, {path: stamp_of(path) for path in found}

    async def _take_in(self, changed: Collection[Path]) -> None:
        """Apply edits, file by file: an invalid file counts as it did before."""
        written = self._composition.rules.written
        ours = written & {*changed}
        written -= ours
        files = {file.name: file for file in self._settings.files}
        said, read = [], set()
        for path in (place for place in self._places if place in changed):
            try:
                after = await self._blocking.run(self._read, path)
            except SettingsError as error:
                self._refuse(str(error))
                continue
            keys = changed_keys(files.get(str(path)), after)
            if keys and path not in ours and await self._is_refused(path):
                continue
            read.add(path)
            files.pop(str(path), None)
            files.update({} if after is None else {after.name: after})
            said += [(path, keys)] if keys and path not in ours else []
        given = [file for file in files.values() if file.source is None]
        in_order = [files[str(path)] for path in self._places if str(path) in files]
        try:
            self._apply(combined_settings([*given, *in_order], [], is_trusted=self._settings.is_trusted), read)
        except SettingsError as error:  # each can be used, and all of them together cannot
            self._refuse(str(error))
            return
        for path, keys in said:
            self._say(path, keys)

    def _read(self, path: Path) -> SettingsFile | None:
        """Return what a file holds if it can be used.

        Raises:
            SettingsError: It cannot. At the start such a file of others counts for nothing; an edit must not lift what it forbids.
        """
        source, is_own = self._places[path]
        diagnostics: list[Diagnostic] = []
        file = read_settings_file(path, source, is_own=is_own, diagnostics=diagnostics)
        if diagnostics:
            raise SettingsError(str(path), (diagnostics[0].text.partition(";")[0],))
        if file is not None:
            combined_settings([file], [], is_trusted=True)
        return file

    async def _is_refused(self, path: Path) -> bool:
        source = self._places[path][0]
        if source is SettingSource.MANAGED:  # nobody may keep what an administrator wants from counting
            await ask_of_change(self._home, self._recorder, source="policy_settings", path=path)
            return False
        reason = await ask_of_change(self._home, self._recorder, source=f"{source}_settings", path=path)
        if reason:
            self._refuse(f"{path}: a hook refused the edit: {reason}")
        return bool(reason)

    def _apply(self, after: Settings, read: Collection[Path]) -> None:
        """Put settings in force: no checkpoint, so that no call is judged by half of them.

        Args:
            after: What files say now.
            read: Those of them that were read again.
        """
        plan, composition = self._plan, self._composition
        (old, _), (new, problems) = (self._policy_of(settings) for settings in (self._settings, after))
        change = partial(rebased, before=old, after=new, kept_in_files=self._kept_in(read))
        composition.rules.put_in_force(change, after.hooks)
        plan.variables.clear()
        plan.variables.update(after.env)
        known = {str(diagnostic) for diagnostic in self._settings.diagnostics}
        composition.problems += [str(diagnostic) for diagnostic in after.diagnostics if str(diagnostic) not in known]
        composition.problems += [problem for problem in problems if problem not in composition.problems]
        self._settings = after

    def _kept_in(self, read: Collection[Path]) -> frozenset[Scope]:
        """Return whose lasting answers count as their files say: where those count, and have just been read."""
        places, is_trusted = self._plan.places, self._settings.is_trusted
        return frozenset(
            scope
            for scope, source in KEPT_IN.items()
            if places is not None
            and settings_path(places, source) in read
            and (is_trusted or source is SettingSource.USER)
        )

    def _policy_of(self, settings: Settings) -> tuple[Policy, Sequence[str]]:
        plan = self._plan
        return make_policy(settings, tuple(plan.tools.values()), cwd=plan.cwd, home=Path(plan.policy.home), mode=None)

    def _refuse(self, why: str) -> None:
        line = f"{' '.join(why.split())}; the settings before that edit still count"
        self._composition.problems.append(line)
        notice(self._home, self._recorder, SETTINGS_NOTICE, line)

    def _say(self, path: Path, keys: Collection[str]) -> None:
        said = {"in force": sorted(AT_ONCE & {*keys}), "from the next session on": sorted({*keys} - AT_ONCE)}
        parts = [f"{', '.join(some)} {how}" for how, some in said.items() if some]
        notice(self._home, self._recorder, SETTINGS_NOTICE, f"{path} was edited: {'; '.join(parts)}")
