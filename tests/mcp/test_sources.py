"""Where servers are written: every form of an entry, whose entry counts, what is said of those that do not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.core.sources import Kind
from greenroom.core.sources._plugin_folders import read_plugin
from greenroom.mcp import Http, McpSettings, ServerScope, Stdio, parse_server, with_environment
from greenroom.mcp._configs import OAuth
from greenroom.mcp._entry_parser import ParsedServer
from tests.mcp.project_files import Files, commands, servers

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["type", "command", "args", "env", "cwd", "url", "headers", "timeout", "alwaysLoad", "oauth", "headersHelper", "x"]
)


def parse(entry: object, environ: Mapping[str, str] | None = None, name: str = "s") -> ParsedServer:
    return parse_server(name, entry, scope=ServerScope.PROJECT, source=".mcp.json", environ=environ or {})


# --- one entry --------------------------------------------------------------------------------------------------------


@given(st.text(max_size=12), JSON | st.dictionaries(KEYS, JSON | st.sampled_from(["stdio", "http", "${A}"])))
def test_whatever_stands_in_an_entry_is_a_server_or_one_line(name: str, entry: object) -> None:
    parsed = parse(entry, name=name)

    assert (parsed.config is None) == (parsed.broken is not None)
    for diagnostic in parsed.diagnostics:
        assert "\n" not in str(diagnostic)
        assert repr(name) in diagnostic.text


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"command": "npx"}, Stdio(command="npx")),
        (
            {"type": "stdio", "command": "${P}/x", "args": ["-a", "${Q:-q r}"], "env": {"T": "${T}"}},
            Stdio(command="/bin/x", args=("-a", "q r"), env={"T": "secret"}),
        ),
        ({"type": "http", "url": "https://h/mcp"}, Http(url="https://h/mcp")),
        ({"type": "streamable-http", "url": "https://h/mcp"}, Http(url="https://h/mcp")),
        (
            {"type": "sse", "url": "http://${H:-h}/sse", "headers": {"Authorization": "Bearer ${T}"}},
            Http(url="http://h/sse", headers={"Authorization": "Bearer secret"}, dialect="sse"),
        ),
        (
            {
                "type": "http",
                "url": "http://h",
                "oauth": {"clientId": "${P}", "callbackPort": 8080, "scopes": ["a", "b"]},
            },
            Http(url="http://h", oauth=OAuth(client_id="/bin", callback_port=8080, scope="a b")),
        ),
        (
            {"type": "ws", "url": "wss://${H:-h}/mcp", "headers": {"A": "${T}"}, "headersHelper": "x"},
            Http(url="wss://h/mcp", headers={"A": "secret"}, dialect="ws", headers_helper="x"),
        ),
    ],
)
def test_every_form_is_read(entry: object, expected: object) -> None:
    parsed = parse(entry, {"P": "/bin", "T": "secret"})

    assert parsed.config is not None
    assert parsed.config.way == expected
    assert parsed.diagnostics == ()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"url": "https://h"}, 'has a url and no type; add "type": "http"'),
        ({}, "must have a command or a url"),
        ([], "must be an object"),
        ({"url": "wss://h"}, 'has a url and no type; add "type": "ws"'),
        ({"type": "grpc", "url": "wss://h"}, "has the unsupported type 'grpc'; expected stdio, http, sse or ws"),
        ({"type": "ws", "url": "https://h"}, "has an invalid url: expected ws or wss, got 'https://h'"),
        ({"type": "ws", "url": "ws://h:99999"}, "has an invalid url: expected ws or wss"),
        ({"type": "http", "url": "ws://h"}, "has an invalid url: expected http or https"),
        ({"type": "sdk"}, "reserved for embedding programs"),
        ({"type": ["http"]}, "has the unsupported type ['http']"),
        ({"command": "  "}, "has an invalid command: expected a string, got '  '"),
        ({"command": "x", "args": "-a"}, "has invalid args: expected a list of strings"),
        ({"command": "x", "env": {"A": 1}}, "has invalid env: expected an object of strings"),
        ({"command": "a\0b"}, "contains a NUL character"),
        ({"command": "x", "cwd": "here"}, "has an invalid cwd: expected an absolute path, got 'here'"),
        ({"type": "http", "url": "h/mcp"}, "has an invalid url: expected http or https, got 'h/mcp'"),
        ({"type": "http", "url": "http://${T}"}, "has an invalid url: expected http or https, got 'http://${T}'"),
        ({"type": "http", "url": "http://h", "headers": {"A": "b\nC: d"}}, "has headers with characters"),
        (
            {"type": "http", "url": "http://h", "headersHelper": ["x"]},
            "has an invalid headersHelper: expected a command, got ['x']",
        ),
        ({"type": "http", "url": "http://h", "oauth": "x"}, "has invalid oauth: expected an object"),
        ({"type": "http", "url": "http://h", "oauth": {"clientId": 3}}, "has invalid oauth: clientId must be a string"),
        ({"type": "http", "url": "http://h", "oauth": {"clientSecret": "s"}}, "without a clientId and the issuer"),
        (
            {"type": "http", "url": "http://h", "oauth": {"callbackPort": "8080"}},
            "callbackPort must be a number up to 65535, got '8080'",
        ),
        (
            {"type": "http", "url": "http://h", "oauth": {"callbackPort": 70_000}},
            "callbackPort must be a number up to 65535, got 70000",
        ),
        (
            {"type": "http", "url": "http://h", "oauth": {"callbackPort": True}},
            "callbackPort must be a number up to 65535, got True",
        ),
    ],
)
def test_what_cannot_be_used_says_why_and_shows_no_secret(entry: object, says: str) -> None:
    parsed = parse(entry, {"T": "a secret"})

    assert parsed.broken is not None
    assert says in parsed.broken.message
    assert parsed.broken.message.startswith(".mcp.json: broken: server 's' ")
    assert "secret" not in parsed.broken.message


@pytest.mark.parametrize("name", ["", "  ", "workspace", "greenroom"])
def test_some_names_cannot_be_had(name: str) -> None:
    assert parse({"command": "x"}, name=name).config is None


def test_a_websocket_has_no_login_in_a_browser() -> None:
    parsed = parse({"type": "ws", "url": "ws://h", "oauth": {"clientId": "c"}})

    assert parsed.config is not None
    assert (parsed.config.type, parsed.config.is_remote) == ("ws", True)
    assert ["oauth has no effect here" in diagnostic.text for diagnostic in parsed.diagnostics] == [True]


def test_a_variable_that_is_not_set_stays_and_is_named() -> None:
    """Behaviours (12), line 7."""
    parsed = parse({"command": "x", "env": {"A": "${TOKEN}", "B": "${TOKEN:-x}", "C": "${EMPTY:-x}"}}, {"EMPTY": ""})

    assert parsed.config is not None
    assert isinstance(parsed.config.way, Stdio)
    assert parsed.config.way.env == {"A": "${TOKEN}", "B": "x", "C": ""}
    (diagnostic,) = parsed.diagnostics
    assert diagnostic.kind is Kind.IGNORED
    assert "env.A: ${TOKEN} is not set and is left as written" in diagnostic.text


def test_what_has_no_effect_is_said() -> None:
    parsed = parse(
        {"type": "http", "url": "http://h", "timeout": 5, "oauth": {"xaa": True}, "alwaysLoad": 1, "cmd": "x"}
    )

    assert parsed.config is not None
    assert (parsed.config.timeout_s, parsed.config.always_load) == (None, False)
    assert len(parsed.diagnostics) == 4
    assert (
        parse({"command": "x", "timeout": 2_500, "alwaysLoad": True}).config
        == parse({"command": "x", "timeout": 2_500.0, "alwaysLoad": True}).config
    )


# --- all places -------------------------------------------------------------------------------------------------------


def test_the_nearest_whose_it_is_wins(files: Files) -> None:
    files.write("~/.claude.json", {**servers(a="user", u="user"), "projects": {str(files.root): servers(a="local")}})
    files.write("~/.greenroom/settings.json", servers(u="own user"))
    files.write(".mcp.json", servers(a="project", p="project", q="project"))
    files.write("deep/.mcp.json", servers(p="nearer"))
    files.write(".greenroom/settings.json", servers(q="own project"))
    files.write(".greenroom/settings.local.json", servers(x="own local"))

    assert commands(files.find()) == {
        "x": "own local",
        "a": "local",
        "p": "nearer",
        "q": "own project",
        "u": "own user",
    }
    assert commands(files.find(given=[servers(a="given")])) == {**commands(files.find()), "a": "given"}
    assert commands(files.find(given=['{"mcpServers": {"a": {"command": "text"}}}'], only_given=True)) == {"a": "text"}


def test_an_entry_counts_as_a_whole(files: Files) -> None:
    """Behaviours (12), line 5."""
    files.write(".mcp.json", {"mcpServers": {"a": {"command": "x", "args": ["-v"], "env": {"A": "b"}}}})
    files.write(".greenroom/settings.local.json", servers(a="y"))
    found = files.find()

    (config,) = found.configs
    assert config.way == Stdio(command="y")
    (diagnostic,) = found.diagnostics
    assert diagnostic.kind is Kind.SHADOWED


def test_a_broken_file_or_entry_takes_nothing_else_away(files: Files) -> None:
    files.write("deep/.mcp.json", '{"mcpServers": {,}}')
    files.write(".mcp.json", {"mcpServers": {"bad": {"url": "http://h"}, "good": {"command": "x"}, "worse": 3}})
    files.write("~/.claude.json", "[]")
    files.write("~/.greenroom/settings.json", {"mcpServers": "none"})
    found = files.find(given=["no such file.json"])

    assert commands(found) == {"good": "x"}
    assert [(one.name, one.type) for one in found.broken] == [("bad", ""), ("worse", "")]
    assert len(found.diagnostics) == 6
    assert {diagnostic.kind for diagnostic in found.diagnostics} == {Kind.BROKEN}
    assert [diagnostic.line for diagnostic in found.diagnostics if diagnostic.line] == [1]


def test_a_project_waits_for_approval_where_somebody_can_be_asked(files: Files) -> None:
    files.write(".mcp.json", servers(a="x", b="x", c="x"))
    files.write(".claude/settings.json", {"enableAllProjectMcpServers": True, "disabledMcpjsonServers": ["c"]})
    files.write(".claude/settings.local.json", {"enabledMcpjsonServers": ["a"]})

    assert list(commands(files.find())) == ["a", "b"]  # nobody there who could ever say yes
    asked = files.find(can_ask=True)
    assert list(commands(asked)) == ["a"]
    assert [(one.config.name, one.why.partition(":")[0]) for one in asked.disabled] == [
        ("b", "it is not approved"),
        ("c", "it is listed in disabledMcpjsonServers"),
    ]
    (note,) = asked.diagnostics
    assert "a project cannot approve its own servers" in note.text

    files.write("~/.claude/settings.json", {"enableAllProjectMcpServers": True})
    assert list(commands(files.find(can_ask=True))) == ["a", "b"]


def test_plugins_and_administrators(files: Files, tmp_path: Path) -> None:
    files.write(".mcp.json", servers(a="x"))
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    (plugin / ".mcp.json").write_text('{"s": {"command": "${CLAUDE_PLUGIN_ROOT}/s", "args": ["${TOKEN}"]}}')
    managed = tmp_path / "managed"
    managed.mkdir()
    (plugin / ".claude-plugin").mkdir()
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "p"}')
    plugins = (read_plugin(plugin),)

    assert commands(files.find(plugins=plugins, managed=(managed,))) == {"a": "x", "plugin_p_s": f"{plugin}/s"}
    (managed / "managed-mcp.json").write_text(json.dumps(servers(m="only")))
    assert commands(files.find(plugins=plugins, managed=(managed,), given=[servers(g="x")])) == {"m": "only"}
    assert commands(files.find(managed=(managed,), only_given=True)) == {"m": "only"}
    (managed / "managed-mcp.json").write_text('{"mcpServers": {}}')
    assert commands(files.find(plugins=plugins, managed=(managed,), given=[servers(g="x")])) == {}


def test_a_program_of_a_plugin_is_given_its_folders(files: Files, tmp_path: Path) -> None:
    """As variables too; what the entry itself says of one counts."""
    plugin = tmp_path / "kit"
    plugin.mkdir()
    entries = {"s": {"command": "x", "env": {"CLAUDE_PLUGIN_DATA": "mine"}}, "h": {"type": "http", "url": "http://h"}}
    (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": entries}))
    program, address = (config.way for config in files.find(plugins=(read_plugin(plugin),)).configs)

    assert isinstance(program, Stdio)
    assert program.env == {
        "CLAUDE_PLUGIN_ROOT": str(plugin),
        "GREENROOM_PLUGIN_ROOT": str(plugin),
        "CLAUDE_PLUGIN_DATA": "mine",
        "GREENROOM_PLUGIN_DATA": str(files.home / ".greenroom/plugins/data/kit"),
    }
    assert isinstance(address, Http)


def test_an_administrators_settings_may_name_the_servers_and_approve_those_of_projects(
    files: Files, tmp_path: Path
) -> None:
    files.write(".mcp.json", servers(a="x", b="x"))
    managed = tmp_path / "managed"
    managed.mkdir()
    policy = managed / "managed-settings.json"
    policy.write_text('{"enabledMcpjsonServers": ["a"], "disabledMcpjsonServers": ["b"]}')
    assert commands(files.find(managed=(managed,), can_ask=True)) == {"a": "x"}

    policy.write_text(json.dumps(servers(m="only")))
    assert commands(files.find(managed=(managed,), given=[servers(g="x")])) == {"m": "only"}


# --- settings ---------------------------------------------------------------------------------------------------------


def test_people_s_variables_are_read_and_ours_come_first() -> None:
    environ = {
        "MCP_TIMEOUT": "5000",
        "GREENROOM_MCP_TIMEOUT": "7000",
        "MCP_TOOL_TIMEOUT": "90000",
        "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT": "0",
        "MAX_MCP_OUTPUT_TOKENS": "10",
    }
    settings, found = with_environment(McpSettings(), environ)

    assert settings == McpSettings(
        start_timeout_s=7, call_timeout_s=90, idle_network_s=0, idle_stdio_s=0, output_tokens=10
    )
    assert found == ()
    assert (settings.output_chars, settings.idle_s(is_stdio=True)) == (40, float("inf"))


@given(st.text(max_size=20))
@example("0")
@example("-1")
@example("1e3")
@example("²")
@example("0\x1f")
@example("7\x1f")
@example("\x1c7\u2028")
def test_a_variable_that_says_nonsense_changes_nothing(text: str) -> None:
    settings, found = with_environment(McpSettings(), {"MCP_TIMEOUT": text})

    said = text.strip()  # of more than `int` takes off, such as U+001F
    is_number = re.fullmatch("[0-9]{1,15}", said) is not None and int(said) > 0
    assert (settings == McpSettings(start_timeout_s=int(said) / 1000)) if is_number else (settings == McpSettings())
    assert len(found) == (0 if is_number or not said else 1)
