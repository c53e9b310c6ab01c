"""Tools of servers as agents have them: names, what a model reads, results, errors; and calls by hooks."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.core import IMAGE_TYPES
from greenroom.core.texts import escape_text
from greenroom.hooks import HookRunner, HookServices, HookSource, merge_hooks, parse_hooks
from greenroom.hooks.inputs import HookContext, StopInput
from greenroom.mcp import CallFailed, McpSettings, ServerDown, names_tool, tool_name
from greenroom.mcp._call_results import Shown, render
from greenroom.mcp._peer import BinaryPart, CallResult, LinkPart, ResourcePart, TextPart, ToolInfo
from greenroom.supervisor import open_runtime
from greenroom.tools import ToolError, ToolSet
from tests.core.images import png
from tests.mcp.contexts import context
from tests.mcp.fakes import FakeServer, http, start, stdio

ROOT = Path(__file__).resolve().parents[2]
NAMES = st.text(min_size=1, max_size=200)


# --- names ------------------------------------------------------------------------------------------------------------


@given(NAMES, NAMES)
def test_every_name_is_one_that_providers_take(server: str, tool: str) -> None:
    name = tool_name(server, tool)

    assert re.fullmatch(r"mcp__[A-Za-z0-9_-]{1,123}", name)
    assert name == tool_name(server, tool)


def test_names_are_as_people_know_them() -> None:
    assert tool_name("git hub", "create.issue") == "mcp__git_hub__create_issue"
    assert tool_name("plugin_p_s", "t-1") == "mcp__plugin_p_s__t-1"
    assert len({tool_name("s", "x" * 200 + end) for end in "ab"}) == 2


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("mcp__gh__search", True),
        ("mcp__gh", True),
        ("mcp__gh__*", True),
        ("mcp__*", True),
        ("*", True),
        ("mcp__g", False),
        ("mcp__gh__sea", False),
        ("mcp__other__*", False),
        ("Read", False),
        ("mcp", False),
    ],
)
def test_lists_of_tools_mean_servers_as_well(pattern: str, expected: bool) -> None:
    assert names_tool(pattern, "mcp__gh__search") is expected


@given(NAMES, NAMES)
def test_a_server_and_every_star_mean_each_of_its_tools(server: str, tool: str) -> None:
    if len(server) + len(tool) < 100:
        name = tool_name(server, tool)
        prefix = tool_name(server, "").removesuffix("__")
        assert all(names_tool(pattern, name) for pattern in (prefix, f"{prefix}__*", "mcp__*", name))


async def test_a_name_that_is_taken_is_left_out_and_said(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        a = FakeServer(ToolInfo(name="t.1"), ToolInfo(name="t_1"))
        both: dict[str, Any] = {"a b": a, "a_b": FakeServer(ToolInfo(name="t 1"))}
        servers = await start(runtime, http("a b"), http("a_b"), **both)
        await servers.wait_settled()

        assert list(ToolSet(servers.tools)) == ["mcp__a_b__t_1"]
        assert servers.tools is servers.tools
        assert servers.clashes == (
            "mcp__a_b__t_1 of a b is ignored: another tool has this name",
            "mcp__a_b__t_1 of a_b is ignored: another tool has this name",
        )


# --- results ----------------------------------------------------------------------------------------------------------


def shown_and_kept(result: CallResult, most: int = 1_000) -> tuple[Shown, list[tuple[str, bytes]]]:
    kept: list[tuple[str, bytes]] = []

    async def keep(suffix: str, content: bytes) -> Path | None:
        await trio.lowlevel.checkpoint()
        kept.append((suffix, content))
        return Path("/kept") / f"{len(kept)}{suffix}"

    return trio.run(render, result, keep, most), kept


def rendered(result: CallResult, most: int = 1_000) -> tuple[str, list[tuple[str, bytes]]]:
    shown, kept = shown_and_kept(result, most)
    return shown.text, kept


def picture(width: int, height: int, *, said: str = "image/png") -> BinaryPart:
    return BinaryPart(kind="image", mime_type=said, base64=base64.b64encode(png(width, height)).decode())


@given(st.text(alphabet=st.characters(codec=None), max_size=300), st.integers(1, 200))
@example("ab", 2)
@example("abc", 2)
def test_text_is_shown_up_to_its_cap_and_kept_whole_beyond(text: str, most: int) -> None:
    shown, kept = rendered(CallResult(parts=(TextPart(text),)), most)

    shown.encode()  # neither a lone surrogate
    assert "\0" not in shown  # nor a NUL
    clean = escape_text(text).strip("\r\n")
    if len(clean) <= most:
        assert (shown, kept) == (clean, [])
    else:
        assert shown.startswith(clean[:most])
        assert kept == [(".txt", clean.encode())]
        assert "/kept/1.txt" in shown


def test_what_is_no_text_is_kept_and_named() -> None:
    data = base64.b64encode(b"pixels").decode()
    shown, kept = rendered(
        CallResult(
            parts=(
                TextPart("Look:"),
                BinaryPart(kind="image", mime_type="image/png", base64=data),
                BinaryPart(kind="audio", mime_type="audio/x-new", base64=data),
                BinaryPart(kind="resource", mime_type="", base64="%%%", uri="x://y"),
                ResourcePart(uri="file:///a", text="inside"),
                LinkPart(uri="file:///b", name="B", description="the rest", mime_type="text/plain"),
            ),
            structured={"never": "shown beside text"},
        )
    )

    assert shown.splitlines() == [
        "Look:",
        f"[image image/png, 6 bytes: not shown, it is not an image of a supported type: {', '.join(IMAGE_TYPES)}; saved as /kept/1.png]",
        "[audio audio/x-new, 6 bytes: cannot be shown to a model; saved as /kept/2.bin]",
        "[resource x://y of an unknown kind: invalid base64]",
        "[resource file:///a]",
        "inside",
        "[link to B: file:///b (text/plain, the rest)]",
    ]
    assert kept == [(".png", b"pixels"), (".bin", b"pixels")]


@given(
    st.lists(st.one_of(st.integers(0, 3_000), st.tuples(st.integers(1, 2_000), st.integers(1, 2_000))), max_size=12),
    st.integers(1, 12_000),
)
def test_text_and_images_share_one_limit_and_text_has_half_of_it(parts: list[Any], most: int) -> None:
    """`MAX_MCP_OUTPUT_TOKENS` is about all that a model is charged for."""
    made = [TextPart("x" * part) if isinstance(part, int) else picture(*part) for part in parts]
    shown, kept = shown_and_kept(CallResult(parts=tuple(made)), most)

    cost = sum(4 * image.tokens for image in shown.images)
    body = shown.text.partition("\n... (cut:")[0]
    written = sum(part for part in parts if isinstance(part, int))
    assert cost + len(body) <= most
    assert len(body) >= min(written, most // 2)
    for number in range(1, len(shown.images) + 1):
        assert f"shown below as image {number};" in shown.text or "(cut:" in shown.text
    assert sum(suffix == ".png" for suffix, _ in kept) == sum(not isinstance(part, int) for part in parts)


def test_an_image_is_shown_as_what_it_is_and_said_why_where_it_is_not() -> None:
    parts = (picture(75, 10, said="image/jpeg"), picture(8_001, 1), picture(75, 10))
    shown, _ = shown_and_kept(CallResult(parts=parts), most=600)
    refused, _ = shown_and_kept(CallResult(parts=parts[:1], is_error=True))
    large, _ = shown_and_kept(CallResult(parts=(picture(2_000, 2_000),)), most=6_000)

    why = "it has 8001 x 1 pixels; no side may exceed 8,000"
    assert [image.media_type for image in shown.images] == ["image/png", "image/png"]
    assert shown.text.splitlines() == [
        "[image image/jpeg, 24 bytes: shown below as image 1; saved as /kept/1.jpg]",
        f"[image image/png, 24 bytes: not shown, {why}; saved as /kept/2.png]",
        "[image image/png, 24 bytes: shown below as image 2; saved as /kept/3.png]",
    ]
    assert (refused.images, large.images) == ((), ())
    assert "not shown, only text is supported here" in refused.text
    assert "not shown, no room is left in this result" in large.text


def test_structured_values_stand_in_for_text_that_is_missing() -> None:
    values = {"löss": [1, None]}
    shown, _ = rendered(CallResult(structured=values))
    assert json.loads(shown) == values
    assert "löss" in shown


# --- calls ------------------------------------------------------------------------------------------------------------


async def call(runtime_tools: tuple[Any, ...], name: str, values: dict[str, Any], folder: Path = Path("/")) -> str:
    (one,) = [each for each in runtime_tools if each.info.name == name]
    text: str = await one.call(values, context(folder))
    return text


async def test_a_call_waits_where_there_is_no_table_of_tasks(virtual_time: None, tmp_path: Path) -> None:
    """That the main agent calls is not enough for a call to be moved."""
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("a"), folder=tmp_path, a=FakeServer(ToolInfo(name="work")))
        await servers.wait_settled()
        (work,) = servers.tools
        of_main = attrs.evolve(context(), is_main=True)
        assert not of_main.may_leave
        assert await work.call({"takes_s": 500, "text": "late"}, of_main) == "late"


async def test_errors_of_any_kind_are_text_for_the_model(virtual_time: None) -> None:
    tools = (ToolInfo(name="echo"), ToolInfo(name="boom"), ToolInfo(name="refuse"), ToolInfo(name="drop"))
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("a"), a=FakeServer(*tools))
        await servers.wait_settled()
        had = servers.tools
        told = []
        for name, values in [
            ("boom", {"text": "it is full"}),
            ("boom", {}),
            ("refuse", {}),
            ("drop", {}),
            ("echo", {}),
        ]:
            with pytest.raises(ToolError) as caught:
                await call(had, name, values)
            told.append(str(caught.value))
    assert told == [
        "it is full",
        "boom of a failed without a reason",
        "no such luck",
        "the MCP server 'a' is not connected: it was lost while it ran drop: it dropped the line",
        "the MCP server 'a' is not connected: it dropped the line",
    ]


async def test_a_long_result_is_kept_beside_the_run(virtual_time: None, tmp_path: Path) -> None:
    info = ToolInfo(name="echo", output_chars=50)
    async with open_runtime() as runtime:
        settings = McpSettings(output_tokens=5)
        a, b = FakeServer(ToolInfo(name="echo")), FakeServer(info)
        servers = await start(runtime, http("a"), http("b"), settings=settings, folder=tmp_path / "out", a=a, b=b)
        await servers.wait_settled()
        short, long = [await tool.call({"text": "x" * 49}, context()) for tool in servers.tools]

    assert long == "x" * 49
    (file,) = (tmp_path / "out").iterdir()
    assert file.read_text() == "x" * 49
    assert short == f"{'x' * 20}\n... (cut: 49 characters in total, this is the start; the whole output: {file}) ..."
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_a_model_reads_no_novel_and_gets_a_schema(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        info = ToolInfo(name="t", description="word " * 1_000, needs_user=True)
        servers = await start(runtime, http("a"), a=FakeServer(info))
        await servers.wait_settled()
        (one,) = servers.tools

    assert len(one.description) == 2_048
    assert one.input_schema == {"type": "object", "properties": {}}
    assert (one.is_read_only, one.needs_user) == (False, True)


async def test_hooks_call_tools_and_never_wait_for_a_server(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        tools = (ToolInfo(name="echo"), ToolInfo(name="boom"))
        servers = await start(
            runtime, stdio("a"), http("late"), a=FakeServer(*tools), late=FakeServer(connects_after_s=9)
        )
        await trio.sleep(1)
        hooks = servers

        assert await hooks.call("a", "echo", {"text": '{"decision": "block"}'}) == '{"decision": "block"}'
        with pytest.raises(CallFailed, match="why not"):
            await hooks.call("a", "boom", {"text": "why not"})
        for name in ("late", "nobody"):
            with pytest.raises(ServerDown):
                await hooks.call(name, "echo", {})
        assert trio.current_time() == pytest.approx(1)


def test_the_sdk_is_not_loaded_before_it_is_used() -> None:
    code = "import sys, greenroom.mcp; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )

    assert not {"mcp", "mcp_types", "anyio", "pydantic", "httpx2", "starlette", "asyncio"} & set(done.stdout.split())


async def test_a_hook_of_type_mcp_tool_is_answered_by_a_server(virtual_time: None) -> None:
    handler = {
        "type": "mcp_tool",
        "server": "a",
        "tool": "echo",
        "input": {"text": '{"decision": "block", "reason": "no"}'},
    }
    settings = {"hooks": {"Stop": [{"hooks": [handler, {**handler, "server": "gone"}]}]}}
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("a"), a=FakeServer())
        await servers.wait_settled()
        services = HookServices(project=Path("/"), environment={}, mcp=servers)
        runner = HookRunner(merge_hooks([parse_hooks(settings, HookSource("settings"))]), services)
        context = HookContext(session_id="s", cwd=Path("/"))
        outcome = await runner.run(StopInput(stop_hook_active=False, last_assistant_message=""), context)

    assert outcome.block_reasons == ("no",)
    (problem,) = outcome.problems
    assert "no server has this name" in str(problem)
