"""Reading of gateway.json5: what loads, and every problem by its path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.cli import main
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._checks import agents_of
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._effective import effective_values
from greenroom.gateway.config._problems import Severity
from greenroom.gateway.config._reader import ConfigReading, read_config
from greenroom.gateway.config._values import Secret

SAMPLE: Final = """\
{
  agents: {
    defaults: {
      subagents: {
        maxConcurrent: 1,
      },
    },
  },
  tools: {
    subagents: {
      tools: {
        // deny wins
        deny: ["gateway", "cron"],
        // if allow is set, it becomes allow-only (deny still wins)
        // allow: ["read", "exec", "process"]
      },
    },
  },
}
"""
PLANTED: Final[dict[str, Any]] = {
    "gatway": {},
    "plugins": {},
    "gateway": {
        "port": 70_000,
        "bind": "everywhere",
        "auth": {"tokens": [{"name": "x", "token": {"env": "NOT_SET"}, "scopes": ["root"]}]},
        "drainSeconds": "long",
    },
    "agents": {
        "defaults": {"thinking": "loud", "subagents": {"announce": "shout", "maxSpawnDepth": 9}},
        "list": [
            {"id": "a", "default": True, "workspace": "file"},
            {"id": " A ", "default": True},
            {"id": "c", "subagents": {"maxConcurent": 3}, "identity": {}},
            {"name": "without an id"},
            {"id": "e", "model": {"fallbacks": []}},
        ],
    },
    "bindings": [{"agentId": "z", "match": {"channel": "irc"}}],
    "channels": {"irc": {"host": "irc.example.org", "nick": "n", "dmPolicy": "open"}},
    "cron": {"jobs": [{"id": "j", "message": "m", "schedule": {"cron": "* * *"}}]},
    "session": {"timezone": "Mars/Olympus"},
}
PATHS: Final = {
    "gatway",
    "plugins",
    "gateway.port",
    "gateway.bind",
    "gateway.auth.tokens[0].token",
    "gateway.auth.tokens[0].scopes[0]",
    "gateway.drainSeconds",
    "agents.defaults.thinking",
    "agents.defaults.subagents.announce.mode",
    "agents.defaults.subagents.maxSpawnDepth",
    "agents.list[0].workspace",
    "agents.list[1].id",
    "agents.list[1].default",
    "agents.list[2].subagents.maxConcurent",
    "agents.list[2].identity",
    "agents.list[3].id",
    "agents.list[4].model.primary",
    "channels.irc.dmPolicy",
    "cron.jobs[0].schedule.cron",
    "session.timezone",
}


def read(folder: Path, text: str, **environ: str) -> ConfigReading:
    path = folder / "gateway.json5"
    path.write_text(text, encoding="utf-8")
    return read_config(path, environ)


def config_of(reading: ConfigReading) -> GatewayConfig:
    assert reading.config is not None, reading.problems
    return reading.config


def lines(reading: ConfigReading) -> list[str]:
    return [str(problem) for problem in reading.problems]


@pytest.mark.promise("A19-a")
def test_an_empty_configuration_has_the_defaults(tmp_path: Path) -> None:
    config = config_of(read(tmp_path, "{}"))

    subagents = config.agents.defaults.subagents
    assert (subagents.max_concurrent, subagents.archive_after_minutes) == (8, 60)
    assert (subagents.model, subagents.thinking, subagents.allow_agents) == (None, None, None)
    assert list(agents_of(config)) == ["main"]
    assert config == GatewayConfig()


@pytest.mark.promise("A21-a")
def test_the_sample_loads_unchanged(tmp_path: Path) -> None:
    reading = read(tmp_path, SAMPLE)

    config = config_of(reading)
    assert reading.problems == ()
    assert config.agents.defaults.subagents.max_concurrent == 1
    assert config.tools.subagents.tools.deny == ("gateway", "cron")


@pytest.mark.promise("A19-b")
def test_an_unknown_key_is_refused_with_its_path(tmp_path: Path) -> None:
    reading = read(
        tmp_path, "{agents: {list: [{id: 'a', default: true}, {id: 'b'}, {id: 'c', subagents: {maxConcurent: 3}}]}}"
    )

    assert reading.config is None
    assert lines(reading) == [
        "gateway.json5: agents.list[2].subagents.maxConcurent: unknown key; did you mean maxConcurrent?"
    ]


@pytest.mark.promise("A19-c")
@pytest.mark.parametrize(("written", "width"), [("-3", 1), ("0", 1), ("2.5", 2), ('"x"', 8), ("null", 8), ("true", 8)])
def test_a_width_that_is_none_is_replaced_and_noted(tmp_path: Path, written: str, width: int) -> None:
    reading = read(tmp_path, f"{{agents: {{defaults: {{subagents: {{maxConcurrent: {written}}}}}}}}}")

    assert config_of(reading).agents.defaults.subagents.max_concurrent == width
    (problem,) = reading.problems
    assert (problem.path, problem.severity) == ("agents.defaults.subagents.maxConcurrent", Severity.NOTE)


@pytest.mark.promise("A19-d")
def test_an_archive_time_of_0_is_kept_as_never(tmp_path: Path) -> None:
    config = config_of(read(tmp_path, "{agents: {defaults: {subagents: {archiveAfterMinutes: 0}}}}"))

    assert config.agents.defaults.subagents.archive_after_minutes == 0


@pytest.mark.promise("A23-a")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{gateway: {port: 1}\n  agents}", "gateway.json5: line 2, column 3: unexpected 'a'"),
        ("", "gateway.json5: line 1, column 1: the file is empty; write {} for no settings"),
        ("[]", "gateway.json5: must hold one object, in braces"),
        ("{gateway: {port: 1, port: 2}}", "gateway.json5: gateway.port: the key stands twice in its object"),
        ("[" * 100_000, "gateway.json5: its brackets are nested more than 64 deep"),
        ("{a: '" + "x" * 2**20 + "'}", "gateway.json5: the configuration is larger than 256 KiB, its includes counted"),
        ("{gateway: {port: 99999999999999999999}}", "gateway.json5: gateway.port: must fit into 64 bits, got 99999999999999999999"),
        ("{gateway: {drainSeconds: Infinity}}", "gateway.json5: gateway.drainSeconds: must be a finite number, got Infinity"),
        ("{gateway: {drainSeconds: NaN}}", "gateway.json5: gateway.drainSeconds: must be a finite number, got NaN"),
        ("{plugins: {}}", "gateway.json5: plugins: is a key of OpenClaw that has no effect here"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    reading = read(tmp_path, text)

    assert reading.config is None
    assert lines(reading) == [said]


@pytest.mark.promise("A23-a")
@pytest.mark.parametrize("text", ["[" * 100_000, "{a: '" + "x" * 2**20 + "'}"])
def test_what_is_too_large_or_too_deep_is_never_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    import json5

    monkeypatch.setattr(json5, "parse", lambda *_, **__: pytest.fail("it was parsed"))

    assert read(tmp_path, text).config is None


@pytest.mark.promise("A23-b")
def test_each_of_twenty_planted_problems_is_reported_at_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    reading = read(tmp_path, json.dumps(PLANTED))

    assert len(PATHS) == 20
    assert sorted(problem.path for problem in reading.problems) == sorted(PATHS)


@pytest.mark.promise("A23-c")
def test_a_check_leaves_the_file_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GW-01: nothing opens the configuration file for writing."""
    for text in (SAMPLE, json.dumps(PLANTED), "{"):
        path = tmp_path / "gateway.json5"
        path.write_text(text)
        before = path.stat()

        code = main(["gateway", "check", "--config", str(path), "--effective"])

        assert code == (0 if text == SAMPLE else 1)
        assert (path.read_text(), path.stat().st_mtime_ns) == (text, before.st_mtime_ns)
    assert "agents.defaults.subagents.maxConcurrent = 1  (gateway.json5)" in capsys.readouterr().out


