"""One behaviour that OTP documents for its supervisors, what ours does in its place, and the code that shows it.

Rule 1: `says` paraphrases OTP's documentation. Rule 2: the name of the scenario's function is a sentence about
greenroom, and its body checks it. Rule 3: if greenroom differs, `reason` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from enum import StrEnum
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.actors import Context
from tests.actors.situations import Doer

SUPERVISOR: Final = "supervisor(3)"
PRINCIPLES: Final = "Supervisor Behaviour"
GEN_SERVER: Final = "gen_server(3)"
SOURCE: Final = "supervisor.erl"

Body: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Verdict(StrEnum):
    SAME = "same"
    DIFFERS = "differs"
    """Ours does something else in the same situation."""
    NOT_OFFERED = "not offered"
    """There is no such situation with ours."""


@final
@attrs.frozen(kw_only=True)
class Scenario:
    id: str
    says: str
    """The behavior of OTP."""
    where: str
    """The page that says so, a colon, and the section."""
    verdict: Verdict
    reason: str
    run: Body
    """Shows what ours does; run in virtual time."""
    bug: str = ""
    """The fault of ours for which the scenario fails as yet."""

    @property
    def ours(self) -> str:
        """The behavior of ours: the name of the function, read as a sentence."""
        return self.run.__name__.replace("_", " ")


def same(id_: str, where: str, says: str, *, bug: str = "") -> Callable[[Body], Scenario]:
    """Mark a function as a scenario of something that ours does as OTP does."""
    return _mark(id=id_, where=where, says=says, verdict=Verdict.SAME, reason="", bug=bug)


def differs(id_: str, where: str, says: str, reason: str) -> Callable[[Body], Scenario]:
    """Mark a function as a scenario of something that ours does otherwise."""
    return _mark(id=id_, where=where, says=says, verdict=Verdict.DIFFERS, reason=reason)


def not_offered(id_: str, where: str, says: str, reason: str) -> Callable[[Body], Scenario]:
    """Mark a function as a scenario of what ours has in place of something that it does not offer."""
    return _mark(id=id_, where=where, says=says, verdict=Verdict.NOT_OFFERED, reason=reason)


def _mark(**fields: Any) -> Callable[[Body], Scenario]:
    return lambda run: Scenario(run=run, **fields)


# --- what the scenarios share ----------------------------------------------------------------------------------------


class Logged(Doer):
    """Writes down its starts (`+a`) and its ends (`-a`); either may take some seconds."""

    def __init__(self, log: list[str], name: str, start_s: float = 0.0, stop_s: float = 0.0) -> None:
        super().__init__()
        self.log, self.name, self.start_s, self.stop_s = log, name, start_s, stop_s

    async def on_start(self, ctx: Context) -> None:
        if self.start_s:
            await trio.sleep(self.start_s)
        self.log.append(f"+{self.name}")

    async def on_stop(self, ctx: Context) -> None:
        if self.stop_s:
            await trio.sleep(self.stop_s)
        self.log.append(f"-{self.name}")


class Patient:
    """A job that takes as long as it may."""

    async def __call__(self, ctx: Context) -> None:
        await trio.sleep_forever()


async def finish(ctx: Context) -> None:
    """End normally: the actor asks for its own end."""
    ctx.ref.stop(why="done")
