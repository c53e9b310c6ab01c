"""Pairing: codes that strangers get, and that somebody approves here.

Rule 1: a code is approved by an owner or a client, never by sending it back: to guess one is worth nothing. Rule 2: a stranger gets one
an hour, an account has three open ones, and beyond that nothing is answered. Rule 3: only digests of codes are on record. Rule 4: what is
said to be approved is on record.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.gateway.record._gateway_events import PairingApproved, PairingAsked, PairingRemoved
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._rows import Pairing
from greenroom.gateway.trust._chat_admission import Pairings

CODE_SIGNS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Signs of a code: none that looks like another one."""
CODE_LENGTH: Final = 8
HIDDEN: Final = "\u2022" * CODE_LENGTH
"""Stands for the code in the text that is on record."""
CODE_S: Final = 3600.0
"""Time for which a code is valid, and for which its stranger gets no other one, in seconds."""
MAX_OPEN: Final = 3
"""Open codes of an account."""
WRONG_CODES: Final = 5
WRONG_S: Final = 60.0
"""After five wrong codes in a minute, none is looked at for a minute."""


class PairingResult(StrEnum):
    """The result of an approval or a rejection."""

    DONE = "done"
    UNKNOWN = "unknown"
    """No open code is that one."""
    PAUSED = "paused"
    """There were too many wrong codes."""


@final
@attrs.frozen(kw_only=True)
class PairingPlan:
    """The step for a stranger who writes."""

    gives_code: bool
    expired: tuple[str, ...] = ()
    """People of the account whose codes have expired."""
    reason: str


def plan_pairing(people: Mapping[str, Pairing], sender: str, now_s: float, item: str = "") -> PairingPlan:
    """Return what a stranger gets.

    Args:
        people: The pairings of the account.
        sender: Id of the stranger.
        now_s: The wall clock.
        item: Id of the message; it gets a new code if it asked for the open one, which was lost before it was sent.
    """
    expired = tuple(name for name, row in people.items() if not row.is_approved and not _is_open(row, now_s))
    open_names = {name for name, row in people.items() if not row.is_approved} - set(expired)
    if item and sender in open_names and people[sender].item == item:
        return PairingPlan(gives_code=True, expired=expired, reason="gets a code in place of one that was not sent")
    if sender in open_names:
        return PairingPlan(gives_code=False, expired=expired, reason="has a code already")
    if len(open_names) >= MAX_OPEN:
        return PairingPlan(gives_code=False, expired=expired, reason=f"the account has {len(open_names)} open codes")
    return PairingPlan(gives_code=True, expired=expired, reason="gets a code")


def _is_open(row: Pairing, now_s: float) -> bool:
    # A clock that was set back keeps a code open no longer than it was meant to be.
    return now_s < row.expires_s and row.expires_s - now_s <= 25 * CODE_S


def code_for(key: str, item: str) -> str:
    """Return the code that a message gets: the same one in each process that has the key, so that no record has to hold it."""
    bits = int.from_bytes(hmac.digest(key.encode(), item.encode(), "sha256")[:CODE_LENGTH], "big")
    return "".join(CODE_SIGNS[bits >> 5 * at & 31] for at in range(CODE_LENGTH))


def code_digest(code: str, *, channel: str, account: str, sender: str) -> str:
    """Return the digest of a code: of that person of that account, and of nobody else."""
    written = "\0".join((channel, account, sender, "".join(code.split()).upper()))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def pairing_text(code: str) -> str:
    """Return the message with a code; it says nothing about the machine."""
    return f"Pairing code: {code}\nThe owner of this agent can approve it within an hour. Until then messages are not read."


def open_codes(pairings: Pairings, now_s: float) -> Iterator[Pairing]:
    """Yield the people who wait for an approval."""
    for row in all_pairings(pairings):
        if not row.is_approved and _is_open(row, now_s):
            yield row


def all_pairings(pairings: Pairings) -> Iterator[Pairing]:
    """Yield the people who are paired or have asked to be."""
    for accounts in pairings.values():
        for people in accounts.values():
            yield from people.values()