@pytest.mark.promise("A23-d")
@pytest.mark.parametrize(
    "text",
    [
        "{channels: {irc: {host: 'h', nick: 'n', password: 'PLANTED'}}}",
        "{channels: {irc: {host: 'h', nick: 'n', password: '${HIDDEN}'}}}",
        "{channels: {irc: {host: 'h', nick: 'n', password: {env: 'HIDDEN'}}}}",
        "{channels: {irc: {host: 'h', nick: 'n', password: ['PLANTED']}}}",
        "{channels: {irc: {host: 'h', nick: 'n', passwort: 'PLANTED'}}}",
        "{channels: {irc: {host: '${HIDDEN}', nick: 'n', dmPolicy: '${HIDDEN}'}}}",
        "{gateway: {auth: {tokens: ['PLANTED']}}}",
        "{gateway: {auth: 'PLANTED'}}",
        "{gateway: {auth: {tokens: [{name: 'a', token: 'PLANTED', scopes: 'PLANTED'}]}}}",
        "{models: {providers: {anthropic: {apiKey: 'PLANTED'}, other: 'PLANTED'}}}",
        "{agents: {defaults: {env: {KEY: 'PLANTED'}}}}",
        "{gateway: {state: '${HIDDEN}', bind: '${HIDDEN}'}}",
    ],
)
def test_no_output_of_a_check_shows_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setenv("HIDDEN", "PLANTED")
    path = tmp_path / "gateway.json5"
    path.write_text(text)

    for options in ([], ["--effective"], ["--effective", "--json"]):
        main(["gateway", "check", "--config", str(path), *options])

    printed = capsys.readouterr()
    assert "PLANTED" not in printed.out + printed.err
    assert "PLANTED" not in repr(read_config(path, {"HIDDEN": "PLANTED"}))


