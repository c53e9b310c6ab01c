"""Any order of puts, gets, drains, acknowledgements, cancels and a close: the mailbox does as the model does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from greenroom.mailbox import DeadReason, Envelope, Lane, Mailbox, MailboxPolicy
from greenroom.testing import MailboxConformance

if TYPE_CHECKING:
    from collections.abc import Callable

    from greenroom.testing._conformance_model import ModelLetter

LANES = st.sampled_from(Lane)


class MailboxMachine(MailboxConformance):
    """The kit that others run over theirs, and what ours can do besides: postpone, recall, withdraw."""

    mailbox: Mailbox[int]

    def __init__(self) -> None:
        self.envelopes: dict[ModelLetter, Envelope[int]] = {}
        super().__init__()

    def make_mailbox(self, policy: MailboxPolicy, on_dead: Callable[[Envelope[int], DeadReason], None]) -> Mailbox[int]:
        return Mailbox("owner", policy=policy, on_dead=on_dead)

    @rule(lane=LANES, count=st.integers(1, 3))
    def put_and_remember(self, lane: Lane, count: int) -> None:
        for _ in range(count):
            letter = self.letter(lane, 0)
            delivery = self.mailbox.put_nowait(letter.number, lane)
            assert delivery == self.model.put(letter)
            if delivery == "accepted":
                self.envelopes[letter] = self.mailbox.lanes.of(lane)[-1]
        self.settle()

    @precondition(lambda self: bool(self.envelopes))
    @rule(data=st.data(), is_looked_for=st.booleans())
    def withdraw(self, data: st.DataObject, *, is_looked_for: bool) -> None:
        letter = data.draw(st.sampled_from(list(self.envelopes)))
        waits = any(letter in queue for queue in (*self.model.lanes.values(), self.model.stash))
        if waits or is_looked_for:
            is_known = waits and not is_looked_for
            assert self.mailbox.withdraw(self.envelopes[letter], is_known=is_known) is waits
            self.model.withdraw(letter)
        self.settle()

    @precondition(lambda self: bool(self.handed))
    @rule(data=st.data(), counts=st.booleans())
    def postpone(self, data: st.DataObject, counts: bool) -> None:
        handed = data.draw(st.sampled_from(self.handed))
        letter, envelope = handed.letters.pop(), handed.lease.envelopes.pop()
        if not handed.letters:
            self.handed.remove(handed)
        self.mailbox.postpone(envelope, counts=counts)
        self.model.postpone(letter, counts=counts)
        self.settle()

    @rule()
    def recall(self) -> None:
        self.mailbox.recall()
        self.model.recall()
        self.settle()

    @invariant()
    def as_many_are_postponed_as_the_model_says(self) -> None:
        assert self.mailbox.statistics().postponed == len(self.model.stash)


TestMailbox: Any = MailboxMachine.TestCase
TestMailbox.pytestmark = [
    pytest.mark.promise("I-10", "I-11", "I-12", "I-13", "I-14", "I-15", "I-16", "I-18", "I-19", "I-20"),
    pytest.mark.slow,
    pytest.mark.timeout(300),  # shrinking a failure takes longer than finding one
]
