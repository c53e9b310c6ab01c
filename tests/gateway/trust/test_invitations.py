"""Invitations into rooms: those of people whose direct messages are accepted."""

from __future__ import annotations

import pytest

from greenroom.gateway.config._channels import ChannelsConfig, MatrixChannel
from greenroom.gateway.config._clock_and_limits import CommandsConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.record._rows import Pairing
from greenroom.gateway.trust._chat_admission import may_invite

ANN, BOB, EVE = "@ann:x", "@bob:x", "@eve:x"
PAIRED = {
    "matrix": {
        "default": {
            EVE: Pairing(
                channel="matrix", account="default", sender=EVE, digest="", asked_s=0, expires_s=0, is_approved=True
            )
        }
    }
}


@pytest.mark.parametrize(
    ("policy", "followed"), [("pairing", {ANN, BOB, EVE}), ("allowlist", {ANN, BOB}), ("disabled", set())]
)
def test_invitations_are_followed_of_those_who_may_write(policy: str, followed: set[str]) -> None:
    matrix = MatrixChannel(homeserver="https://x", user_id="@agent:x", dm_policy=policy, allow_from=(BOB,))  # type: ignore[arg-type]
    config = GatewayConfig(
        channels=ChannelsConfig(matrix=matrix), commands=CommandsConfig(owner_allow_from=(f"matrix:{ANN}",))
    )

    assert {
        who for who in (ANN, BOB, EVE, "@zoe:x") if may_invite(config, PAIRED, "matrix", "default", who)
    } == followed
    assert not may_invite(config, PAIRED, "matrix", "other", ANN)
