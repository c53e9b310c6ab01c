"""Mutants of a swarm: its price, its screen, a resumed run on it, a run that is played."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_BOARD: Final = "greenroom.teams._board"
_CONSENT: Final = "greenroom.swarm._consent"
_CONTROLS: Final = "greenroom.terminal.screen._screen_controls"
_COST: Final = ("tests/swarm/test_swarm_cost.py",)
_ITEMS: Final = ("tests/session/test_item_conversations.py",)
_KEYS: Final = ("tests/terminal/test_screen_controls.py",)
_LAYOUT: Final = "greenroom.terminal.screen._layout"
_LOOP: Final = ("tests/terminal/test_screen_loop.py",)
_PANES: Final = ("tests/terminal/test_screen_panes.py",)
_PLAYED: Final = ("tests/replay/test_played_run.py",)
_PLAYHEAD: Final = "greenroom.replay._playhead"
_POSITION: Final = ("tests/replay/test_playhead.py",)
_SCREEN: Final = ("tests/swarm/test_swarm_screen.py",)
_STORY: Final = "greenroom.terminal.screen._story"
_STORY_TESTS: Final = ("tests/terminal/test_screen_story.py",)
_TERMINAL: Final = "greenroom.terminal.screen._terminal_screen"

SWARM_VIEWS: Final = (
    # its price
    Mutant(
        "an item is read behind the one before it",
        ("S-item",),
        _BOARD,
        "is_fresh = self._home.conversations is Conversations.FRESH and not is_cut",
        "is_fresh = False",
        tests=_ITEMS,
    ),
    Mutant(
        "a request follows the findings",
        ("S-findings",),
        "greenroom.agents._rounds",
        "is_over = bool(asked_to_end) and len(done) == len(calls)",
        "is_over = False",
        tests=_ITEMS,
    ),
    Mutant(
        "the lead is woken for each item",
        ("S-woken",),
        _BOARD,
        "state.quarters > home.quarters",
        "state.quarters >= home.quarters",
        tests=_ITEMS,
    ),
    Mutant(
        "the lead is not woken when all is done",
        ("S-woken",),
        _BOARD,
        "if state.is_done and not home.was_done:",
        "if state.is_done and state.quarters < 4:",
        tests=_ITEMS,
    ),
    Mutant(
        "a run above the allowed sum begins without a word",
        ("S-ask",),
        _CONSENT,
        "if most > Decimal(str(allowed)):",
        "if most > 100 * Decimal(str(allowed)):",
        tests=_COST,
    ),
    Mutant(
        "no answer starts a run",
        ("S-ask",),
        _CONSENT,
        "        except EOFError:\n            return False\n",
        "        except EOFError:\n            return True\n",
        tests=_COST,
    ),
    Mutant(
        "a partial report looks whole",
        ("S-partial",),
        "greenroom.swarm._swarm_budget",
        "**This report is not complete.** {why}.",
        "{why}.",
        tests=_COST,
    ),
    Mutant(
        "a swarm at its budget leaves no report",
        ("S-partial",),
        "greenroom.swarm._swarm",
        "if run.is_over_budget and not run.has_report:",
        "if run.is_over_budget and run.has_report:",
        tests=("tests/swarm/test_swarm_budget.py",),
    ),
    # its screen
    Mutant(
        "a question is below a word about the size",
        ("S-question",),
        _LAYOUT,
        "lines = [*questions, *([foot] if is_busy else []), *top]",
        "lines = [*top, *questions, *([foot] if is_busy else [])]",
        tests=_PANES,
    ),
    Mutant(
        "a question has one line",
        ("S-question",),
        _LAYOUT,
        "MAX_QUESTION_LINES: Final = 3",
        "MAX_QUESTION_LINES: Final = 1",
        tests=_PANES,
    ),
    Mutant(
        "two questions are offered the same letter",
        ("S-question",),
        _LAYOUT,
        " and controls.doubtful is None and controls.entry is None",
        "",
        tests=_PANES,
    ),
    Mutant(
        "any key says yes",
        ("S-keys",),
        _CONTROLS,
        'controls.doubtful if key == "y" else None',
        "controls.doubtful",
        tests=_KEYS,
    ),
    Mutant(
        "a kill does not ask",
        ("S-keys",),
        _CONTROLS,
        "return attrs.evolve(controls, doubtful=Kill(target)), None",
        "return controls, Kill(target)",
        tests=_KEYS,
    ),
    Mutant(
        "letters of a text act",
        ("S-keys",),
        "greenroom.terminal.screen._screen_loop",
        "self.controls, action = press(self.controls, key, picture)",
        "self.controls, action = press(attrs.evolve(self.controls, entry=None), key, picture)",
        tests=_LOOP,
    ),
    Mutant(
        "a hang is one more retry",
        ("S-seen",),
        _STORY,
        'if event.error == "timeout":',
        "if not event.error:",
        tests=_STORY_TESTS,
    ),
    Mutant(
        "an item that comes back is taken in silence",
        ("S-seen",),
        _STORY,
        "        if former:\n",
        "        if not former:\n",
        tests=_STORY_TESTS,
    ),
    Mutant(
        "nothing is ever lost",
        ("S-seen",),
        _STORY,
        "if agent.has_left(now_s)}",
        "if agent.has_left(0.0)}",
        tests=_STORY_TESTS,
    ),
    Mutant(
        "an item is lost before the board could take it back",
        ("S-seen",),
        "greenroom.terminal.screen._agent_activity",
        "return self.gone_s < t_s - RELEASE_S",
        "return self.gone_s < t_s",
        tests=_STORY_TESTS,
    ),
    Mutant(
        "a screen that fails ends its run",
        ("S-screen",),
        "greenroom.swarm._live_view",
        "except Exception as error:  # noqa: BLE001 - whatever it is, the run does not end by it",
        "except OSError as error:",
        tests=_SCREEN,
    ),
    Mutant(
        "a terminal that takes nothing gets more",
        ("S-screen",),
        _TERMINAL,
        "if self.is_gone or not self._is_open or not self._flush():",
        "if self.is_gone or not self._is_open or (self._flush() and False):",
        tests=_LOOP,
    ),
    Mutant(
        "a terminal that went away is drawn on",
        ("S-screen",),
        _TERMINAL,
        "            except OSError:\n                self.is_gone = True\n                return False\n            del",
        "            except OSError:\n                return False\n            del",
        tests=_LOOP,
    ),
    Mutant(
        "a change of size is seen with the next event only",
        ("S-resize",),
        "greenroom.terminal.screen._screen_loop",
        "size = self._screen.size\n        picture",
        "size = self._screen._size or self._screen.size\n        picture",
        tests=_LOOP,
    ),
    Mutant(
        "a resumed run begins with an empty board",
        ("S-resumed",),
        "greenroom.swarm._event_reader",
        "                story.take(entry.seq, t + entry.t - first_t, entry.event)\n",
        "                story.last_event = entry.seq\n",
        tests=_SCREEN,
    ),
    Mutant(
        "agents of the killed process stay on the screen",
        ("S-resumed",),
        _STORY,
        "            self._agents, self._own = {}, set()\n",
        "",
        tests=_SCREEN,
    ),
    # a run that is played
    Mutant(
        "a snapshot changes with what was copied from it",
        ("S-fold",),
        _STORY,
        "if agent is not None and actor not in self._own:",
        "if agent is not None and not self._own:",
        tests=_PLAYED,
    ),
    Mutant(
        "a jump folds one event too few",
        ("S-fold",),
        "greenroom.trace._moments",
        "for step, entry in enumerate(entries[begin:wanted], start=begin + 1):",
        "for step, entry in enumerate(entries[begin : wanted - 1], start=begin + 1):",
        tests=_PLAYED,
    ),
    Mutant(
        "a step over failures stays where it is",
        ("S-jump",),
        _PLAYHEAD,
        "self._set(found + 1)",
        "self._set(found)",
        tests=_POSITION,
    ),
    Mutant(
        "a written number is one too many",
        ("S-jump",),
        _PLAYHEAD,
        "self._set(self._index.count_until(seq=int(number)))",
        "self._set(self._index.count_until(seq=int(number) + 1))",
        tests=_POSITION,
    ),
    Mutant(
        "a run that grows is not followed",
        ("S-follow",),
        _PLAYHEAD,
        "        if self.is_live:\n            self._put(len(self._index))\n",
        "        if self.is_live:\n            self._put(self.count)\n",
        tests=_POSITION,
    ),
    Mutant(
        "the end is followed although somebody has moved",
        ("S-follow",),
        _PLAYHEAD,
        "        self.is_playing = self.is_live = False\n        self._put(count)\n",
        "        self.is_playing = False\n        self._put(count)\n",
        tests=_POSITION,
    ),
)
