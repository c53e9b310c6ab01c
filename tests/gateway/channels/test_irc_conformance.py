"""The IRC channel against the conformance kit, over a server in memory."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from greenroom.testing import ChannelConformance
from tests.gateway.channels.irc_server import ScriptedIrc, open_scripted_irc


@pytest.mark.promise("A26-a", "A26-c")
class TestIrc(ChannelConformance):
    keeps_messages = False

    def open_service(self) -> AbstractAsyncContextManager[ScriptedIrc]:
        return open_scripted_irc()
