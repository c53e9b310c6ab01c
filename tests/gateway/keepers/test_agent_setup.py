"""The setup of an agent id: context files, brief, credentials, sandbox, tools."""

from __future__ import annotations

import json
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom.containment import ChildKind, Sandbox, SandboxSettings, child_environment
from greenroom.core import UsageError
from greenroom.core.ports import InlineBlocking
from greenroom.core.validation import read_settings
from greenroom.gateway._gateway import open_gateway
from greenroom.gateway.config._agents import AgentConfig, AgentsConfig, DefaultAgent, SandboxConfig
from greenroom.gateway.config._clock_and_limits import SecretsConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._reader import read_config
from greenroom.gateway.config._sections import CostConfig, ModelsConfig, ProviderConfig, ProviderModel
from greenroom.gateway.config._values import ModelSetting, Secret
from greenroom.gateway.keepers._agent_setup import AgentSetup, agent_of, lane_of, other_workspaces
from greenroom.gateway.keepers._context_files import MAX_CHARS, OF_ALL, read_prompt, shortened
from greenroom.gateway.keepers._credentials import credential_variables, find_credential, read_profiles
from greenroom.gateway.process._gateway_models import GatewayModels
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.gateway.process._secret_reader import SecretReader
from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.models import AnthropicModel, Call, ScriptedModel, Usage
from greenroom.session import open_session
from greenroom.session.settings._session_settings import SessionSettings
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.gateway.keepers.keeping import uuid

MAIN = SessionKey("research")
CHILD = SessionKey.parse(f"agent:research:subagent:{uuid(1)}")
OTHER = SessionKey.parse(f"agent:research:subagent:{uuid(2)}")


def row(key: SessionKey, **values: Any) -> SessionRow:
    return SessionRow(key=str(key), session_id=uuid(9), made_s=0, used_s=0, **values)


def workspace(folder: Path) -> Path:
    for name in (*OF_ALL, "CLAUDE.md"):
        (folder / name).write_text(f"text of {name}")
    return folder


@pytest.mark.promise("A9-a")
def test_a_child_reads_two_of_the_context_files_and_others_all_in_order(tmp_path: Path) -> None:
    """GW-12: which context files are read depends on the kind of the session."""
    folder = workspace(tmp_path)

    child, main = read_prompt(folder, CHILD, row(CHILD)), read_prompt(folder, MAIN, row(MAIN))

    assert [name for name in OF_ALL if f"text of {name}" in child] == ["AGENTS.md", "TOOLS.md"]
    places = [main.index(f"text of {name}") for name in OF_ALL]
    assert places == sorted(places)
    assert "CLAUDE.md" not in child + main


@pytest.mark.promise("A9-c", "A9-d")
def test_prompts_of_two_children_differ_only_in_their_last_lines(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    said = {"label": "count", "spawned_by": "agent:research:main"}

    first = read_prompt(folder, CHILD, row(CHILD, **said)).splitlines()
    second = read_prompt(folder, OTHER, row(OTHER, **said)).splitlines()

    assert first[:-1] == second[:-1]
    assert first[-3:] == ["Label: count", "Requester session: agent:research:main", f"Your session: {CHILD}"]


@pytest.mark.parametrize("size", [0, 1, MAX_CHARS, MAX_CHARS + 1, 10 * MAX_CHARS])
def test_a_long_file_keeps_its_head_and_tail(size: int) -> None:
    text = "".join(chr(97 + at % 26) for at in range(size))

    short = shortened(text)

    if size <= MAX_CHARS:
        assert short == text
    else:
        head, said, tail = short.split("\n")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) == MAX_CHARS
        assert str(size - MAX_CHARS) in said


# --- credentials --------------------------------------------------------------------------------------------------------


def profiles(state: Path, agent: str, **keys: Any) -> Path:
    path = state / "agents" / agent / "agent" / "auth-profiles.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {f"{name}:default": {"type": "api_key", "key": key} for name, key in keys.items()}
    path.write_text(json.dumps({"version": 1, "profiles": values}))
    path.chmod(0o600)
    return path


