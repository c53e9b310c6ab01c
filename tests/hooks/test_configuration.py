"""Settings: what parses, what is left out and why, and how sources add up."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.hooks import HandlerType, HookEvent, HookSource, SourceKind, merge_hooks, parse_hooks
from greenroom.hooks._event_table import CATALOG
from greenroom.hooks._handlers import AgentHandler, CommandHandler, HttpHandler, McpToolHandler, PromptHandler

USER: Final = HookSource("user")
COMMAND: Final = {"type": "command", "command": "true"}
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MINIMAL: Final[dict[HandlerType, dict[str, Any]]] = {
    HandlerType.COMMAND: {"command": "true"},
    HandlerType.HTTP: {"url": "http://127.0.0.1:1/hook"},
    HandlerType.MCP_TOOL: {"server": "s", "tool": "t"},
    HandlerType.PROMPT: {"prompt": "Is it fine?"},
    HandlerType.AGENT: {"prompt": "Look whether it is fine."},
}


def settings(*handlers: Any, event: str = "PreToolUse", matcher: Any = "Bash") -> dict[str, Any]:
    return {"hooks": {event: [{"matcher": matcher, "hooks": list(handlers)}]}}


def commands(found: Any) -> list[str]:
    return [hook.handler.command for hook in found]


def test_every_field_of_every_handler_is_read() -> None:
    common = {"if": "Bash(git *)", "timeout": 5, "statusMessage": "checking", "once": True}
    parsed = parse_hooks(
        settings(
            {**COMMAND, **common, "args": ["-x"], "asyncRewake": True, "shell": "powershell"},
            {"type": "http", "url": "https://h/x", "headers": {"A": "$T"}, "allowedEnvVars": ["T"]},
            {"type": "mcp_tool", "server": "s", "tool": "t", "input": {"path": "${tool_input.path}"}},
            {"type": "prompt", "prompt": "ok? $ARGUMENTS", "model": "fast", "continueOnBlock": True},
            {"type": "agent", "prompt": "look", "model": "m", "timeout": 7.5},
        ),
        USER,
    )

    assert parsed.problems == ()
    assert [hook.handler for hook in parsed.hooks] == [
        CommandHandler(
            command="true",
            args=("-x",),
            shell="powershell",
            is_async=True,
            wakes=True,
            condition="Bash(git *)",
            timeout_s=5.0,
            status_message="checking",
            once=True,
        ),
        HttpHandler(url="https://h/x", headers=(("A", "$T"),), allowed_variables=frozenset({"T"})),
        McpToolHandler(server="s", tool="t", input={"path": "${tool_input.path}"}),
        PromptHandler(prompt="ok? $ARGUMENTS", model="fast", continue_on_block=True),
        AgentHandler(prompt="look", model="m", timeout_s=7.5),
    ]
    assert [hook.path for hook in parsed.hooks] == [f"hooks.PreToolUse[0].hooks[{at}]" for at in range(5)]


@pytest.mark.parametrize("event", HookEvent)
@pytest.mark.parametrize("of_type", HandlerType)
def test_each_event_takes_its_types_of_handlers_and_no_others(event: HookEvent, of_type: HandlerType) -> None:
    parsed = parse_hooks(settings({"type": of_type.value, **MINIMAL[of_type]}, event=event.value), USER)

    assert len(parsed.hooks) == (of_type in CATALOG[event].handlers)
    assert len(parsed.problems) == (of_type not in CATALOG[event].handlers)


@pytest.mark.parametrize(
    ("handler", "path", "words"),
    [
        ("true", "", "must be an object with a type, got a string"),
        ({}, ".type", "expected one of: agent, command, http"),
        ({"type": "shell"}, ".type", "'shell' is not a type of handler"),
        ({"type": []}, ".type", "is not a type of handler"),
        ({"type": "command"}, ".command", "is missing"),
        ({"type": "command", "command": " "}, ".command", "non-empty"),
        ({**COMMAND, "command": "a\0b"}, ".command", "NUL"),
        ({**COMMAND, "timeout": 0}, ".timeout", "must be a number of seconds above 0, got 0"),
        ({**COMMAND, "timeout": True}, ".timeout", "above 0, got true"),
        ({**COMMAND, "timeout": float("nan")}, ".timeout", "above 0, got nan"),
        ({**COMMAND, "timeout": 10**400}, ".timeout", "above 0, got a huge number"),
        ({**COMMAND, "async": "yes"}, ".async", "must be true or false, got 'yes'"),
        ({**COMMAND, "args": "x"}, ".args", "must be a list of strings"),
        ({**COMMAND, "shell": "fish"}, ".shell", "expected bash or powershell"),
        ({**COMMAND, "if": "Bash(a) Bash(b"}, ".if", "is not a single permission rule"),
        ({"type": "http", "url": "file:///x"}, ".url", "complete http or https URL"),
        ({"type": "http", "url": "http://h", "headers": {"A": "b\nc"}}, ".headers", "an object of strings"),
        ({"type": "mcp_tool", "server": "s", "tool": "t", "input": []}, ".input", "got a list"),
        ({"type": "prompt", "prompt": 5}, ".prompt", "non-empty string, got 5"),
    ],
)
def test_a_malformed_handler_gives_one_problem_and_disables_only_itself(handler: Any, path: str, words: str) -> None:
    parsed = parse_hooks(settings(COMMAND, handler, COMMAND), HookSource("~/settings.json"))

    assert len(parsed.hooks) == 2
    (problem,) = parsed.problems
    assert problem.path == f"hooks.PreToolUse[0].hooks[1]{path}"
    assert words in problem.what
    assert str(problem).startswith("~/settings.json: hooks.PreToolUse[0].hooks[1]")


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"hooks": []}, "hooks"),
        ({"hooks": {"PreToolUser": []}}, "hooks.PreToolUser"),
        ({"hooks": {"Stop": {}}}, "hooks.Stop"),
        ({"hooks": {"Stop": ["x"]}}, "hooks.Stop[0]"),
        ({"hooks": {"Stop": [{}]}}, "hooks.Stop[0].hooks"),
        (settings(COMMAND, matcher=5), "hooks.PreToolUse[0].matcher"),
        (settings(COMMAND, matcher="("), "hooks.PreToolUse[0].matcher"),
        ({"disableAllHooks": "yes"}, "disableAllHooks"),
    ],
)
def test_a_malformed_part_is_named_by_its_path(values: dict[str, Any], path: str) -> None:
    assert [problem.path for problem in parse_hooks(values, USER).problems] == [path]


@given(JSON)
def test_no_settings_raise(values: Any) -> None:
    for whole in ({"hooks": values}, {"hooks": {"Stop": values}}, settings(values), settings(COMMAND, matcher=values)):
        parsed = parse_hooks(whole, USER)
        merge_hooks([parsed])
        assert all(str(problem) for problem in parsed.problems)


def test_an_if_on_an_event_without_a_call_never_runs_and_says_so() -> None:
    parsed = parse_hooks(settings({**COMMAND, "if": "Bash"}, event="Stop"), USER)

    assert parsed.hooks == ()
    assert parsed.problems[0].path == "hooks.Stop[0].hooks[0].if"


def test_unknown_keys_are_refused_in_our_files_and_ignored_in_others() -> None:
    values = settings({**COMMAND, "timeuot": 5})

    assert len(parse_hooks(values, USER).hooks) == 1
    assert [problem.path for problem in parse_hooks(values, HookSource("ours", is_strict=True)).problems] == [
        "hooks.PreToolUse[0].hooks[0].timeuot"
    ]


def test_a_matcher_where_there_is_nothing_to_match_means_nothing() -> None:
    hooks = merge_hooks([parse_hooks(settings(COMMAND, event="Stop", matcher="("), USER)])

    assert len(hooks.find(HookEvent.STOP, "")) == 1


# --- several sources -------------------------------------------------------------------------------------------------


def source(command: str, kind: SourceKind, *, trusted: bool = True, **switches: bool) -> Any:
    values = {**settings({**COMMAND, "command": command}), **switches}
    return parse_hooks(values, HookSource(kind.value, kind, is_trusted=trusted))


def test_sources_add_up_in_their_order_and_the_same_work_is_done_once() -> None:
    hooks = merge_hooks(
        [
            source("b", SourceKind.PROJECT),
            source("a", SourceKind.USER),
            source("b", SourceKind.LOCAL),
        ]
    )

    assert commands(hooks.find(HookEvent.PRE_TOOL_USE, "Bash")) == ["b", "a"]
    assert hooks.find(HookEvent.PRE_TOOL_USE, "Edit") == ()
    assert not hooks.has(HookEvent.STOP)


def test_an_untrusted_folder_runs_nothing_and_switches_nothing_off() -> None:
    hooks = merge_hooks(
        [
            source("evil", SourceKind.PROJECT, trusted=False, disableAllHooks=True),
            source("guard", SourceKind.USER),
        ]
    )

    assert commands(hooks) == ["guard"]
    assert [str(problem) for problem in hooks.problems] == [
        "project: hooks: 1 hook will not run: trust this folder first"
    ]


def test_disable_all_hooks_spares_managed_ones_and_the_first_source_that_says_it_wins() -> None:
    managed, user = source("managed", SourceKind.MANAGED), source("user", SourceKind.USER, disableAllHooks=True)

    assert commands(merge_hooks([managed, user])) == ["managed"]
    assert commands(merge_hooks([source("project", SourceKind.PROJECT, disableAllHooks=False), user])) == [
        "project",
        "user",
    ]


def test_only_managed_settings_can_allow_managed_hooks_only() -> None:
    managed = source("managed", SourceKind.MANAGED, allowManagedHooksOnly=True)
    user = source("user", SourceKind.USER, allowManagedHooksOnly=True)

    assert commands(merge_hooks([managed, user])) == ["managed"]
    assert commands(merge_hooks([user])) == ["user"]


def test_stop_hooks_of_an_agent_are_for_its_own_stop_and_go_with_it() -> None:
    hooks = merge_hooks([source("user", SourceKind.USER)])
    of_agent = parse_hooks(settings(COMMAND, event="Stop"), HookSource("reviewer.md", SourceKind.AGENT))

    more = hooks.with_more(of_agent)

    assert more.has(HookEvent.SUBAGENT_STOP)
    assert not more.has(HookEvent.STOP)
    assert not hooks.has(HookEvent.SUBAGENT_STOP)
    assert len(more.find(HookEvent.PRE_TOOL_USE, "Bash")) == 1


@pytest.mark.parametrize(
    ("event", "of_type", "limit_s"),
    [
        ("PreToolUse", HandlerType.COMMAND, 600.0),
        ("UserPromptSubmit", HandlerType.COMMAND, 30.0),
        ("UserPromptSubmit", HandlerType.HTTP, 30.0),
        ("MessageDisplay", HandlerType.COMMAND, 10.0),
        ("Stop", HandlerType.PROMPT, 30.0),
        ("UserPromptSubmit", HandlerType.PROMPT, 30.0),
        ("Stop", HandlerType.AGENT, 60.0),
    ],
)
def test_default_limits(event: str, of_type: HandlerType, limit_s: float) -> None:
    (hook,) = parse_hooks(settings({"type": of_type.value, **MINIMAL[of_type]}, event=event), USER).hooks

    assert hook.handler.limit_s(hook.event) == limit_s
