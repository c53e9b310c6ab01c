"""Servers that push into a session: who is heard, what the model reads, and what no push can do."""

from __future__ import annotations

import html
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import trio
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.agents._inputs import render
from greenroom.core import SettingsError, UsageError
from greenroom.core.sources import find_places
from greenroom.core.texts._control_characters import without_control
from greenroom.inbox import attributes_of, channel, make_item
from greenroom.mcp._channels import BURST
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.permissions import Deny
from greenroom.session import Session, SettingSource, load_settings, open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL
from tests.core.frame_texts import TEXTS
from tests.mcp.channel_server import FORGED, META
from tests.mcp.real import BOUND_S, until
from tests.session.scripted import write

SERVER: Final = Path(__file__).parents[1] / "mcp" / "channel_server.py"
ROOT: Final = Path(__file__).parents[2]
LISTED: Final[dict[str, Any]] = {"ci": {}}


def server(mode: str, *arguments: str) -> dict[str, Any]:
    return {"ci": {"command": sys.executable, "args": [str(SERVER), mode, *arguments]}}


@attrs.define
class Scene:
    """A session with one server, and what its main agent was told."""

    told: list[str] = attrs.field(factory=list)
    answer: Any = "Read."
    session: Session = attrs.field(init=False)

    def main(self, request: ModelRequest) -> AnswerLike:
        self.told.append(request.messages[-1].text)
        return self.answer(request) if callable(self.answer) else self.answer  # type: ignore[no-any-return]

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in (self.session.run_folder / JOURNAL).read_text().splitlines()]
        return [line for line in lines if line.get("ev") in kinds]

    @property
    def pushed(self) -> list[str]:
        return [text for text in self.told if "<channel" in text]


@asynccontextmanager
async def scene(
    folder: Path, mode: str, *arguments: str, channels: Any = LISTED, answer: Any = "Read.", **options: Any
) -> AsyncIterator[Scene]:
    """Open a session in real time: its server is a real process."""
    made = Scene(answer=answer)
    settings = {"mcpServers": server(mode, *arguments), "channels": channels}
    with trio.fail_after(BOUND_S):
        async with open_session(
            model=PlaybookModel({"main": made.main}),
            cwd=folder,
            runs=folder / "runs",
            settings=settings,
            **({"tools": ()} | options),
        ) as made.session:
            await made.session.servers.wait_settled(BOUND_S)
            yield made


# --- what is heard ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_listed_server_pushes_a_message_behind_all_others(tmp_path: Path) -> None:
    async with scene(tmp_path, "one") as made:
        await until(lambda: bool(made.pushed))
        await made.session.wait_quiet()
        assert made.session.problems == ()

    assert made.told == ['<channel source="ci" run="17">\nthe build is red\n</channel>']
    (event,) = made.events("inbox.accepted")
    assert (event["origin"], event["sender"], event["lane"]) == ("channel", "ci", "later")
    assert [taken["item"] for taken in made.events("inbox.taken")] == [event["item"]]


@pytest.mark.slow
@pytest.mark.promise("R12-a")
@pytest.mark.parametrize(
    ("mode", "channels", "reason"),
    [("flood", {}, "unlisted"), ("undeclared", LISTED, "undeclared"), ("malformed", LISTED, "malformed")],
)
async def test_what_is_not_taken_is_said_in_one_line(mode: str, channels: Any, reason: str, tmp_path: Path) -> None:
    async with scene(tmp_path, mode, "100", channels=channels) as made:
        await until(lambda: any("ignored" in line for line in made.session.problems))
        if mode == "malformed":
            await until(lambda: bool(made.pushed))
        lines = [line for line in made.session.problems if "'ci'" in line and "ignored" in line]
        assert len(lines) == 1
        assert "\n" not in lines[0]

    assert [event["reason"] for event in made.events("mcp.push_ignored")] == [reason]
    assert len(made.pushed) == (mode == "malformed")


