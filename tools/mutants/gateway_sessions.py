"""Mutants of the gateway's sessions: their models, credentials, settings and resets."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_CHANGES_TESTS: Final = ("tests/gateway/keepers/test_session_changes.py",)
_CHILDREN_TESTS: Final = ("tests/gateway/process/test_sessions_and_children.py",)
_CONTEXT: Final = "greenroom.gateway.keepers._context_files"
_CREDENTIALS: Final = "greenroom.gateway.keepers._credentials"
_ENVIRONMENT: Final = "greenroom.containment._environment"
_FALLBACKS: Final = "greenroom.models._fallbacks"
_FALLBACK_TESTS: Final = ("tests/models/test_fallbacks.py",)
_LANE_TESTS: Final = ("tests/gateway/lanes",)
_MODELS: Final = "greenroom.gateway.process._gateway_models"
_PLACES: Final = "greenroom.gateway.lanes._places"
_SESSION_MODELS: Final = "greenroom.gateway.keepers._session_models"
_SETUP: Final = "greenroom.gateway.keepers._agent_setup"
_SETUP_TESTS: Final = ("tests/gateway/keepers/test_agent_setup.py",)
_SPAWNED: Final = "tests/gateway/runs/test_spawned_runs.py"
_TOOL_TESTS: Final = ("tests/gateway/tools/test_session_tools.py",)

GATEWAY_SESSIONS: Final = (
    Mutant(
        "the main agent's key comes before the agent's own",
        ("A9-b",),
        _CREDENTIALS,
        "dict.fromkeys((agent_id, MAIN_AGENT))",
        "dict.fromkeys((MAIN_AGENT, agent_id))",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "profiles of agents are not asked",
        ("A9-b", "A21-d"),
        _MODELS,
        "secret = find_credential(config, agent, provider, state_folder=self._state_folder, base=self._base)",
        "secret = None",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a key that cannot be read is replaced by a variable",
        ("A9-b",),
        _MODELS,
        "key = self._environ.get(variable) if secret is None else self._secrets.read_now(secret)",
        "key = self._environ.get(variable) or (secret and self._secrets.read_now(secret))",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "the variables of profiles reach commands",
        ("A9-e",),
        _SETUP,
        "(*self.config.secret_variables, *self.secret_variables, *self.config.secrets.withhold)",
        "(*self.config.secret_variables, *self.config.secrets.withhold)",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a withheld variable is passed on",
        ("A9-e",),
        _ENVIRONMENT,
        "        if any(fnmatchcase(name, pattern) for pattern in withheld):\n            return False\n",
        "",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "the state folder is seen in the sandbox",
        ("A9-f",),
        _SETUP,
        '"unreadable": ["~", *map(str, self.unreadable)]',
        '"unreadable": ["~"]',
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a workspace is covered by the home that it is in",
        ("A9-f",),
        "greenroom.containment._sandbox",
        "sorted(mounts, key=lambda mount: len(mount[0].parts))",
        "reversed(mounts)",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a sub-agent reads all context files",
        ("A9-a",),
        _CONTEXT,
        "names = OF_CHILDREN if key.is_child else OF_ALL",
        "names = OF_ALL",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "the brief of a sub-agent begins with its own key",
        ("A9-c", "A9-d"),
        _CONTEXT,
        'return "\\n".join((BRIEF, "", *facts))',
        'return "\\n".join((*facts[-1:], BRIEF, ""))',
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "the model of a sub-agent is that of its requester when it is opened",
        ("A4-f", "A19-f"),
        "greenroom.gateway.runs._spawn_plan",
        'found: dict[str, Any] = {"model": self.model.name}',
        "found: dict[str, Any] = {}",
        tests=("tests/gateway/runs/test_spawn_plan.py",),
    ),
    Mutant(
        "a lane has one place more than its width",
        ("A10-a", "A10-d", "A21-f"),
        _PLACES,
        "return len(self.places) < self.width",
        "return len(self.places) <= self.width",
        tests=(*_LANE_TESTS, _SPAWNED),
    ),
    Mutant(
        "the last turn that waits is the first to begin",
        ("A10-b",),
        _PLACES,
        "    return rank, claim.number\n",
        "    return rank, -claim.number\n",
        tests=_LANE_TESTS,
    ),
    Mutant(
        "all turns share one lane",
        ("A10-c", "A21-c"),
        _PLACES,
        "return self._lanes.setdefault(name, _Lane(DEFAULT_WIDTH))",
        "return next(iter(self._lanes.values()), None) or self._lanes.setdefault(name, _Lane(DEFAULT_WIDTH))",
        tests=(*_LANE_TESTS, _SPAWNED),
    ),
    Mutant(
        "a turn keeps its place when it fails or its wait is cancelled",
        ("A10-f", "A10-g"),
        "greenroom.gateway.lanes._lanes",
        "            self._wake(self._places.leave(claim))\n",
        "            pass\n",
        tests=_LANE_TESTS,
    ),
    Mutant(
        "a turn that waits for its place cannot be stopped",
        ("A10-i",),
        "greenroom.gateway.keepers._turn_requests",
        "        return bool(unread) and await _withdraw(keeper, stop, unread[0])\n",
        "        return False\n",
        tests=("tests/gateway/keepers/test_keepers.py",),
    ),
    Mutant(
        "each request is counted twice",
        ("A7-f", "A10-e"),
        "greenroom.gateway.keepers._turn_fold",
        '                self._requests.append(spent_request(event, self._models.get(event.actor, "")))\n',
        '                self._requests += [spent_request(event, self._models.get(event.actor, ""))] * 2\n',
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "a turn that ran out of time counts as stopped",
        ("A11-e",),
        "greenroom.gateway.keepers._turn_reporter",
        "(EndCause.STOP, over.who) if stop is None else (stop.cause, stop.who)",
        "(EndCause.STOP, over.who)",
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "all spawns of a process have one id",
        ("A1-a", "A1-c"),
        "greenroom.gateway.runs._run_service",
        "key, run = child_key(plan.agent, new_id(self._ports.ids)), new_id(self._ports.ids)",
        "key, run = child_key(plan.agent, plan.agent), new_id(self._ports.ids)",
        tests=(_SPAWNED,),
    ),
    Mutant(
        "an allowed agent that is not configured is not said to be so",
        ("A3-e",),
        "greenroom.gateway.tools._session_tools",
        '"configured": id_ in known',
        '"configured": True',
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "a sub-agent is not offered the list of agents",
        ("A3-f",),
        "greenroom.gateway.policy._tool_policy",
        'SESSION_TOOLS: Final = ("sessions_list", ',
        'SESSION_TOOLS: Final = ("agents_list", "sessions_list", ',
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "a list shows any number of messages",
        ("A15-b",),
        "greenroom.gateway.tools._looking_tools",
        "count = min(int(messageLimit or 0), MAX_LISTED_MESSAGES)",
        "count = int(messageLimit or 0)",
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "a list shows sessions of any age",
        ("A15-c",),
        "greenroom.gateway.tools._looking_tools",
        "            rows = [row for row in rows if row.used_s >= since_s]\n",
        "",
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "archived sessions are listed",
        ("A15-f",),
        "greenroom.gateway.tools._session_view",
        "if (with_archived or row.state is not SessionState.ARCHIVED)\n            and is_listed",
        "if is_listed",
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "reading a history settles its completion",
        ("A16-g",),
        "greenroom.gateway.tools._looking_tools",
        '        row = view.find(sessionKey, caller)\n        if row is None:\n            return refused("error", f"unknown session {sessionKey!r}")\n',
        '        view.registry.completions.clear()\n        row = view.find(sessionKey, caller)\n        if row is None:\n            return refused("error", f"unknown session {sessionKey!r}")\n',
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "a sub-agent is its requester's session",
        ("A1-e", "A14-f", "A21-b"),
        "greenroom.gateway.tools._session_view",
        "return transcript_place(self.state, row.key, row.session_id, row.transcript or TRANSCRIPT)",
        "return transcript_place(self.state, row.key, row.session_id, TRANSCRIPT)",
        tests=_CHILDREN_TESTS,
    ),
    Mutant(
        "a session that goes with its result has another kind of name",
        ("A21-e",),
        "greenroom.gateway.runs._archive_clock",
        'transcript = archived_name(max(named, key=lambda run: run.ended_s)) if named else ""',
        'transcript = "gone.jsonl" if named else ""',
        tests=_CHILDREN_TESTS,
    ),
    Mutant(
        "a reset forgets what waits",
        ("A24-d",),
        "greenroom.gateway.runs._completions",
        "            await keepers.put(SessionKey.parse(run.requester), new)\n",
        "            pass\n",
        tests=_CHILDREN_TESTS,
    ),
    Mutant(
        "a session that is idle is not begun anew",
        (),
        "greenroom.gateway.keepers._session_changes",
        "now_s - max(row.person_s, row.began_s) > reset.idle_minutes * 60",
        "now_s - row.used_s > reset.idle_minutes * 60",
        tests=("tests/gateway/keepers/test_resets.py",),
    ),
    Mutant(
        "items of several models share a turn",
        (),
        "greenroom.gateway.keepers._waiting_items",
        '_OF_MESSAGES: Final = frozenset({"answers", ',
        '_OF_MESSAGES: Final = frozenset({"model", "answers", ',
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "sessions of a gateway take letters",
        ("A17-h",),
        "greenroom.session.peers._peer_sessions",
        "                if policy is LetterPolicy.REFUSE:\n",
        "                if policy is None:\n",
        tests=_CHANGES_TESTS,
    ),
    Mutant(
        "the crew's vocabulary has no tools",
        ("A8-g",),
        "greenroom.gateway.process._host_wiring",
        'AGENT_TOOLS if parts.settings.tools.vocabulary == "agent" else ()',
        "()",
        tests=_CHILDREN_TESTS,
    ),
    Mutant(
        "a day's budget forgets what was used before the start",
        (),
        "greenroom.gateway.keepers._agent_budgets",
        'self._made(f"agent {agent} today", amount, pricing, spent)',
        'self._made(f"agent {agent} today", amount, pricing, Spent())',
        tests=("tests/gateway/keepers/test_budgets.py",),
    ),
    Mutant(
        "a session sends whatever its policy says",
        (),
        "greenroom.gateway.runs._completions",
        'row.settings.get("send_policy") == "deny"',
        "False",
        tests=(_SPAWNED,),
    ),
    Mutant(
        "off leaves thinking to the model",
        (),
        _SESSION_MODELS,
        '        return "disabled"\n',
        "        return None\n",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "fallbacks are asked in the middle of a turn",
        (),
        _FALLBACKS,
        "        if request.model or not begins_turn(request):\n",
        "        if request.model:\n",
        tests=_FALLBACK_TESTS,
    ),
    Mutant(
        "a fallback answers only one request",
        (),
        _FALLBACKS,
        "        self._answering[self._request.agent] = name\n",
        "",
        tests=_FALLBACK_TESTS,
    ),
)