@final
@attrs.define(kw_only=True)
class PairingDesk:
    """Pairing of people, on record.

    Args:
        record: The gateway's record.
        key: Secret that codes are made from.
        wall: Returns the wall clock, in seconds since 1970.
    """

    record: GatewayRecord
    key: str = attrs.field(repr=False)
    wall: Callable[[], float]
    _wrong: deque[float] = attrs.field(factory=lambda: deque(maxlen=WRONG_CODES), init=False)

    def reveal(self, delivery: str, text: str) -> str:
        """Return the text of a delivery as it is sent: with the code that its record does not hold."""
        return text.replace(HIDDEN, code_for(self.key, delivery.removeprefix("post:")))

    async def ask(self, channel: str, account: str, sender: str, item: str) -> str:
        """Return a new code for a stranger, when it is on record; empty if none is given.

        Args:
            channel, account, sender: The stranger.
            item: Id of the message; the caller knows that no code was sent for it.

        Raises:
            JournalError: It cannot be recorded.
        """
        now_s = self.wall()
        people = self.record.registry.services.pairings.get(channel, {}).get(account, {})
        plan = plan_pairing(people, sender, now_s, item)
        if not plan.gives_code:
            return ""
        gone = [
            PairingRemoved(at_s=now_s, channel=channel, account=account, sender=expired) for expired in plan.expired
        ]
        code = code_for(self.key, item)
        asked = PairingAsked(
            at_s=now_s,
            channel=channel,
            account=account,
            sender=sender,
            digest=code_digest(code, channel=channel, account=account, sender=sender),
            expires_s=now_s + CODE_S,
            item=item,
        )
        await self.record.write(*gone, asked)
        return code

    async def approve(self, code: str, *, who: str, item: str = "") -> tuple[PairingResult, Pairing | None]:
        """Pair the person with that code, for direct messages of that account; return the person, when it is on record.

        Args:
            code: The code; case and spaces do not count.
            who: Who approves.
            item: Id of the message with the command; if it comes in again, it has the same result. Empty for a client.

        Raises:
            JournalError: It cannot be recorded.
        """
        result, row = self._find(code, item)
        if row is not None and not row.is_approved:
            event = PairingApproved(
                at_s=self.wall(), channel=row.channel, account=row.account, sender=row.sender, who=who, item=item
            )
            await self.record.write(event)
        return result, row

    async def reject(self, code: str, *, who: str) -> tuple[PairingResult, Pairing | None]:
        """Remove an open code, as `approve`."""
        result, row = self._find(code)
        if row is not None:
            await self.remove(row.channel, row.account, row.sender, who=who)
        return result, row

    async def remove(self, channel: str, account: str, sender: str, *, who: str) -> bool:
        """Remove a person who was paired, or has a code; False if there is none.

        Raises:
            JournalError: It cannot be recorded.
        """
        people = self.record.registry.services.pairings.get(channel, {}).get(account, {})
        if sender not in people:
            return False
        await self.record.write(
            PairingRemoved(at_s=self.wall(), channel=channel, account=account, sender=sender, who=who)
        )
        return True

    def _find(self, code: str, item: str = "") -> tuple[PairingResult, Pairing | None]:
        now_s = self.wall()
        is_paused = len(self._wrong) == WRONG_CODES and self._wrong[-1] - self._wrong[0] <= WRONG_S
        if is_paused and 0 <= now_s - self._wrong[-1] < WRONG_S:
            return PairingResult.PAUSED, None
        found = None
        for row in all_pairings(self.record.registry.services.pairings):
            if not _is_open(row, now_s) or (row.is_approved and row.item != (item or None)):
                continue
            digest = code_digest(code, channel=row.channel, account=row.account, sender=row.sender)
            if hmac.compare_digest(digest, row.digest):
                found = row
        if found is None:
            self._wrong.append(now_s)
            return PairingResult.UNKNOWN, None
        return PairingResult.DONE, found