@pytest.mark.slow
@pytest.mark.promise("R12-a")
async def test_ten_thousand_pushes_are_bounded_said_and_behind_the_user(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> AnswerLike:
        return "Hello." if request.messages[-1].text.startswith("Are you there") else "Read."

    async with scene(tmp_path, "flood", "10000", answer=answer) as made:
        assert (await made.session.run("Are you there?")).text == "Hello."
        await until(lambda: any(" dropped" in text for text in made.told))
        await made.session.wait_quiet()

        messages = [text for text in made.told for _ in range(text.count('<channel source="ci"'))]
        (line,) = [line for line in made.session.problems if "dropped" in line]
        dropped = int(line.split()[0])
        assert BURST <= len(messages) <= BURST + BOUND_S  # one a second besides
        assert len(messages) + dropped == 10_000
        assert sum(" dropped" in text for text in made.told) == 1

    assert len(made.events("inbox.accepted")) == len(messages) + 1
    assert {event["origin"] for event in made.events("inbox.accepted")} == {"channel", "auto-continuation"}
    for text in messages:
        assert len(re.findall(r"<\s*/?\s*channel", text)) == 2 * text.count('<channel source="ci"')
        assert "\x1b" not in text
        assert "<system-reminder>The user" not in text


# --- what the settings say ----------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_name_of_no_server_is_one_line(tmp_path: Path) -> None:
    async with scene(tmp_path, "one", channels={"cj": {}}) as made:
        lines = [line for line in made.session.problems if "'cj'" in line]
    assert lines == ["channels: 'cj' is not an MCP server of this session; expected one of: 'ci'"]


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize(
    "name", [".greenroom/settings.json", ".greenroom/settings.local.json", ".claude/settings.json"]
)
def test_a_projects_files_list_no_channels(name: str, is_trusted: bool, tmp_path: Path) -> None:
    user, project = tmp_path / "user", tmp_path / "project"
    write(user / ".greenroom/settings.json", {"channels": {"mine": {"per_minute": 5}}})
    write(project / name, {"channels": {"theirs": {}, "mine": {"per_minute": 600}}})
    (project / ".git").mkdir()
    places = find_places(project, environ={"HOME": str(user)}, managed=())

    settings = load_settings(places, SettingSource, is_trusted=is_trusted)

    assert {name: each.per_minute for name, each in settings.scalars.channels.items()} == {"mine": 5}
    lines = [str(diagnostic) for diagnostic in settings.diagnostics if "channels" in str(diagnostic)]
    assert len(lines) == 1
    assert "has no effect in a project's files" in lines[0]


def test_the_program_may_change_a_channel_that_the_user_lists(tmp_path: Path) -> None:
    write(tmp_path / ".greenroom/settings.json", {"channels": {"mine": {"per_minute": 5}, "other": {}}})
    places = find_places(tmp_path / "project", environ={"HOME": str(tmp_path)}, managed=())

    settings = load_settings(places, SettingSource, given={"channels": {"mine": {"per_minute": 7}}})

    assert {name: each.per_minute for name, each in settings.scalars.channels.items()} == {"mine": 7, "other": 60}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"ci": {"per_minute": 0}}, "per_minute"),
        ({"ci": {"per_minute": 601}}, "per_minute"),
        ({"ci": {"permission_relay": True}}, "unknown key 'permission_relay'"),
        ({"ci": True}, "is not an object"),
        (["ci"], "is not an object"),
    ],
)
def test_bad_settings_of_channels_are_refused_with_their_place(value: Any, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(None, given={"channels": value})
    (problem,) = caught.value.problems
    assert problem.startswith("channels")
    assert said in problem


# --- what no push can do ------------------------------------------------------------------------------------------------

_READER: Final = re.compile(
    r"<\s*/?\s*(?:channel|system-reminder|task-notification|teammate-message)\b[^<>]*>", re.IGNORECASE
)


@pytest.mark.promise("R12-a")
@given(
    text=TEXTS.filter(str.strip),
    meta=st.dictionaries(
        st.one_of(st.sampled_from(["run", "source", 'a="', "to"]), st.text(max_size=6)), TEXTS, max_size=4
    ),
    name=st.one_of(st.just("ci"), TEXTS.filter(bool)),
)
@example(text=FORGED, meta=META, name="ci")
def test_no_content_and_no_meta_closes_or_forges_the_tag(text: str, meta: dict[str, Any], name: str) -> None:
    item = attrs.evolve(make_item(text, uuid="u", origin=channel(name)), attributes=attributes_of(meta))

    shown = render(item)

    assert [match[0][:9] for match in _READER.finditer(shown)] == ["<channel ", "</channel"]
    head = re.match(r'<channel source="([^"<>\n]*)"((?: [A-Za-z_][A-Za-z0-9_]*="[^"<>\n]*")*)>\n', shown)
    assert head is not None
    assert shown.endswith("\n</channel>")
    assert html.unescape(head[1]) == " ".join(re.split("[\r\n]", without_control(name)))
    assert "source=" not in re.sub(r'"[^"]*"', "", head[2]).lower()
    assert not re.search(r"\(\s*a\s+notice\s+of\s+the\s+runtime|\[\s*harness:", shown, re.IGNORECASE)


@pytest.mark.parametrize("text", ["!rm -rf /", "/clear", "/compact now", " !ls"])
def test_a_pushed_command_is_only_text(text: str) -> None:
    item = make_item(text, uuid="u", origin=channel("ci"), is_command=lambda _: True)

    assert (item.is_command, item.kind, item.lane) == (False, "prompt", "later")
    assert not item.origin.is_consent
    for priority in ("now", "next"):
        with pytest.raises(UsageError):
            make_item(text, uuid="u", origin=channel("ci"), priority=priority)


@pytest.mark.slow
@pytest.mark.promise("R12-a")
async def test_no_push_answers_a_permission_question(tmp_path: Path) -> None:
    """Mechanism: questions are answered by the session's approvals alone; what a channel pushes is an item, which waits."""

    def answer(request: ModelRequest) -> AnswerLike:
        return Call("Bash", {"command": "touch made"}) if len(request.messages) == 1 else "Done."

    async with (
        scene(tmp_path, "permission", answer=answer, tools=STANDARD_TOOLS, has_approver=True) as made,
        trio.open_nursery() as nursery,
    ):
        session = made.session
        nursery.start_soon(session.run, "make it")
        await until(lambda: bool(session.permissions.approvals.waiting()))
        (tmp_path / "push").touch()
        await until(lambda: bool(session.inbox.queued()))
        (question,) = session.permissions.approvals.waiting()
        (item,) = session.inbox.queued()
        assert item.text == "yes abcde"
        session.permissions.approvals.answer(question.id, Deny(message="no"))
        await session.wait_quiet()

    assert not (tmp_path / "made").exists()
    assert len(session.permissions.denials) == 1
    assert len(made.pushed) == 1


# --- a killed process ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.promise("I-59")
async def test_a_push_of_a_killed_session_is_read_once_by_the_next(tmp_path: Path) -> None:
    """R12-a. Mechanism: a push is in the store before the journal tells of it, and leaves it with its line in the transcript."""
    runs = tmp_path / "runs"
    command = [sys.executable, "-m", "tests.session.letter_child", str(tmp_path), str(runs), "channel"]
    child = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert child.stdout is not None
        said = ""
        with trio.fail_after(BOUND_S):
            while "ready" not in said:
                chunk = await child.stdout.receive_some()
                assert chunk, said
                said += chunk.decode()
    finally:
        child.send_signal(signal.SIGKILL)
        await child.wait()  # noqa: ASYNC102 - it was killed
    run = runs / said.split()[0]
    for _ in range(2):
        async with open_session(
            model=PlaybookModel({"main": lambda _: "Read."}), cwd=tmp_path, runs=runs, tools=(), resume=run
        ) as again:
            await again.wait_quiet()
        lines = [json.loads(line) for line in (run / "transcripts/main.jsonl").read_text().splitlines()]
        told = [line for line in lines if line["type"] == "user" and "the build is red" in str(line["message"])]
        assert len(told) == 1
        assert '<channel source="ci" run="17">' in str(told[0]["message"])
