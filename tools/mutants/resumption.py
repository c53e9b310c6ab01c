"""Mutants of what a new process does about a run that was cut: its turn, its lost agents, the ends that nobody was told of."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ENDS: Final = "greenroom.session.record._recovery"
_PLAN: Final = "greenroom.session.record._recovery_plan"
_RUN: Final = ("tests/headless/test_run_resumed.py",)
_SELF: Final = ("tests/session/test_self_resumption.py",)
_START: Final = "greenroom.session.assembly._session_start"
_STATE: Final = "greenroom.agents._state"
_TEAMS: Final = ("tests/session/test_teams_reopened.py",)

RESUMPTION: Final = (
    Mutant(
        "a cut turn is resumed behind what waits",
        ("R7-turn",),
        "greenroom.agents._agent",
        "ctx.ref.tell(note, Lane.NOW if is_first else Lane.NEXT)",
        "ctx.ref.tell(note, Lane.LATER)",
        tests=_SELF,
    ),
    Mutant(
        "a cut turn is resumed before its session is open",
        ("R7-turn",),
        "greenroom.agents._agent",
        "        if home.is_closing or (start.is_held and ctx.incarnation == 1):\n",
        "        if home.is_closing:\n",
        tests=_SELF,
    ),
    Mutant(
        "a cut turn is forgotten",
        ("R7-turn",),
        "greenroom.session.record._main_start",
        "resume_prompt if self.turn is TurnPlan.RESUME else",
        "'' if self.turn is TurnPlan.RESUME else",
        tests=_SELF,
    ),
    Mutant(
        "a turn that is left holds nothing",
        ("R7-leave",),
        _START,
        "            if start.turn is not TurnPlan.HOLD:\n                home.release()\n",
        "            home.release()\n",
        tests=_SELF,
    ),
    Mutant(
        "a turn that is left is resumed",
        ("R7-leave",),
        _PLAN,
        'TurnPlan.RESUME if settings.cut_turns == "resume" else TurnPlan.HOLD',
        "TurnPlan.RESUME",
        tests=_SELF,
    ),
    Mutant(
        "a lost agent is resumed four times",
        ("R7-agents",),
        _PLAN,
        "end.recoveries < MAX_RECOVERIES",
        "end.recoveries <= MAX_RECOVERIES",
        tests=_SELF,
    ),
    Mutant(
        "recoveries are counted from one in each process",
        ("R7-agents",),
        "greenroom.session.record._recovered_tasks",
        "recoveries=view.recoveries + 1",
        "recoveries=1",
        tests=_SELF,
    ),
    Mutant(
        "a loss that was made good is told as well",
        ("R7-agents",),
        _ENDS,
        "if view.notice_id not in told and not is_made_good and",
        "if view.notice_id not in told and",
        tests=_SELF,
    ),
    Mutant(
        "a loss is told although its owner is away",
        ("R7-agents",),
        _PLAN,
        "EndPlan.WAIT if end.is_owner_away else EndPlan.TELL",
        "EndPlan.TELL",
        tests=_TEAMS,
    ),
    Mutant(
        "a call that a kill cut reads like an interrupted one",
        (),
        "greenroom.agents._agent",
        "lost = frozenset(call.id for call in open_calls(messages)) - start.keeps_open",
        "lost = frozenset[str]()",
        tests=_TEAMS,
    ),
    Mutant(
        "a loss that was told is told again",
        ("R7-agents",),
        _ENDS,
        "if view.notice_id not in told and not is_made_good and",
        "if not is_made_good and",
        tests=(*_SELF, *_TEAMS),
    ),
    Mutant(
        "a closing session suspends nobody",
        ("R7-closing",),
        _STATE,
        "            self.ref.suspend(why=CLOSING)\n",
        "            pass\n",
        tests=_SELF,
    ),
    Mutant(
        "a session that is left does not close its agents",
        ("R7-closing",),
        _START,
        "                    agents.close()\n",
        "                    pass\n",
        tests=_SELF,
    ),
    Mutant(
        "a session that is stopped does not close its agents",
        ("R7-closing",),
        "greenroom.session._session",
        "        self.agents.close()\n",
        "        pass\n",
        tests=_SELF,
    ),
    Mutant(
        "a notice that comes late is thrown away",
        ("R7-closing",),
        _ENDS,
        "    return bool(view.owner) and was_noted and",
        "    return view.cause == LOST and bool(view.owner) and was_noted and",
        tests=_SELF,
    ),
    Mutant(
        "a run is opened before it is looked at",
        ("R7-d",),
        "greenroom.headless._runner",
        "    await _check_work(options, runs, ports)\n",
        "",
        tests=_RUN,
    ),
    Mutant(
        "the store of a refused run is opened where it lies",
        ("R7-d",),
        "greenroom.session.record._unfinished",
        "open_inbox_store(place / INBOX,",
        "open_inbox_store(folder / INBOX,",
        tests=(*_RUN, *_SELF),
    ),
    Mutant(
        "a completed run is not refused",
        ("R7-d",),
        "greenroom.session.record._unfinished",
        "return self.was_cut or self.ends > 0 or self.messages > 0",
        "return True",
        tests=_RUN,
    ),
    Mutant(
        "a cut turn is begun anew",
        ("RM-10",),
        "greenroom.agents._conversation_loader",
        "        messages=repaired.messages,\n",
        "        messages=repaired.messages[:1],\n",
        tests=_SELF,
    ),
    Mutant(
        "a cut turn strands",
        ("RM-10",),
        "greenroom.agents._conversation_loader",
        'return self.ends_in_part or last.role == "user" or bool(last.tool_uses)',
        'return self.ends_in_part or last.role == "user"',
        tests=_SELF,
    ),
    Mutant(
        "the text of the resumed turn is printed",
        ("R7-last",),
        "greenroom.headless._printers",
        "        if not self._has_prompt:\n            note_passed(self._held)\n",
        "        if not self._has_prompt and self._held is None:\n",
        tests=_RUN,
    ),
    Mutant(
        "the result of the resumed turn is printed",
        ("R7-last",),
        "greenroom.headless._printers",
        "        if origin is None or not self._has_prompt:\n",
        "        if origin is None:\n",
        tests=_RUN,
    ),
    Mutant(
        "the code is that of the resumed turn",
        ("R7-last",),
        "greenroom.headless._event_printer",
        "            if origin is None or not self._has_prompt:\n",
        "            if origin is None:\n",
        tests=_RUN,
    ),
)
"""At least one for each promise of self-resumption."""