def test_a_secret_that_cannot_be_had_is_a_problem(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.write_text("x")
    shared.chmod(0o644)
    private = tmp_path / "private"
    private.write_text("x")
    private.chmod(0o600)

    def problem(reference: object) -> list[str]:
        secret = {"name": "t", "token": reference}
        return [
            found.text for found in read(tmp_path, json.dumps({"gateway": {"auth": {"tokens": [secret]}}})).problems
        ]

    assert problem({"env": "MISSING"}) == ["the variable 'MISSING' is not set"]
    assert "others can read" in problem({"file": str(shared)})[0]
    assert "there is no file" in problem({"file": "missing"})[0]
    assert "is not a regular file" in problem({"file": str(tmp_path)})[0]
    assert problem({"file": str(private)}) == []
    assert problem({"file": "private"}) == []
    assert "there is no program" in problem({"exec": ["missing-program"]})[0]


def test_variables_stand_in_texts_of_values(tmp_path: Path) -> None:
    reading = read(tmp_path, "{messages: {prefix: '[${NAME}] $${NAME}'}}", NAME="n")

    assert config_of(reading).messages.prefix == "[n] ${NAME}"
    (missing,) = read(tmp_path, "{messages: {prefix: '${NAME}'}}").problems
    assert missing.path == "messages.prefix"
    assert "NAME is not set" in missing.text


def test_an_include_stands_for_what_its_file_holds(tmp_path: Path) -> None:
    (tmp_path / "agents.json5").write_text("[{id: 'a', default: true}, {id: 'b', wrong: 1}]")

    reading = read(tmp_path, "{agents: {list: {$include: 'agents.json5'}}}")

    assert lines(reading) == ["agents.json5: agents.list[1].wrong: unknown key"]
    assert [path.name for path in reading.files] == ["gateway.json5", "agents.json5"]


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("{$include: 'gateway.json5'}", '["$include"]', "is the file itself"),
        ("{$include: 'circle.json5'}", "$include", "in a circle"),
        ("{$include: 'deeper.json5'}", "$include", "cannot include another"),
        ("{$include: '../other.json5'}", "$include", "must be below the folder"),
        ("{$include: '/etc/passwd'}", "$include", "must be below the folder"),
        ("{$include: 'missing.json5'}", "", "does not exist"),
        ("{$include: 'link.json5'}", "$include", "circle of links"),
        ("{$include: 3}", "$include", "must be the name"),
        ("{$include: 'door.json5', gateway: {}}", "gateway", "stands here and in"),
    ],
)  # fmt: skip
def test_an_include_that_cannot_be_used_is_a_problem(tmp_path: Path, text: str, path: str, said: str) -> None:
    (tmp_path / "circle.json5").write_text("{$include: 'gateway.json5'}")
    (tmp_path / "deeper.json5").write_text("{$include: 'door.json5'}")
    (tmp_path / "door.json5").write_text("{gateway: {port: 1}}")
    (tmp_path / "link.json5").symlink_to(tmp_path / "link.json5")

    reading = read(tmp_path, text)

    assert reading.config is None
    (problem,) = reading.problems
    assert said in problem.text
    assert problem.path == path.strip('[]"')


