"""The result of a scripted day, and the comparison of a day with a kill to one without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from greenroom.agents._conversation_loader import CONTINUE
from greenroom.gateway._gateway import Gateway
from greenroom.gateway.announce._announcement import NO_REPLY
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._completions import TRANSCRIPT, transcript_place
from greenroom.trace import JOURNAL
from tests.gateway.process.day import DAY_S
from tests.gateway.process.town import RecordingTownDisk, Town, living, wait_quiet

MERGED: Final = "my child says 42"
"""Two results that wait together make one turn, or two after a kill in between, or none if a person's message waits with them."""


ASKED: Final = "Your run has ended"
"""A question for a summary whose turn a kill has cut is asked again."""


@attrs.frozen
class Outcome:
    """The result of a day."""

    chats: dict[str, Counter[str]]
    """The texts that were shown in each chat."""
    conversations: Counter[tuple[str, ...]]
    """Each session that is or was under a key: its kind, then the texts that it read and said."""
    records: Counter[str]
    """Sessions, runs, pairings, and calls that are done, with what became of them."""
    jobs: dict[str, str]
    blocked: tuple[str, ...]
    """Why texts were blocked: nobody knows whether they arrived, where the channel cannot say."""

    def differences(self, killed: Outcome, *, kills: int = 1) -> list[str]:
        """Return what is different after a kill, or several, a line for each."""
        missing, extra = Counter[str](), Counter[str]()
        for chat in self.chats.keys() | killed.chats.keys():
            before, after = self.chats.get(chat, Counter()), killed.chats.get(chat, Counter())
            missing += Counter({f"{chat}: {text!r}": number for text, number in (before - after).items()})
            extra += Counter({f"{chat}: {text!r}": number for text, number in (after - before).items()})
        found = [f"said twice: {text}" for text in extra]
        found += [f"not said: {text}" for text in missing]
        found += [f"blocked: {why}" for why in killed.blocked if "not known" not in why]
        found += [f"too many are blocked: {killed.blocked}"] if len(killed.blocked) > kills else []
        found += _conversations(self.conversations - killed.conversations, killed.conversations - self.conversations)
        lost, other = self.records - killed.records, killed.records - self.records
        found += [f"lost record: {text}" for text in lost]
        found += [f"other record: {text}" for text in other]
        if killed.jobs != self.jobs:
            found.append(f"jobs: {killed.jobs}")
        return found


def _conversations(lost: Counter[tuple[str, ...]], new: Counter[tuple[str, ...]]) -> Iterator[str]:
    """Yield what is different in the conversations of each kind."""
    for kind in {kind for kind, *_ in (*lost, *new)}:
        before, after = (
            Counter(text for each in found for text in each[1:] if each[0] == kind) for found in (lost, new)
        )
        yield f"conversation {kind}: missing {sorted((before - after).elements())}, new {sorted((after - before).elements())}"


def outcome_of(town: Town, gateway: Gateway) -> Outcome:
    """Return the result of a day that is over."""
    registry = gateway.parts.registry
    chats: dict[str, Counter[str]] = {}
    for name, service in town.services.items():
        for peer in {part.route.peer for part in service.shown}:
            texts = chats[f"{name}/{peer}"] = Counter(town.texts(name, peer))
            if MERGED in texts:
                texts[MERGED] = 1
    return Outcome(
        chats=chats,
        conversations=Counter(conversations_of(town, gateway)),
        records=Counter(records_of(gateway)),
        jobs={job.id: job.outcome for job in registry.services.jobs.values()},
        blocked=tuple(town.decided),
    )


def conversations_of(town: Town, gateway: Gateway) -> list[tuple[str, ...]]:
    """Return the conversations of the sessions, those before a reset included; without the notes with which turns are resumed."""
    kinds = {row.session_id: kind_text(key) for key, row in gateway.parts.registry.sessions.items()}
    found = []
    for folder in town.state.glob("agents/*/sessions/*"):
        lines = town.conversation(folder.name)
        texts = Counter(f"{role}: {text}" for role, text in lines if text != CONTINUE)
        del texts[f"assistant: {MERGED}"], texts[f"assistant: {NO_REPLY}"]
        for text in texts:
            if text.startswith(f"user: {ASKED}"):
                texts[text] = 1
        found.append((kinds.get(folder.name, "before a reset"), *sorted(texts.elements())))
    return found


def records_of(gateway: Gateway) -> list[str]:
    """Return the records of sessions, runs, and pairings."""
    registry = gateway.parts.registry
    found = []
    for key, row in registry.sessions.items():
        place = transcript_place(gateway.parts.folder.path, key, row.session_id, row.transcript or TRANSCRIPT)
        state = str(row.state).replace("open", "closed")
        found.append(
            f"session {kind_text(key)} {state} {row.label} {'with' if place.exists() else 'without'} transcript"
        )
    for run in (*registry.runs.values(), *registry.recent.values()):
        end = f"{run.state} {run.cause} {run.error}"
        found.append(f"run {kind_text(run.session)} {run.label or run.task} {run.announce} {run.cleanup} {end}")
    pairings = registry.services.pairings
    found += [
        f"pairing {row.channel}:{row.sender} {row.is_approved}"
        for each in pairings.values()
        for people in each.values()
        for row in people.values()
    ]
    found += [f"left {row.item}" for row in registry.inbound.values()]
    return found


def kind_text(key: str) -> str:
    """Return the agent and the kind of a session."""
    parsed = SessionKey.parse(key)
    return f"{parsed.agent} {type(parsed.rest).__name__}"


async def cut_day(town: Town, folder: Path, events: int) -> Town | None:
    """Continue the day, and return the state that a kill after a number of events leaves; None if it has fewer events."""
    left: list[Town] = []
    seen: list[str] = []
    is_cut = trio.Event()

    def note(kind: str) -> None:
        seen.append(kind)
        if len(seen) == events:
            left.append(town.copy(folder, town.now_s + trio.current_time()))
            is_cut.set()

    async with living(town, disk=RecordingTownDisk(town.state / JOURNAL, note)):
        with trio.move_on_after(60):
            await is_cut.wait()
    return left[0] if left else None


async def run_day(town: Town, disk: Any = None) -> Outcome:
    """Continue the day to its end."""
    async with living(town, disk=disk) as gateway:
        await wait_quiet(gateway, town, until_s=DAY_S)
        return outcome_of(town, gateway)