@pytest.mark.promise("A9-b")
@pytest.mark.parametrize(
    ("own", "main", "configured", "expected"),
    [
        ("own", "main", "configured", "own"),
        ("own", None, None, "own"),
        (None, "main", "configured", "main"),
        (None, None, "configured", "configured"),
        (None, None, None, None),
    ],
)
def test_an_agents_own_profile_comes_before_the_main_agents(
    tmp_path: Path, own: str | None, main: str | None, configured: str | None, expected: str | None
) -> None:
    """GW-11: credentials are found by agent id, then those of the main agent."""
    key = None if configured is None else Secret("text", (configured,))
    config = GatewayConfig(models=ModelsConfig(providers={"anthropic": ProviderConfig(api_key=key)}))
    for agent, value in (("research", own), ("main", main)):
        if value is not None:
            profiles(tmp_path, agent, other="x", anthropic=value)

    found = find_credential(config, "research", "anthropic", state_folder=tmp_path, base=tmp_path)

    assert found == (None if expected is None else Secret("text", (expected,)))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"version": 2, "profiles": {}}',
        '{"version": 1, "profiles": []}',
        '{"version": 1, "profiles": {"anthropic": {"type": "api_key", "key": "s3cret"}}}',
        '{"version": 1, "profiles": {"anthropic:a": {"type": "oauth", "key": "s3cret"}}}',
        '{"version": 1, "profiles": {"anthropic:a": {"type": "api_key", "key": {"env": "s3cret", "file": "x"}}}}',
        "[" * 100_000,
    ],
)
def test_a_broken_file_of_profiles_is_named_and_no_other_stands_in(tmp_path: Path, text: str) -> None:
    profiles(tmp_path, "main", anthropic="main")
    path = profiles(tmp_path, "research")
    path.write_text(text)

    with pytest.raises(UsageError, match=r"auth-profiles\.json") as caught:
        find_credential(GatewayConfig(), "research", "anthropic", state_folder=tmp_path, base=tmp_path)
    assert "s3cret" not in str(caught.value)


def test_profiles_that_others_can_read_are_refused(tmp_path: Path) -> None:
    path = profiles(tmp_path, "main", anthropic="x")
    path.chmod(0o640)

    with pytest.raises(UsageError, match="chmod 600"):
        read_profiles(path)


@pytest.mark.promise("A9-b", "A21-d")
@pytest.mark.parametrize("own", [None, "own-key-0123456789"])
def test_an_agents_sessions_use_its_own_key_and_else_the_main_agents(tmp_path: Path, own: str | None) -> None:
    profiles(tmp_path, "main", anthropic="main-key-0123456789", acme="acme-key-0123456789")
    profiles(tmp_path, "research", **({} if own is None else {"anthropic": own}))
    config = GatewayConfig(
        models=ModelsConfig(
            providers={"acme": ProviderConfig(base_url="https://acme.example"), "none": ProviderConfig()}
        )
    )
    secrets = SecretReader(lambda: config, folder=tmp_path, environ={}, blocking=InlineBlocking())
    models = GatewayModels(lambda: config, secrets, state_folder=tmp_path, base=tmp_path, environ={})

    def key(agent: str, reference: str) -> str:
        model = models.open_model(agent, reference)
        assert isinstance(model, AnthropicModel)
        assert models.open_model(agent, reference) is model
        return str(model._api_key)

    assert key("research", "sonnet") == (own or "main-key-0123456789")
    assert key("main", "anthropic/claude-opus-5") == "main-key-0123456789"
    assert key("research", "acme/large") == "acme-key-0123456789"
    assert secrets.mask("acme-key-0123456789") == "*" * 19
    with pytest.raises(UsageError, match="NONE_API_KEY"):  # or the key of another provider would be sent there
        models.open_model("research", "none/large")


@pytest.mark.promise("A9-b")
@pytest.mark.parametrize(
    ("key", "expected"),
    [("profile-key-0123", "profile-key-0123"), (None, "environ-key-0123"), ({"env": "NOT_SET"}, "")],
)
def test_a_variable_of_the_gateway_comes_behind_all_profiles(tmp_path: Path, key: Any, expected: str) -> None:
    profiles(tmp_path, "main", **({} if key is None else {"anthropic": key}))
    config, environ = GatewayConfig(), {"ANTHROPIC_API_KEY": "environ-key-0123"}
    secrets = SecretReader(lambda: config, folder=tmp_path, environ=environ, blocking=InlineBlocking())
    models = GatewayModels(lambda: config, secrets, state_folder=tmp_path, base=tmp_path, environ=environ)

    if expected:
        model = models.open_model("main", "sonnet")
        assert isinstance(model, AnthropicModel)
        assert model._api_key == expected
    else:  # a profile that cannot be read does not allow another key
        with pytest.raises(UsageError, match="NOT_SET"):
            models.open_model("main", "sonnet")


