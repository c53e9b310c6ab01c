"""Leases: messages that were handed out and belong to the mailbox until they are acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, final

import attrs

from greenroom.mailbox._envelope import Envelope, M

if TYPE_CHECKING:
    from greenroom.mailbox._mailbox import Mailbox


@final
@attrs.define(eq=False, repr=False)
class Lease(Generic[M]):
    """A batch of messages that belong to the mailbox until they are acknowledged.

    As a context manager, it acknowledges the remaining messages when the block ends normally, and returns them to their
    lanes when the block raises or is cancelled.
    """

    _mailbox: Mailbox[M]
    envelopes: list[Envelope[M]]
    """The messages that are still leased, in order."""

    def __repr__(self) -> str:
        return f"<Lease of {len(self.envelopes)} {'message' if len(self) == 1 else 'messages'}>"

    def __len__(self) -> int:
        return len(self.envelopes)

    @property
    def message(self) -> M:
        """The first message."""
        return self.envelopes[0].message

    @property
    def messages(self) -> tuple[M, ...]:
        """All messages that are still leased, in order."""
        return tuple(envelope.message for envelope in self.envelopes)

    def ack(self, count: int | None = None) -> None:
        """Acknowledge the first `count` messages, by default all of them."""
        done = len(self.envelopes) if count is None else count
        for envelope in self.envelopes[:done]:
            self._mailbox.ack(envelope)
        del self.envelopes[:done]

    def nack(self) -> None:
        """Return the messages that are still leased to the front of their lanes, in their original order."""
        while self.envelopes:
            self._mailbox.nack(self.envelopes.pop())

    def __enter__(self) -> Lease[M]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.ack()
        else:
            self.nack()