def test_several_agents_without_a_default_are_a_problem(tmp_path: Path) -> None:
    reading = read(tmp_path, "{agents: {list: [{id: 'a'}, {id: 'b'}]}}")

    assert lines(reading) == ["gateway.json5: agents.list: one of the agents must have default: true"]


def test_one_session_of_many_people_is_warned_of(tmp_path: Path) -> None:
    reading = read(tmp_path, "{session: {dmScope: 'main'}, channels: {irc: {host: 'h', nick: 'n'}}}")

    assert reading.config is not None
    assert [(found.path, found.severity) for found in reading.problems] == [("session.dmScope", Severity.WARNING)]


def test_effective_values_name_who_said_them(tmp_path: Path) -> None:
    (tmp_path / "tools.json5").write_text("{deny: ['exec']}")
    reading = read(tmp_path, "{tools: {$include: 'tools.json5'}, session: {reset: 'daily'}}")

    values = {each.path: (each.value, each.origin) for each in effective_values(reading)}

    assert values["tools.deny"] == (["exec"], "tools.json5")
    assert values["session.reset.mode"] == ("daily", "gateway.json5")
    assert values["session.closeAfterMinutes"] == (10, "default")


def test_a_secret_never_shows_itself() -> None:
    secret = Secret("text", ("PLANTED",))

    assert "PLANTED" not in f"{secret!r} {secret} {[secret]!r} {secret.place}"


@pytest.mark.parametrize(
    ("written", "id_"),
    [
        (" Research ", "research"),
        ("a b/c", "a-b-c"),
        ("--x--", "x"),
        ("_x", "x"),
        ("", "main"),
        ("\u05d0\u05d1", "main"),
        ("a" * 70, "a" * 64),
    ],
)
def test_an_agent_id_has_one_form(written: str, id_: str) -> None:
    assert normal_agent_id(written) == id_


@given(st.text())
def test_the_form_of_an_agent_id_is_stable(text: str) -> None:
    once = normal_agent_id(text)

    assert normal_agent_id(once) == once
    assert 1 <= len(once) <= 64


VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
SECTIONS: Final = (
    "gateway",
    "agents",
    "bindings",
    "session",
    "channels",
    "messages",
    "tools",
    "models",
    "cron",
    "limits",
)


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json5"
    path.write_text(text, encoding="utf-8", errors="replace")

    reading = read_config(path, {})

    assert (reading.config is None) == any(found.severity is Severity.PROBLEM for found in reading.problems)


@given(st.dictionaries(st.sampled_from(SECTIONS), VALUES), st.data())
def test_a_planted_key_is_reported_wherever_it_stands(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any], data: st.DataObject
) -> None:
    """Whatever else is wrong with the file."""
    path = tmp_path_factory.getbasetemp() / "planted.json5"
    section = data.draw(st.sampled_from(["gateway", "session", "tools", "limits"]))
    kept = values.get(section)
    values[section] = {**(kept if isinstance(kept, dict) else {}), "planted": 1}
    path.write_text(json.dumps(values), encoding="utf-8")

    reading = read_config(path, {})

    assert f"{section}.planted" in {problem.path for problem in reading.problems}


def test_a_named_workspace_that_is_missing_is_said_and_one_that_would_be_made_is_not(tmp_path: Path) -> None:
    reading = read(tmp_path, "{agents: {defaults: {workspace: 'rooms'}, list: [{id: 'a', workspace: 'typo'}]}}")

    assert config_of(reading).agents.list[0].workspace == "typo"
    assert [each.path for each in reading.problems] == ["agents.list[0].workspace"]
    assert "there is no folder" in lines(reading)[0]
