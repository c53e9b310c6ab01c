"""Which servers may be connected at all: lists of allowed and denied ones, and whose lists count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.sources import Kind
from greenroom.mcp import Http, ServerConfig, ServerRules, ServerScope, Stdio, read_server_rules
from greenroom.mcp._server_rules import ServerPattern
from tests.mcp.project_files import Files, commands, servers

PROGRAM = ServerConfig(name="a", way=Stdio(command="npx", args=("-y", "it")))
ADDRESS = ServerConfig(name="b", way=Http(url="https://mcp.example.com/x"))


def rules(**lists: Any) -> ServerRules:
    keys = {"allowed": "allowedMcpServers", "denied": "deniedMcpServers"}
    values = {keys[name]: one for name, one in lists.items()}
    made, found = read_server_rules([(values, "s")], may_allow=frozenset("s"))
    assert found == ()
    return made


@pytest.mark.parametrize(
    ("entry", "fits"),
    [
        ({"serverName": "a"}, "a"),
        ({"serverName": "A"}, ""),
        ({"serverCommand": ["npx", "-y", "it"]}, "a"),
        ({"serverCommand": ["npx", "-y"]}, ""),
        ({"serverUrl": "https://mcp.example.com/x"}, "b"),
        ({"serverUrl": "https://*.example.com/*"}, "b"),
        ({"serverUrl": "https://*.example.org/*"}, ""),
    ],
    ids=str,
)
def test_an_entry_is_about_a_name_a_command_line_or_an_address(entry: dict[str, Any], fits: str) -> None:
    denied = rules(denied=[entry])
    allowed = rules(allowed=[entry])

    assert [one.name for one in (PROGRAM, ADDRESS) if denied.why_not(one)] == list(fits)
    assert [one.name for one in (PROGRAM, ADDRESS) if not allowed.why_not(one)] == list(fits)


def test_a_name_is_not_enough_where_command_lines_are_listed() -> None:
    """Anybody may call a server so."""
    both = rules(allowed=[{"serverName": "a"}, {"serverCommand": ["safe"]}, {"serverName": "b"}])

    assert both.why_not(PROGRAM) == "it is not listed in allowedMcpServers"
    assert both.why_not(ADDRESS) == ""


def test_a_plugins_server_is_named_in_either_form() -> None:
    one = ServerConfig(name="plugin_kit_all", way=Stdio(command="x"))
    assert all(rules(denied=[{"serverName": name}]).why_not(one) for name in ("plugin_kit_all", "plugin:kit:all"))


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")) | st.none(), st.sampled_from(ServerScope))
def test_denied_beats_allowed_and_an_administrators_need_no_leave(
    denied: list[str], allowed: list[str] | None, scope: ServerScope
) -> None:
    made = ServerRules(
        denied=tuple(ServerPattern(name=one) for one in denied),
        allowed=None if allowed is None else tuple(ServerPattern(name=one) for one in allowed),
    )
    for name in "abc":
        may = not made.why_not(ServerConfig(name=name, way=Stdio(command="x"), scope=scope))
        is_free = allowed is None or name in allowed or scope is ServerScope.MANAGED
        assert may is (name not in denied and is_free)


@pytest.mark.parametrize("entry", [{}, {"serverName": 1}, {"serverName": "a", "serverUrl": "b"}, {"x": "y"}, "a", None])
def test_what_cannot_be_read_fits_no_server_and_is_said(entry: object) -> None:
    values = {"allowedMcpServers": [entry], "deniedMcpServers": [entry]}
    made, found = read_server_rules([(values, "s")], may_allow=frozenset("s"))

    assert made == ServerRules(allowed=())
    assert [(one.kind, one.source) for one in found] == [(Kind.IGNORED, "s")] * 2


def test_denials_of_all_count_and_allowances_only_of_those_that_may() -> None:
    one = {"allowedMcpServers": [{"serverName": "a"}]}
    two = {"allowedMcpServers": [{"serverName": "b"}], "deniedMcpServers": [{"serverName": "a"}]}
    made, _ = read_server_rules([(one, "one"), (two, "two")], may_allow=frozenset({"one"}))

    assert made.allowed == (ServerPattern(name="a"),)
    assert made.denied == (ServerPattern(name="a"),)


def test_servers_of_all_places_are_held_against_them(files: Files, tmp_path: Path) -> None:
    files.write(".mcp.json", servers(a="x", b="x"))
    found = files.find(given=[servers(c="x")], rules=rules(allowed=[{"serverName": "a"}]))

    assert commands(found) == {"a": "x"}
    assert sorted(diagnostic.text for diagnostic in found.diagnostics) == [
        "server 'b' is not connected: it is not listed in allowedMcpServers",
        "server 'c' is not connected: it is not listed in allowedMcpServers",
    ]
    assert not found.rules.is_exclusive

    (tmp_path / "m").mkdir()
    (tmp_path / "m/managed-mcp.json").write_text(json.dumps(servers(m="x", n="x")))
    theirs = files.find(managed=(tmp_path / "m",), rules=rules(allowed=[], denied=[{"serverName": "n"}]))
    assert (commands(theirs), theirs.rules.is_exclusive) == ({"m": "x"}, True)
