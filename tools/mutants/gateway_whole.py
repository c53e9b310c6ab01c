"""Mutants of what a whole gateway keeps: trees of runs, kills on the way of a run, crowds, secrets, and many sessions."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ARCHIVE: Final = "greenroom.gateway.runs._archive_clock"
_DELIVERIES: Final = "greenroom.gateway.runs._deliveries"
_KEEPERS: Final = "greenroom.gateway.keepers._keeper_actors"
_KEEPER_TESTS: Final = ("tests/gateway/keepers/test_keeper_properties.py",)
_METHODS: Final = "greenroom.gateway.process._session_methods"
_POINT_TESTS: Final = ("tests/gateway/process/test_fault_points.py",)
_RUNS: Final = "greenroom.gateway.runs._run_service"
_STOPS: Final = "greenroom.gateway.runs._run_stops"
_TREE_TESTS: Final = ("tests/gateway/runs/test_run_trees.py",)
_WHOLE_TESTS: Final = ("tests/gateway/process/test_whole_gateway.py",)

GATEWAY_WHOLE: Final = (
    Mutant(
        "an account with too much to send takes messages in",
        ("A29-a",),
        "greenroom.gateway.process._host_wiring",
        "            (gate.shut if is_full else gate.reopen)(FULL)\n",
        "            gate.reopen(FULL)\n",
        tests=_WHOLE_TESTS,
    ),
    Mutant(
        "an account that has sent what was due takes nothing in",
        ("A29-a",),
        _DELIVERIES,
        "                self._count(name, -1)\n",
        "",
        tests=_WHOLE_TESTS,
    ),
    Mutant(
        "any number of inputs waits for a session",
        ("A29-a",),
        "greenroom.gateway.keepers._input_store",
        "    if held + len(keeper.items.handed) >= limit and",
        "    if False and",
        tests=("tests/gateway/keepers/test_keepers.py",),
    ),
    Mutant(
        "a summary of results has a turn of its own",
        ("A6-f",),
        "greenroom.gateway.keepers._keeper_parts",
        "        kind=EntryKind.PROMPT if notice is None else notice.kind,\n",
        "        kind=EntryKind.PROMPT,\n",
        tests=("tests/gateway/runs/test_runs_end_to_end.py",),
    ),
    Mutant(
        "a summary of results names none of them",
        ("A6-f",),
        "greenroom.gateway.keepers._box_items",
        "    return told or item.text\n",
        "    return item.text\n",
        tests=("tests/gateway/runs/test_runs_end_to_end.py",),
    ),
    Mutant(
        "a cut call stays open in the transcript of a gateway's session",
        ("A18-d",),
        "greenroom.agents._conversation",
        "        calls = open_calls(self._messages)\n        if calls:\n            told",
        "        calls = open_calls(self._messages)\n        if False:\n            told",
        tests=_POINT_TESTS,
    ),
    Mutant(
        "the status of a session shows what its sub-agent spent",
        ("A18-g",),
        "greenroom.gateway.process._command_host",
        "        folder = sessions_folder(parts.folder.path, SessionKey.parse(key)) / row.session_id\n        return await parts",
        "        row = next((each for each in parts.registry.sessions.values() if each.spawned_by == key), row)\n"
        "        folder = sessions_folder(parts.folder.path, SessionKey.parse(key)) / row.session_id\n        return await parts",
        tests=_WHOLE_TESTS,
    ),
    Mutant(
        "what was archived long ago stays",
        (),
        _ARCHIVE,
        "            await self.prune()\n",
        "            pass\n",
        tests=("tests/gateway/runs/test_spawned_runs.py",),
    ),
    Mutant(
        "what was archived a moment ago is removed",
        (),
        _ARCHIVE,
        "            if is_archived and row.archived_s + keep_s <= self._now_s():\n",
        "            if is_archived:\n",
        tests=("tests/gateway/runs/test_spawned_runs.py",),
    ),
    Mutant(
        "a setting without effect is not named",
        (),
        "greenroom.gateway.config._reader",
        "        found.add(place, text, Severity.WARNING)\n",
        "        pass\n",
        tests=("tests/gateway/config/test_settings_are_used.py",),
    ),
    Mutant(
        "an archive leaves what its session has started",
        ("A12-e",),
        _ARCHIVE,
        "        await self._stop_children(key, who)\n",
        "",
        tests=_TREE_TESTS,
    ),
    Mutant(
        "a stop of a run stops all of its requester",
        ("A13-b",),
        _RUNS,
        "sessions = [run.session for run in first if SessionKey.parse(run.session).is_child]",
        "sessions = [run.requester for run in first]",
        tests=_TREE_TESTS,
    ),
    Mutant(
        "the end of a requester's turn stops its sub-agents",
        ("A13-c",),
        _RUNS,
        "        for run in runs:\n            if end.state is TaskState.COMPLETED:\n",
        "        self._start(self.stop, end.session, end.who)\n"
        "        for run in runs:\n            if end.state is TaskState.COMPLETED:\n",
        tests=_TREE_TESTS,
    ),
    Mutant(
        "a stop counts runs that are being announced",
        ("A13-d",),
        _STOPS,
        "if run.id not in tried and not run.is_ended]",
        "if run.id not in tried]",
        tests=_TREE_TESTS,
    ),
    Mutant(
        "a stop does not reach what sub-agents have started",
        ("A13-g",),
        _STOPS,
        "        sessions += dict.fromkeys(run.session for run in runs if run.session not in sessions)\n",
        "",
        tests=_TREE_TESTS,
    ),
    Mutant(
        "a stop looks once for what has been started",
        ("A13-g",),
        _STOPS,
        "        if not runs:\n",
        "        if not runs or tried:\n",
        tests=_TREE_TESTS,
    ),
    Mutant(
        "a place is not returned",
        ("A18-c",),
        "greenroom.gateway.lanes._lanes",
        "            self._wake(self._places.leave(claim))\n",
        "",
        tests=_POINT_TESTS,
    ),
    Mutant(
        "a resumed conversation has lost its end",
        ("A18-e",),
        "greenroom.agents._conversation_loader",
        "messages=repaired.messages,",
        "messages=repaired.messages[:1],",
        tests=_POINT_TESTS,
    ),
    Mutant(
        "archives come ten minutes late",
        ("A18-f",),
        _ARCHIVE,
        "each.at_s <= now_s]",
        "each.at_s + 600 <= now_s]",
        tests=_POINT_TESTS,
    ),
    Mutant(
        "a keeper that fails takes the others along",
        ("A22-c",),
        _KEEPERS,
        "KEEPER, escalates=False)",
        "KEEPER, escalates=True)",
        tests=_KEEPER_TESTS,
    ),
    Mutant(
        "sessions are listed by their first use",
        ("A22-f",),
        _METHODS,
        "key=lambda row: row.used_s, reverse=True)",
        "key=lambda row: row.used_s)",
        tests=_WHOLE_TESTS,
    ),
    Mutant(
        "an abort of a message that waits ends the turn",
        ("A25-g",),
        _METHODS,
        'item = run_item(runs[0].id) if waits else ""',
        'item = ""',
        tests=_WHOLE_TESTS,
    ),
    Mutant(
        "a secret shows itself",
        ("A27-e",),
        "greenroom.gateway.config._effective",
        'return HIDDEN if value.kind == "text" else value.place',
        "return value.reference[0]",
        tests=_WHOLE_TESTS,
    ),
    Mutant(
        "keepers of sessions that are closed stay",
        ("A29-b",),
        _KEEPERS,
        "            self.keepers.pop(keeper.name, None)\n",
        "            pass\n",
        tests=("tests/gateway/keepers/test_open_sessions.py",),
    ),
    Mutant(
        "one session holds a lane for as long as it has messages",
        ("A29-c",),
        "greenroom.gateway.routing._message_routing",
        'case "owner-main" if is_owner:',
        'case "owner-main":',
        tests=_WHOLE_TESTS,
    ),
)
