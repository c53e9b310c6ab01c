"""The Matrix channel against the conformance kit, over a server in memory."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from greenroom.testing import ChannelConformance
from tests.gateway.channels.matrix_server import ScriptedMatrix, open_scripted_matrix


@pytest.mark.promise("A26-a", "A26-c")
class TestMatrix(ChannelConformance):
    def open_service(self) -> AbstractAsyncContextManager[ScriptedMatrix]:
        return open_scripted_matrix()
