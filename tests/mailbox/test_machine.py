"""Any order of puts, gets, drains, acknowledgements, cancels and a close: the mailbox does as the model does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from greenroom.mailbox import DeadReason, Envelope, Mailbox, MailboxPolicy
from greenroom.testing import MailboxConformance


class MailboxMachine(MailboxConformance):
    """The kit that others run over theirs."""

    def make_mailbox(self, policy: MailboxPolicy, on_dead: Callable[[Envelope[int], DeadReason], None]) -> Mailbox[int]:
        return Mailbox("owner", policy=policy, on_dead=on_dead)


TestMailbox: Any = MailboxMachine.TestCase
TestMailbox.pytestmark = [
    pytest.mark.promise("I-10", "I-11", "I-12", "I-13", "I-14", "I-15", "I-16", "I-18", "I-20"),
    pytest.mark.slow,
    pytest.mark.timeout(300),  # shrinking a failure takes longer than finding one
]
