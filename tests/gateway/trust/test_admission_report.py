"""The report about a message that somebody might send."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from greenroom.core import UsageError
from greenroom.gateway.config._channels import ChannelsConfig, GroupConfig, IrcChannel, MatrixChannel
from greenroom.gateway.config._clock_and_limits import CommandsConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._reader import ConfigReading
from greenroom.gateway.config._sections import DoorConfig
from greenroom.gateway.routing._chat_messages import Assurance
from greenroom.gateway.trust._admission_report import admission_report, read_asked

CONFIG: Final = GatewayConfig(
    channels=ChannelsConfig(
        irc=IrcChannel(host="irc.test", nick="agent", groups={"#room": GroupConfig(), "odd:room": GroupConfig()}),
        matrix=MatrixChannel(homeserver="https://m.test", user_id="@a:m.test"),
    ),
    commands=CommandsConfig(owner_allow_from=("irc:ann",)),
)


@pytest.mark.parametrize(
    ("asked", "kind", "peer", "sender"),
    [
        ("irc:ann", "direct", "ann", "ann"),
        ("irc:#room:ann", "group", "#room", "ann"),
        ("irc:#room", "group", "#room", "somebody"),
        ("irc:odd:room:ann", "group", "odd:room", "ann"),
        ("irc:ann!a@home", "direct", "ann!a@home", "ann!a@home"),
        ("matrix:@ann:m.test", "direct", "@ann:m.test", "@ann:m.test"),
        ("matrix:!r:m.test:@ann:m.test", "group", "!r:m.test", "@ann:m.test"),
        ("matrix:!r:m.test", "group", "!r:m.test", "somebody"),
        ("telegram:-100123:42", "group", "-100123", "42"),
        ("irc/work:ann", "direct", "ann", "ann"),
    ],
)
def test_a_chat_is_named_by_one_text(asked: str, kind: str, peer: str, sender: str) -> None:
    found = read_asked(CONFIG, asked)

    assert (found.route.kind, found.route.peer, found.sender.id) == (kind, peer, sender)
    assert found.route.account == ("work" if "/" in asked else "default")
    assert (found.sender.assurance is Assurance.MASK) == ("ann!" in asked)


@pytest.mark.parametrize("asked", ["", "irc", "irc:", ":ann"])
def test_a_text_that_names_no_chat_is_refused(asked: str) -> None:
    with pytest.raises(UsageError):
        read_asked(CONFIG, asked)


def test_the_report_has_the_decision_and_its_reason(tmp_path: Path) -> None:
    config = GatewayConfig(channels=CONFIG.channels, commands=CONFIG.commands, gateway=DoorConfig(state=str(tmp_path)))
    reading = ConfigReading(config=config, path=tmp_path / "gateway.json5")
    facts, lines = admission_report(({"usable": True}, ["no problems"]), reading, "irc:#room:ann")

    assert facts["admission"] == {
        "sender": "owner",
        "action": "begin",
        "reason": "in commands.ownerAllowFrom",
        "session": "agent:main:irc:group:#room",
        "origin": "human",
        "tools": "as of group",
        "else": "context (of a message that does not address the agent)",
    }
    assert lines[0] == "no problems"
    assert admission_report(({}, []), reading, None) == ({}, [])
    assert list(tmp_path.iterdir()) == []