# --- models -------------------------------------------------------------------------------------------------------------

PRICED = GatewayConfig(
    agents=AgentsConfig(
        defaults=DefaultAgent(model=ModelSetting(primary="sonnet", fallbacks=("haiku", "gone", "acme/x")))
    ),
    models=ModelsConfig(
        providers={
            "acme": ProviderConfig(
                models=(ProviderModel(id="x", cost=CostConfig(input=Decimal(3), output=Decimal(4))),)
            )
        }
    ),
)


def setup_of(**settings: Any) -> AgentSetup:
    return AgentSetup(config=PRICED, agent=AgentConfig(id="research"), row=row(MAIN, settings=settings), key=MAIN)


def test_fallbacks_and_prices_of_the_configuration_are_in_the_settings_of_sessions() -> None:
    settings = read_settings(SessionSettings, setup_of().settings(), source="gateway").models

    assert settings is not None
    assert settings.fallbacks == ("claude-haiku-5-5", "acme/x")
    assert settings.pricing.cost("acme/x", Usage(1_000_000, 1_000_000)) == 7
    assert setup_of(model="opus").model == ModelSetting(primary="opus")
    assert setup_of(model="opus", fallbacks=["haiku"]).model.fallbacks == ("claude-haiku-5-5",)


@pytest.mark.parametrize(
    ("settings", "thinking", "effort"),
    [
        ({}, None, None),
        ({"thinking": "off"}, "disabled", None),
        ({"thinking": "minimal"}, "adaptive", "low"),
        ({"thinking": "max"}, "adaptive", "max"),
        ({"thinking": "max", "model": "claude-haiku-4-5-20251001"}, None, None),
        ({"thinking": "off", "model": "anthropic/claude-haiku-4-5"}, "disabled", None),
    ],
)
def test_a_level_of_thinking_is_an_effort_and_off_is_none(
    settings: dict[str, Any], thinking: str | None, effort: str | None
) -> None:
    setup = setup_of(**settings)

    made = read_settings(SessionSettings, setup.settings(), source="gateway").models

    assert made is not None
    assert (made.thinking and made.thinking.mode) == thinking
    assert setup.definition("prompt", (), {}).effort == effort


@pytest.mark.promise("A9-e")
def test_variables_of_secrets_reach_no_program_of_a_session(tmp_path: Path) -> None:
    path = profiles(tmp_path, "main", anthropic={"env": "PROFILE_PLACE"})
    config = GatewayConfig(
        models=ModelsConfig(providers={"acme": ProviderConfig(api_key=Secret("env", ("ACME_PLACE",)))}),
        secrets=SecretsConfig(withhold=("HOUSE_*",)),
    )
    named = credential_variables(config, "research", state_folder=tmp_path, base=tmp_path)
    setup = AgentSetup(
        config=config,
        agent=AgentConfig(id="research", env={"MINE": "1"}),
        row=row(MAIN),
        key=MAIN,
        secret_variables=named,
    )
    settings = setup.settings()

    environ = {
        **dict.fromkeys(
            ("PROFILE_PLACE", "ACME_PLACE", "HOUSE_NUMBER", "GREENROOM_GATEWAY_TOKEN", "ANTHROPIC_API_KEY"), "s3cret"
        ),
        "EDITOR": "vi",
    }
    for kind, kept in ((ChildKind.COMMAND, {"EDITOR": "vi"}), (ChildKind.SERVER, {})):
        made = child_environment(kind, environ, named=settings["env"], passed=(*settings["pass_env"], "PROFILE_*"))
        assert made == {**kept, "MINE": "1"}
    assert path.exists()


async def test_a_withheld_variable_is_masked_and_no_command_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_PLACE", "s3cret-value-0123456789")
    (tmp_path / "leaked.txt").write_text("s3cret-value-0123456789 and another-value-0123456789")
    model = ScriptedModel(
        [
            [
                Call("Bash", {"command": "echo [$ACME_PLACE]", "description": "show"}),
                Call("Read", {"file_path": "leaked.txt"}),
            ],
            "Done.",
        ]
    )
    async with open_session(
        model=model,
        cwd=tmp_path,
        runs=tmp_path / "runs",
        tools=STANDARD_TOOLS,
        settings={"pass_env": ["!ACME_PLACE", "ACME_*"]},
        permission_mode="bypassPermissions",
        secrets=("another-value-0123456789",),
    ) as session:
        await session.run("Look.")
        folder = session.run_folder

    shown = (folder / "transcripts" / "main.jsonl").read_text()
    assert "[]" in shown
    assert "0123456789" not in shown


