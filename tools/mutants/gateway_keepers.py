"""Mutants of the gateway's keepers: what is put into sessions, their turns, their places, and what an earlier process left."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_KEEPERS: Final = "greenroom.gateway.keepers"
_ACTORS: Final = f"{_KEEPERS}._keeper_actors"
_CHANGES: Final = f"{_KEEPERS}._session_changes"
_CONTEXT: Final = f"{_KEEPERS}._context_files"
_CREDENTIALS: Final = f"{_KEEPERS}._credentials"
_INPUT: Final = f"{_KEEPERS}._input_store"
_KEEPER: Final = f"{_KEEPERS}._keeper"
_LEFT: Final = f"{_KEEPERS}._left_items"
_REPORTER: Final = f"{_KEEPERS}._turn_reporter"
_WAITING: Final = f"{_KEEPERS}._waiting_items"
_CHANGES_TESTS: Final = ("tests/gateway/keepers/test_session_changes.py",)
_HISTORY_TESTS: Final = ("tests/gateway/keepers/test_history.py",)
_KEEPERS_TESTS: Final = ("tests/gateway/keepers/test_keepers.py",)
_OPEN_TESTS: Final = ("tests/gateway/keepers/test_open_sessions.py",)
_PROPERTIES: Final = ("tests/gateway/keepers/test_keeper_properties.py",)
_RECOVERY_TESTS: Final = ("tests/gateway/keepers/test_recovery.py",)
_SETUP_TESTS: Final = ("tests/gateway/keepers/test_agent_setup.py",)

GATEWAY_KEEPERS: Final = (
    Mutant(
        "an input is accepted before it is on record",
        (),
        _INPUT,
        "        await record_input(keeper, item, why)\n    return place.is_new\n",
        "    return place.is_new\n",
        tests=_KEEPERS_TESTS,
    ),
    Mutant(
        "a second input with one id is another one",
        (),
        f"{_KEEPERS}._keepers",
        "        if new.id in keeper.items.handed or new.id in keeper.items.held:\n",
        "        if False:\n",
        tests=_KEEPERS_TESTS,
    ),
    Mutant(
        "an archived session takes messages",
        (),
        f"{_KEEPERS}._keepers",
        '        if keeper.row.state is SessionState.ARCHIVED:\n            raise Conflict(f"session {keeper.name!r} is archived; it',
        '        if False:\n            raise Conflict(f"session {keeper.name!r} is archived; it',
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "a session may have two keepers",
        ("A10-e",),
        _ACTORS,
        "        if keeper.name in self.running or keeper.name in self.broken",
        "        if keeper.name in self.broken",
        tests=_PROPERTIES,
    ),
    Mutant(
        "a keeper that crashes too often is restarted without limit",
        ("A22-c",),
        _ACTORS,
        "        self.broken[keeper.name] = why\n",
        "        self.wake(keeper)\n",
        tests=_PROPERTIES,
    ),
    Mutant(
        "a turn that was cut by a crash is not resumed",
        ("A22-c",),
        _KEEPER,
        "            self.resumes = self.resumes or bool(self.items.taken)\n",
        "",
        tests=_PROPERTIES,
    ),
    Mutant(
        "what a killed keeper has left waits for the next message",
        ("A22-c",),
        _ACTORS,
        "        elif was_killed and self.is_stopping:\n",
        "        elif was_killed:\n",
        tests=_PROPERTIES,
    ),
    Mutant(
        "a cut turn that the next turn has read is resumed",
        (),
        _REPORTER,
        "            self.reads += is_begun or fact.has_read\n",
        "",
        tests=_RECOVERY_TESTS,
    ),
    Mutant(
        "a turn that ended before it read anything ends the one that was cut",
        (),
        f"{_KEEPERS}._turn_fold",
        "            has_read=bool(self._taken or self._asked),\n",
        "            has_read=True,\n",
        tests=_RECOVERY_TESTS,
    ),
    Mutant(
        "a turn that was cut is told to have been stopped",
        (),
        f"{_KEEPERS}._turn_lookup",
        "                over, is_last, is_taken = None if ended.is_cut else ended, True, True\n",
        "                over, is_last, is_taken = ended, True, True\n",
        tests=_RECOVERY_TESTS,
    ),
    Mutant(
        "the session that was used last makes room",
        (),
        _ACTORS,
        "                min(idle, key=lambda each: each.last_s).close()",
        "                max(idle, key=lambda each: each.last_s).close()",
        tests=_OPEN_TESTS,
    ),
    Mutant(
        "any number of sessions may be open",
        (),
        _ACTORS,
        "if keeper in self.open or len(self.open) < self._parts.config().limits.open_sessions:",
        "if keeper is not None:",
        tests=_OPEN_TESTS,
    ),
    Mutant(
        "a keeper is remembered although nothing waits",
        (),
        _ACTORS,
        "        elif keeper.is_empty:\n            self.keepers.pop(keeper.name, None)\n",
        "",
        tests=_OPEN_TESTS,
    ),
    Mutant(
        "a turn that waits for its place is not stopped",
        ("A10-f",),
        f"{_KEEPERS}._turn_requests",
        "        return bool(unread) and await _withdraw(keeper, stop, unread[0])\n",
        "        return bool(unread)\n",
        tests=_KEEPERS_TESTS,
    ),
    Mutant(
        "the place of a turn is kept when it has ended",
        ("A10-e",),
        _KEEPER,
        "            self.claim = None\n            await place.aclose()  # noqa: ASYNC102 - it gives back a place, and waits for nothing\n\n    async def _find_wish",
        "            self.claim = None\n\n    async def _find_wish",
        tests=_PROPERTIES,
    ),
    Mutant(
        "an idle session stays open",
        (),
        _KEEPER,
        "            limit_s = self.parts.config().session.close_after_minutes * 60.0\n",
        "            limit_s = self.parts.config().session.close_after_minutes * 3_600.0\n",
        tests=_KEEPERS_TESTS,
    ),
    Mutant(
        "a stop has nobody's name",
        (),
        _REPORTER,
        "if stop is None else (stop.cause, stop.who)",
        'if stop is None else (stop.cause, "")',
        tests=_KEEPERS_TESTS,
    ),
    Mutant(
        "a turn aside may use tools",
        (),
        _REPORTER,
        "        return self._is_aside\n",
        "        return False\n",
        tests=_KEEPERS_TESTS,
    ),
    Mutant(
        "a turn aside may make any number of requests",
        (),
        _REPORTER,
        "            if not self.aside.is_compaction and fact.number > self.aside.max_requests:\n",
        "            if fact.number > 1_000:\n",
        tests=_KEEPERS_TESTS,
    ),
    Mutant(
        "an end is not reported",
        (),
        _REPORTER,
        "        await self.parts.watcher.turn_ended(end)\n        if end.state is not TaskState",
        "        if end.state is not TaskState",
        tests=_KEEPERS_TESTS,
    ),
    Mutant(
        "inputs of two chats share a turn",
        (),
        _WAITING,
        "            is_held = bool(chats - {chat_of(item.route)})\n",
        "            is_held = False\n",
        tests=("tests/gateway/keepers/test_waiting_items.py",),
    ),
    Mutant(
        "a turn that ended unreported is lost",
        (),
        _LEFT,
        "        if fate.over is not None:\n            await parts.watcher.turn_ended(",
        "        if fate.over is not None:\n            repr(",
        tests=_RECOVERY_TESTS,
    ),
    Mutant(
        "a turn that was cut is read again",
        (),
        _LEFT,
        "            keeper.items.add_cut(item, route)\n",
        "            keeper.items.remove(item)\n",
        tests=_RECOVERY_TESTS,
    ),
    Mutant(
        "what waited for an earlier process is forgotten",
        (),
        _LEFT,
        "        keeper.items.add_handed(waiting_item(item))\n",
        "        waiting_item(item)\n",
        tests=_RECOVERY_TESTS,
    ),
    Mutant(
        "a reset keeps the conversation",
        (),
        _CHANGES,
        "SessionReset(at_s=parts.now(), session=keeper.name, session_id=id_,",
        "SessionReset(at_s=parts.now(), session=keeper.name, session_id=former.session_id,",
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "a session with another model is not opened anew",
        (),
        _CHANGES,
        "    return bool(_OF_OPENING & settings.keys())\n",
        "    return False\n",
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "a setting that nobody knows is taken",
        (),
        _CHANGES,
        '        raise UsageError(f"unknown setting {name!r};',
        '        UsageError(f"unknown setting {name!r};',
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "an archived transcript keeps its name",
        (),
        _CHANGES,
        "            (folder / TRANSCRIPT).rename(folder / name)\n",
        "            (folder / TRANSCRIPT).touch()\n",
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "a sub-agent reads every file of its workspace",
        ("A9-a",),
        _CONTEXT,
        "    names = OF_CHILDREN if key.is_child else OF_ALL\n",
        "    names = OF_ALL\n",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "what differs between sub-agents stands first",
        ("A9-d",),
        _CONTEXT,
        '    return "\\n".join((BRIEF, "", *facts))\n',
        '    return "\\n".join((*facts, "", BRIEF))\n',
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a long file is not shortened",
        (),
        _CONTEXT,
        "    if len(text) <= MAX_CHARS:\n",
        "    if text:\n",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "the main agent's key comes before an agent's own",
        ("A9-b",),
        _CREDENTIALS,
        "dict.fromkeys((agent_id, MAIN_AGENT))",
        "dict.fromkeys((MAIN_AGENT, agent_id))",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "keys that others can read are used",
        (),
        _CREDENTIALS,
        "        if stat.S_IMODE(status.st_mode) & 0o077:\n",
        "        if stat.S_IMODE(status.st_mode) & 0o001:\n",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a history does not say what a call was about",
        (),
        f"{_KEEPERS}._session_history",
        '    text = next((value for value in values.values() if isinstance(value, str)), "")\n',
        '    text = ""\n',
        tests=_HISTORY_TESTS,
    ),
    Mutant(
        "half a secret is shown",
        (),
        f"{_KEEPERS}._session_history",
        "_shown_block(kind, mask(printable_text(text)), block, mask)",
        "attrs.evolve(cut := _shown_block(kind, printable_text(text), block, mask), text=mask(cut.text))",
        tests=_HISTORY_TESTS,
    ),
    Mutant(
        "a cut turn that waits for a place cannot be stopped",
        (),
        f"{_KEEPERS}._turn_requests",
        "    if not cut or (item and item not in cut):\n",
        "    if cut is not None:\n",
        tests=_PROPERTIES,
    ),
    Mutant(
        "what was stopped while files were read is cut again",
        (),
        f"{_KEEPERS}._left_items",
        "        if item in handed and item not in keeper.items.handed:\n",
        "        if False:\n",
        tests=_PROPERTIES,
    ),
)
