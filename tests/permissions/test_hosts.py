"""WebFetch and the addresses of this machine: asked about unless a rule names them, however they are spelled."""

from __future__ import annotations

from typing import Any

import pytest

from greenroom.permissions import Effect, Mode, Request, decide
from tests.permissions.policies import policy

LOOPBACK = [
    *(
        "127.0.0.1",
        "127.0.0.1.",
        "localhost",
        "LocalHost.",
        "2130706433",
        "0x7f.1",
        "0x7F000001",
        "017700000001",
        "127.1",
    ),
    *(
        "127.0.1",
        "0",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "x.localhost",
    ),
]
OTHERS = [
    "169.254.169.254",
    "0xa9fea9fe",
    "10.0.0.1",
    "012.1",
    "192.168.1",
    "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]",
]
MODES = [Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.PLAN, Mode.BYPASS, Mode.AUTO]


def effect_of(host: str, mode: Mode = Mode.DEFAULT, **rules: Any) -> Effect:
    """Return what becomes of a fetch from a host."""
    url = f"http://{host}:18790/latest"
    return decide(
        Request(tool="WebFetch", input={"url": url}, cwd="/project", policy=policy(mode=mode, **rules))
    ).effect


@pytest.mark.parametrize("host", LOOPBACK + OTHERS)
@pytest.mark.parametrize("mode", MODES)
def test_private_address_is_asked_about_though_the_tool_is_allowed(host: str, mode: Mode) -> None:
    assert effect_of(host, mode, allow=["WebFetch"]) is Effect.ASK
    assert effect_of(host, mode, allow=["WebFetch(domain:*)"]) is Effect.ASK


@pytest.mark.parametrize("host", LOOPBACK)
@pytest.mark.parametrize("named", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"])
@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.BYPASS])
def test_rule_about_this_machine_holds_forevery_spelling(host: str, named: str, mode: Mode) -> None:
    rule = f"WebFetch(domain:{named})"

    assert effect_of(host, mode, deny=[rule], allow=["WebFetch"]) is Effect.DENY
    assert effect_of(host, mode, ask=[rule], allow=["WebFetch"]) is Effect.ASK
    assert effect_of(host, mode, allow=[rule]) is Effect.ALLOW


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1@example.com/", "http://example.com@127.0.0.1/", "http://127.0.0.1\\@example.com/"]
)
def test_name_before_the_host_does_not_hide_it(url: str) -> None:
    rules = policy(allow=["WebFetch"], deny=["WebFetch(domain:127.0.0.1)"])
    verdict = decide(Request(tool="WebFetch", input={"url": url}, cwd="/project", policy=rules))

    assert (verdict.effect is Effect.ALLOW) == (url == "http://127.0.0.1@example.com/")


@pytest.mark.parametrize("host", ["example.com", "8.8.8.8", "[2606:4700::1111]", "localhost.example.com"])
def test_public_host_is_allowed_with_the_tool(host: str) -> None:
    assert effect_of(host, allow=["WebFetch"]) is Effect.ALLOW