# --- the rest -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["off", "children", "all", None])
@pytest.mark.parametrize("kind", ["none", "bwrap", None])
@pytest.mark.parametrize("network", [True, False, None])
@pytest.mark.parametrize("key", [MAIN, CHILD])
def test_a_sandbox_confines_only_the_sessions_it_was_asked_for(
    mode: Any, kind: Any, network: bool | None, key: SessionKey
) -> None:
    agent = AgentConfig(id="research", sandbox=SandboxConfig(mode=mode, exec=kind, network=network))
    config = GatewayConfig(agents=AgentsConfig(defaults=DefaultAgent(), list=(agent,)))
    setup = AgentSetup(config=config, agent=agent, row=row(key), key=key)

    asked = kind == "bwrap" and (mode == "all" or (mode == "children" and key.is_child))

    assert setup.sandbox()["enabled"] == asked
    assert setup.sandbox().get("network", False) == (asked and bool(network))


@pytest.mark.promise("A9-f")
def test_a_confined_command_sees_no_state_folder_and_no_other_workspace(tmp_path: Path) -> None:
    config = GatewayConfig(
        agents=AgentsConfig(
            defaults=DefaultAgent(sandbox=SandboxConfig(mode="all", exec="bwrap")),
            list=(AgentConfig(id="main"), AgentConfig(id="research"), AgentConfig(id="notes", workspace="notes")),
        )
    )
    state, home = tmp_path / "state", tmp_path / "home"
    folders = other_workspaces(config, "research", home)
    assert folders == (home / "workspace/main", home / "notes")
    setup = AgentSetup(
        config=config, agent=agent_of(config, "research"), row=row(MAIN), key=MAIN, unreadable=(state, *folders)
    )
    for folder in (own := setup.workspace(home), state, *folders):
        folder.mkdir(parents=True)
        (folder / "secret").write_text(folder.name)
    settings = read_settings(SandboxSettings, setup.sandbox(), source="gateway")

    sandbox = Sandbox(attrs.evolve(settings, unreadable=(str(home), *settings.unreadable)))
    looks = " ".join(f"{folder}/secret" for folder in (state, *folders))
    command = sandbox.command(["/bin/sh", "-c", f"cat {own}/secret; cat {looks}"], cwd=own, roots=[own])

    assert all(command[command.index(str(folder)) - 1] == "--tmpfs" for folder in (state, *folders))
    places = [command.index(str(each)) for each in (home, own)]
    assert places == sorted(places)  # the workspace is there, inside a home that is not
    assert "--unshare-net" in command
    if why := sandbox.why_not():
        pytest.skip(f"the rest needs bubblewrap: {why}")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.stdout == "research"


async def test_a_gateway_without_the_sandbox_that_it_is_to_have_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "gateway.json5").write_text("{agents: {defaults: {sandbox: {mode: 'children', exec: 'bwrap'}}}}")
    options = GatewayOptions(environ={}, listens=False, looks_around=False)

    with pytest.raises(UsageError, match="bubblewrap"):
        async with open_gateway(read_config(tmp_path / "gateway.json5", {}), tmp_path / "state", options):
            pass


def test_commands_of_sub_agents_have_the_variables_of_main_sessions() -> None:
    """GW-13: the variables are those of the agent, whatever the kind of its session."""
    agent = AgentConfig(id="research", env={"A": "1"})
    config = GatewayConfig(agents=AgentsConfig(defaults=DefaultAgent(env={"B": "2"}), list=(agent,)))

    main, child = (AgentSetup(config=config, agent=agent, row=row(key), key=key).settings() for key in (MAIN, CHILD))

    assert main["env"] == child["env"] == {"A": "1", "B": "2"}


def test_an_agent_is_found_by_the_one_form_of_its_id() -> None:
    config = GatewayConfig(agents=AgentsConfig(list=(AgentConfig(id=" Research ", name="R"),)))

    assert agent_of(config, "research").name == "R"
    assert agent_of(config, "unknown") == AgentConfig(id="unknown")


@pytest.mark.parametrize(
    ("key", "lane"),
    [
        ("agent:main:main", "main"),
        ("agent:main:irc:group:#x", "main"),
        (str(CHILD), "subagent"),
        ("agent:main:cron:daily", "cron"),
    ],
)
def test_the_kind_of_a_session_decides_its_lane(key: str, lane: str) -> None:
    assert lane_of(SessionKey.parse(key)) == lane
