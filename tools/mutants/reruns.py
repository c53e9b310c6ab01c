"""Mutants of runs on record and of re-runs."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_CALLS: Final = "greenroom.agents._effect_calls"
_CAUSE: Final = "greenroom.reruns._first_cause"
_CONDUCTOR: Final = "greenroom.effects._conductor"
_CUT: Final = ("tests/reruns/test_cut_records.py",)
_FILE: Final = ("tests/effects/test_effect_file.py",)
_HEADLESS: Final = ("tests/headless/test_run_again.py",)
_ORDER: Final = "greenroom.effects._place_order"
_OUTSIDE: Final = ("tests/reruns/test_nothing_outside.py",)
_PLACES: Final = ("tests/effects/test_place_order.py",)
_OUTCOMES: Final = ("tests/reruns/test_planted_outcomes.py",)
_PLANTED: Final = ("tests/reruns/test_planted_changes.py",)
_TASKS: Final = "greenroom.agents._effect_tasks"
_UPDATES: Final = ("tests/reruns/test_updates.py",)

RERUNS: Final = (
    Mutant(
        "a re-run makes the calls",
        ("RR-1",),
        _CALLS,
        "return not (acts_on_session(tool)",
        "return False and not (acts_on_session(tool)",
        tests=("tests/reruns/test_one_agent.py",),
    ),
    Mutant(
        "a re-run listens for letters",
        ("RR-1",),
        "greenroom.session.assembly._session_start",
        'peers = attrs.evolve(peers, socket="")',
        "peers = attrs.evolve(peers)",
        tests=_OUTSIDE,
    ),
    Mutant(
        "a re-run starts servers",
        ("RR-1", "RR-7"),
        "greenroom.mcp._peer_effects",
        "return self._open_served if",
        "return partial(self._open_recorded, open_peer) if",
        tests=_OUTSIDE,
    ),
    Mutant(
        "a re-run draws ids of its own",
        ("RR-2",),
        "greenroom.session.assembly._effects_of_run",
        "owned = _owned(ports, replay.seed, replay.effects)",
        'owned = _owned(ports, "1", replay.effects)',
        tests=("tests/reruns/test_sub_agents.py",),
    ),
    Mutant(
        "a message that is early is put",
        ("RR-3",),
        _ORDER,
        'return waiting > 0 or step.what != "put" or step.label != label',
        "return False",
        tests=_PLACES,
    ),
    Mutant(
        "an owner does not wait for late messages",
        ("RR-3",),
        _ORDER,
        "return None if self._own is not None and self._own.expects_message else super().take(among)",
        "return super().take(among)",
        tests=_PLACES,
    ),
    Mutant(
        "an owner of held messages seems idle",
        ("RR-3",),
        _ORDER,
        "if self._own is None or not self._own.held:",
        "if self._own is None or True:",
        tests=_PLACES,
    ),
    Mutant(
        "the end of a cut record is a difference",
        ("RR-4",),
        _CONDUCTOR,
        "if not self.is_cut:",
        "if True:",
        tests=_CUT,
    ),
    Mutant(
        "the environment is a definition",
        ("RR-5",),
        _CAUSE,
        'return "environment", f"in',
        'return "definition", f"in',
        tests=_PLANTED,
    ),
    Mutant(
        "what a hook says is code",
        ("RR-5",),
        _CAUSE,
        "if (call and _refuses(effect)) or _adds(effect.got, difference):",
        "if call and _refuses(effect):",
        tests=_OUTCOMES,
    ),
    Mutant(
        "a call that is refused now is another result",
        ("RR-5",),
        _CAUSE,
        "if call and effects.is_left(difference.agent, call):",
        "if not call and effects.is_left(difference.agent, call):",
        tests=_OUTCOMES,
    ),
    Mutant(
        "a call that was refused is missing",
        ("RR-5",),
        _CONDUCTOR,
        "        if REFUSED in refused:",
        "        if REFUSED in refused and not refused:",
        tests=_OUTCOMES,
    ),
    Mutant(
        "another sender is other mail",
        ("RR-5",),
        _CAUSE,
        "if len(set(senders)) > 1:",
        "if len(set(senders)) > 2:",
        tests=_OUTCOMES,
    ),
    Mutant(
        "attempts are not compared",
        ("RR-5",),
        "greenroom.models.recordings._replay_model",
        "self._difference(track[0], asked) or self._of_retries(track[0])",
        "self._difference(track[0], asked)",
        tests=_OUTCOMES,
    ),
    Mutant(
        "a new question is a missing result",
        ("RR-5",),
        _CONDUCTOR,
        '{"answer": "permission", "hook": "hook"}',
        "dict[str, str]()",
        tests=_PLANTED,
    ),
    Mutant(
        "secrets of inputs are on record",
        ("RR-6",),
        "greenroom.effects._effect_file",
        'told = self._mask({"asked": asked, "got": got})',
        'told = {"asked": asked, "got": self._mask(got)}',
        tests=_FILE,
    ),
    Mutant(
        "a task in the background is not served",
        ("RR-7",),
        _CALLS,
        'if "task" in got and table is not None:',
        'if "tasks" in got and table is not None:',
        tests=_HEADLESS,
    ),
    Mutant(
        "the end of a task is not on record",
        ("RR-7",),
        _TASKS,
        "                if task.is_background:",
        "                if not task.is_background:",
        tests=_HEADLESS,
    ),
    Mutant(
        "the arguments are not on record",
        ("RR-7",),
        "greenroom.session.assembly._effects_of_run",
        "if plan.spec.host.invocation:",
        "if not plan.spec.host.invocation:",
        tests=_HEADLESS,
    ),
    Mutant(
        "an update keeps the requests of then",
        ("RR-9",),
        "greenroom.reruns._recorded_run",
        "request=requests.get((exchange.agent, exchange.number), exchange.request)",
        "request=exchange.request",
        tests=_UPDATES,
    ),
    Mutant(
        "a record is updated although more differs",
        ("RR-9",),
        "greenroom.reruns._rerun",
        "if update and again.changes and again.is_complete:",
        "if update and again.changes:",
        tests=_UPDATES,
    ),
    Mutant(
        "an update that was killed stays half done",
        ("RR-9",),
        "greenroom.reruns._recorded_run",
        "    _finish_update(folder)\n    effects",
        "    effects",
        tests=_UPDATES,
    ),
    Mutant(
        "all owners draw from one stream",
        ("RR-8",),
        "greenroom.effects._owned_randomness",
        "owner = current_owner()\n        self._drawn",
        'owner = ""\n        self._drawn',
        tests=_FILE,
    ),
)
