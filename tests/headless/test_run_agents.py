"""`greenroom run` with sub-agents, as a whole: what is printed of them, and when the run may end."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.agents import Appended
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.headless._background_wait import CEILING_VARIABLE
from greenroom.headless._ending import Ending
from greenroom.headless._event_printer import EventPrinter
from greenroom.headless._run import HeadlessRun
from greenroom.headless._stream_json import Abandoned, Counts, Line, Opening
from greenroom.inbox import TASK_NOTIFICATION, Origin
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, Say, WrittenAnswer
from greenroom.session import MessageAppended, open_session
from greenroom.testing import ReceivedRequest, StreamReply, run_virtual, virtual_ports
from greenroom.testing._messages_script import ReplyLike
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.agents.pages import answers_in, asked
from tests.cli.place import Done, Place, end_of, texts_of
from tests.cli.served import served
from tests.headless.agent_calls import by_prompt, said_first, spawn

CHOSEN = ("--child-permission", "definition")  # else a line says what agents may do
STREAM = ("--output-format", "stream-json", *CHOSEN)


def child_lines(done: Done) -> list[dict[str, Any]]:
    return [line for line in done.lines if line.get("parent_tool_use_id")]


def system_lines(done: Done) -> list[dict[str, Any]]:
    shown = [line for line in done.lines if line["type"] == "system" and line["subtype"] != "init"]
    return [{key: value for key, value in line.items() if key not in {"uuid", "session_id"}} for line in shown]


FIRST_TOLD: list[AnswerLike] = [
    WrittenAnswer([Say("I look."), Call("Read", {"file_path": "a.txt"}, id="toolu_r")]),
    "It is 42.",
]


def test_lines_of_a_child_have_the_id_of_its_call_and_hold_calls_only(place: Place) -> None:
    """Behaviours (13), line 2."""
    script = by_prompt({"Go.": [spawn("look"), "Done."], "look": [*FIRST_TOLD]})
    done, _ = place.run(script, "Go.", *STREAM)

    assert (done.code, done.err) == (0, "")
    assert {"Agent", "SendMessage"} <= set(done.lines[0]["tools"])
    assert done.lines[-1]["type"] == "result"
    children = child_lines(done)
    assert [child["type"] for child in children] == ["assistant", "user"]
    assert {child["parent_tool_use_id"] for child in children} == {"toolu_agent"}
    assert [[block["type"] for block in child["message"]["content"]] for child in children] == [
        ["tool_use"],
        ["tool_result"],
    ]
    (returned,) = [line for line in done.lines if line.get("tool_use_result")]
    assert returned["parent_tool_use_id"] is None
    assert returned["tool_use_result"]["status"] == "completed"
    assert returned["tool_use_result"]["content"] == [{"type": "text", "text": "It is 42."}]
    kept = [line["toolUseResult"] for line in place.transcript() if "toolUseResult" in line]
    assert kept == [returned["tool_use_result"]]


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_text_of_children_is_shown_at_every_depth_where_it_is_wanted(place: Place, way: str) -> None:
    replies: dict[str, list[ReplyLike]] = {
        "Go.": [spawn("outer"), "Done."],
        "outer": [spawn("inner", call_id="toolu_inner"), "Outer done."],
        "inner": ["Inner done."],
    }
    if way == "variable":
        place.monkeypatch.setenv("GREENROOM_FORWARD_SUBAGENT_TEXT", "1")
    done, _ = place.run(by_prompt(replies), "Go.", *STREAM, *(["--forward-subagent-text"] if way == "flag" else []))

    texts = [
        (line["parent_tool_use_id"], block["text"])
        for line in child_lines(done)
        for block in line["message"]["content"]
        if block["type"] == "text"
    ]
    assert texts == [("toolu_inner", "Inner done."), ("toolu_agent", "Outer done.")]


def test_a_refused_call_of_a_child_is_told_with_the_id_of_the_child(place: Place) -> None:
    bash = WrittenAnswer([Call("Bash", {"command": "curl http://localhost"}, id="toolu_b")])
    script = by_prompt({"Go.": [spawn("look"), "Done."], "look": [bash, "I may not."]})
    done, _ = place.run(script, "Go.", *STREAM)

    (denied,) = [line for line in system_lines(done) if line["subtype"] == "permission_denied"]
    (started,) = [line for line in system_lines(done) if line["subtype"] == "task_started"]
    assert (denied["tool_name"], denied["tool_use_id"], denied["agent_id"]) == ("Bash", "toolu_b", started["task_id"])
    assert done.code == 0


def test_the_stream_tells_of_an_agent_in_the_foreground_from_beginning_to_end(place: Place) -> None:
    """As they are printed."""
    script = by_prompt({"Go.": [spawn("look"), "Done."], "look": [*FIRST_TOLD]})
    done, _ = place.run(script, "Go.", *STREAM)

    started, progress, updated, ended = system_lines(done)
    about = {"type": "system", "task_id": started["task_id"], "tool_use_id": "toolu_agent"}
    assert started == about | {
        "subtype": "task_started",
        "description": "do look",
        "task_type": "local_agent",
        "is_backgrounded": False,
        "spawn_depth": 1,
    }
    usage = progress["usage"]
    assert progress == about | {
        "subtype": "task_progress",
        "description": "do look",
        "subagent_type": "general-purpose",
        "usage": {"total_tokens": 15, "tool_uses": 1, "duration_ms": usage["duration_ms"]},
        "last_tool_name": "Read",
    }
    assert updated["patch"]["status"] == "completed"
    assert ended == about | {
        "subtype": "task_notification",
        "status": "completed",
        "output_file": ended["output_file"],
        "summary": 'Agent "do look" completed',
        "usage": {"total_tokens": 20, "tool_uses": 1, "duration_ms": ended["usage"]["duration_ms"]},
    }


def test_an_agent_that_ends_after_the_answer_leads_to_a_result_of_its_own(place: Place) -> None:
    """RC-36: the run waits, hears and answers. Behaviours (13), line 5; Behaviours (9), line 6; Behaviours (6), line 8."""
    gate = trio.Event()

    def script(request: ReceivedRequest) -> ReplyLike:
        if said_first(request) == "look":
            return StreamReply(answer="It is 42.", gate=gate)
        last = texts_of(request)
        if any("<task-notification>" in text for text in last):
            return "It has ended."
        if last:
            return spawn("look", run_in_background=True)
        gate.set()  # in the thread of the server
        return "It runs."

    done, requests = place.run(script, "Go.", *STREAM)

    results = [line for line in done.lines if line["type"] == "result"]
    assert (done.code, done.err) == (0, "")
    assert [(result["result"], result.get("origin")) for result in results] == [
        ("It runs.", None),
        ("It has ended.", {"kind": "task-notification"}),
    ]
    assert done.lines[-1] == results[-1]
    assert "It is 42." in texts_of(requests[-1])[0]
    live = [line["tasks"] for line in system_lines(done) if line["subtype"] == "background_tasks_changed"]
    assert [len(tasks) for tasks in live] == [1, 0]
    assert set(live[0][0]) == {"task_id", "task_type", "description"}


@pytest.mark.parametrize("output_format", ["text", "json", "stream-json"])
def test_an_agent_that_takes_too_long_is_named_and_the_run_is_an_error(place: Place, output_format: str) -> None:
    """RC-36. Mechanism: what still runs at the ceiling is ended, named on standard error and in the result; exit code 1."""
    never = StreamReply(ending="stall", events=0)
    script = by_prompt({"Go.": [spawn("look", run_in_background=True), "It runs."], "look": [never]})
    place.monkeypatch.setenv(CEILING_VARIABLE, "50")
    done, _ = place.run(script, "Go.", "--output-format", output_format, *CHOSEN)

    assert done.code == 1
    (line,) = done.err.splitlines()
    assert line.startswith("greenroom: ended in the background before it was done: a")
    assert line.endswith(' "do look"')
    if output_format == "text":
        assert done.out == "It runs.\n"
        return
    last = done.lines[-1]
    assert (last["type"], last["subtype"], last["is_error"]) == ("result", "error_during_execution", True)
    assert last["result"] == "It runs."
    assert [abandoned_task["description"] for abandoned_task in last["abandoned_tasks"]] == ["do look"]
    assert last["errors"] == [line.removeprefix("greenroom: ")]
    if output_format == "json":
        assert len(done.lines) == 1
        return
    assert [line["subtype"] for line in done.lines if line["type"] == "result"] == ["success", "error_during_execution"]
    (ended,) = [line for line in system_lines(done) if line["subtype"] == "task_notification"]
    assert ended["status"] == "stopped"


def test_a_ceiling_that_is_no_number_is_refused_before_anything_begins(place: Place) -> None:
    place.monkeypatch.setenv(CEILING_VARIABLE, "ten")
    done, _ = place.run([], "Go.")

    assert (done.code, done.out) == (2, "")
    assert done.err == f"greenroom: {CEILING_VARIABLE} must be a number of milliseconds, 0 for no limit, got 'ten'\n"


def test_text_for_sub_agents_goes_behind_what_they_are_told_and_not_to_main(place: Place) -> None:
    script = by_prompt({"Go.": [spawn("look"), "Done."], "look": ["It is 42."]})
    done, requests = place.run(script, "Go.", "--append-subagent-system-prompt", "Speak Latin.")

    assert done.out == "Done.\n"
    systems = {said_first(request): json.dumps(request.body["system"]) for request in requests}
    assert "Speak Latin." in systems["look"]
    assert "Speak Latin." not in systems["Go."]


@pytest.mark.parametrize(
    ("arguments", "there", "missing"),
    [
        (("--tools", "Read,Agent"), {"Read", "Agent"}, {"Bash", "SendMessage"}),
        (("--tools", ""), set(), {"Read", "Agent"}),
        (("--disallowedTools", "Agent"), {"SendMessage"}, {"Agent"}),
    ],
)
def test_flags_say_which_tools_there_are(
    place: Place, arguments: tuple[str, ...], there: set[str], missing: set[str]
) -> None:
    done, _ = place.run(["Done."], "Go.", *STREAM, *arguments)

    tools = set(done.lines[0]["tools"])
    assert there <= tools
    assert not missing & tools


def test_a_tool_that_there_is_not_is_refused(place: Place) -> None:
    done, _ = place.run([], "Go.", "--tools", "Reed")

    assert done.code == 2
    assert "--tools: unknown tool 'Reed'; expected one of: Agent, Bash," in done.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_agents_are_waited_for_names_what_is_given_up(place: Place, number: int, code: int) -> None:
    """RC-36: the answer is printed before, and nobody waits any longer."""
    never = StreamReply(ending="stall", events=0)
    script = by_prompt({"Go.": [spawn("look", run_in_background=True), "It runs."], "look": [never]})
    with served(script) as server, place.started(server.url, "Go.", *STREAM) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["type"] == "result":
                break
        process.send_signal(number)
        done = end_of(process)

    assert done.code == code
    assert "ended in the background before it was done: a" in done.err
    assert "resume with: " in done.err


class Heard:
    """A printer that keeps what it is told of, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def opened(self, opening: Opening) -> None:
        self.calls.append(("opened", opening.session))

    def show_text(self) -> None:
        raise AssertionError("nobody asked for it")

    def said(self, message: Appended, parent: str | None = None) -> None:
        if message.response is not None and parent is None:
            self.calls.append(("said", message.message.text))

    def told(self, event: object, agent: str = "") -> None:
        raise AssertionError(event)

    def waited(self, quiet_s: float, agent: str = "") -> None:
        raise AssertionError("nothing takes that long")

    def streamed(self, event: Mapping[str, Any], parent: str | None = None) -> None:
        raise AssertionError("nobody asked for it")

    def lines(self, lines: Sequence[Line]) -> None:
        self.calls += [("task", line["subtype"]) for line in lines if line.get("subtype") == "task_notification"]
        beats = [line for line in lines if line["type"] == "tool_progress"]
        self.calls += [("beat", (line["tool_name"], round(line["elapsed_time_seconds"]))) for line in beats]

    def ended(self, ending: Ending, counts: Counts, *, origin: Origin | None = None) -> None:
        self.calls.append(("ended", (ending.text, counts.rounds, origin)))

    def closed(self, abandoned: Sequence[Abandoned], counts: Counts) -> None:
        self.calls.append(("closed", tuple(abandoned)))


@attrs.frozen
class Slow:
    """A disk on which everything takes its time."""

    recording: Any

    def check_open(self) -> None:
        self.recording.check_open()

    async def wait_open(self) -> None:
        await self.recording.wait_open()

    async def commit(self) -> None:
        await trio.sleep(60)
        await self.recording.commit()


def run_in_virtual_time(
    folder: Path,
    rules: Mapping[str, Callable[[ModelRequest], AnswerLike]],
    *,
    ceiling_s: float = math.inf,
    is_slow: bool = False,
    command_s: float = 0,
) -> tuple[list[tuple[str, Any]], float]:
    """Run a prompt and return what a printer was told, and the seconds that it took.

    Args:
        folder: Where.
        rules: What the agents do; each request takes a second.
        ceiling_s: How long agents are waited for.
        is_slow: Whether the disk is.
        command_s: So long a command runs in the background, from the beginning; 0 for none.
    """

    async def command() -> int:
        await trio.sleep(command_s)
        return 0

    heard, model = Heard(), PlaybookModel(rules, wait_s=1.0)
    took: list[float] = []

    async def go() -> None:
        began = trio.current_time()
        tools = (*STANDARD_TOOLS, *AGENT_TOOLS)
        async with open_session(
            model=model, cwd=folder, runs=folder, tools=tools, ports=virtual_ports(), live=(MessageAppended,)
        ) as session:
            if is_slow:
                session._journal = Slow(session._journal)  # type: ignore[assignment]
            events = EventPrinter(session, heard, began_s=began, wall=virtual_ports().clock.wall)
            run = HeadlessRun(session, events, ceiling_s=ceiling_s)
            events.open()
            if command_s:
                session.tasks.table.start(
                    command,
                    id="b00000001",
                    description="c",
                    owner=session.main.id,
                    tool_use_id="",
                    output_file=folder / "b00000001.output",
                    command="c",
                    is_background=True,
                )
            await run.work("Go.")
            took.append(trio.current_time() - began)

    run_virtual(go)
    return heard.calls[1:], took[0]


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def rounds_of(request: ModelRequest) -> int:
    return answers_in(request)


def search(request: ModelRequest, *, rounds: int, answer: str) -> AnswerLike:
    """Take so many seconds, and one more for the answer."""
    return Call("Glob", {"pattern": "*.txt"}) if rounds_of(request) < rounds else answer


def play_main(request: ModelRequest) -> AnswerLike:
    if not rounds_of(request):
        return Call("Agent", {"description": "d", "prompt": "look", "run_in_background": True})
    return "I hear." if "<task-notification>" in request.messages[-1].text else "It runs."


def test_what_happens_before_an_answer_is_on_record_is_printed_behind_its_result(tmp_path: Path) -> None:
    """Mechanism: a result is printed when the answer is on record; the next turn may have come to its end by then."""
    calls, _ = run_in_virtual_time(tmp_path, {"main": play_main, "general-purpose": lambda _: "42."}, is_slow=True)

    assert calls == [
        ("said", ""),
        ("said", "It runs."),
        ("ended", ("It runs.", 2, None)),
        ("task", "task_notification"),
        ("said", "I hear."),
        ("ended", ("I hear.", 1, TASK_NOTIFICATION)),
        ("closed", ()),
    ]


def test_agents_are_waited_for_to_the_second(tmp_path: Path) -> None:
    """RC-36. Mechanism: the ceiling counts from the answer, which is there after two requests of a second each."""

    rules: dict[str, Callable[[ModelRequest], AnswerLike]]
    rules = {"main": play_main, "general-purpose": partial(search, rounds=12, answer="42.")}
    given_up, took = run_in_virtual_time(made(tmp_path / "a"), rules, ceiling_s=10)
    waited, _ = run_in_virtual_time(made(tmp_path / "b"), rules, ceiling_s=13)

    assert took == pytest.approx(12, abs=0.5)
    (_, abandoned) = given_up[-1]
    assert [task.description for task in abandoned] == ["d"]
    assert ("said", "I hear.") not in given_up
    assert waited[-3:] == [("said", "I hear."), ("ended", ("I hear.", 1, TASK_NOTIFICATION)), ("closed", ())]


def test_a_call_that_takes_long_is_spoken_of_while_it_runs(tmp_path: Path) -> None:
    """Mechanism: `HeadlessRun.work` prints signs of life beside the turn."""

    def main(request: ModelRequest) -> AnswerLike:
        return "Done." if rounds_of(request) else Call("Agent", {"description": "d", "prompt": "look"})

    rules: dict[str, Callable[[ModelRequest], AnswerLike]]
    rules = {"main": main, "general-purpose": partial(search, rounds=70, answer="42.")}
    calls, _ = run_in_virtual_time(tmp_path, rules)

    assert [call for call in calls if call[0] == "beat"] == [("beat", ("Agent", 30)), ("beat", ("Agent", 60))]


@pytest.mark.parametrize(("command_s", "heard"), [(16, 2), (30, 1)])
def test_commands_have_some_seconds_from_the_last_agent_on(tmp_path: Path, command_s: float, heard: int) -> None:
    """The agent ends 14 s after the beginning."""
    rules: dict[str, Callable[[ModelRequest], AnswerLike]]
    rules = {"main": play_main, "general-purpose": partial(search, rounds=12, answer="42.")}
    calls, took = run_in_virtual_time(tmp_path, rules, ceiling_s=60, command_s=command_s)

    assert calls.count(("said", "I hear.")) == heard
    assert calls[-1] == ("closed", ())
    assert took < 20


def test_agents_of_agents_are_waited_for_and_heard(tmp_path: Path) -> None:
    """RC-36. Mechanism: what outlives the agent that started it is told to main."""

    def play_child(request: ModelRequest) -> AnswerLike:
        if asked(request) == "inner":
            return search(request, rounds=20, answer="Inner done.")
        if not rounds_of(request):
            return Call("Agent", {"description": "d", "prompt": "inner", "run_in_background": True})
        return "Outer done."

    calls, _ = run_in_virtual_time(tmp_path, {"main": play_main, "general-purpose": play_child}, ceiling_s=600)

    ends = [value for kind, value in calls if kind == "ended"]
    assert ends == [("It runs.", 2, None), ("I hear.", 1, TASK_NOTIFICATION), ("I hear.", 1, TASK_NOTIFICATION)]
    assert calls[-1] == ("closed", ())


def test_agents_that_may_do_more_are_named_in_init_and_on_one_line(place: Place) -> None:
    def run(*flags: str) -> Done:
        script = by_prompt({"Go.": [spawn("look"), "Done."], "look": ["I looked."]})
        return place.run(script, "Go.", "--output-format", "stream-json", *flags)[0]

    free, clamped, wrong = run(), run("--child-permission", "clamped"), run("--child-permission", "none")

    assert (free.code, clamped.code, wrong.code) == (0, 0, 2)
    (line,) = free.err.splitlines()
    assert "act in the mode acceptEdits" in line
    assert "--child-permission clamped" in line
    assert free.lines[0]["childPermissionMode"] == "acceptEdits"
    assert clamped.err == ""
    assert "childPermissionMode" not in clamped.lines[0]
    assert len(wrong.err.splitlines()) == 1


def test_descriptions_that_are_cut_are_counted_in_init(place: Place) -> None:
    def run(count: int) -> dict[str, Any]:
        many = {f"a{number}": {"description": "w" * 500, "prompt": "Do."} for number in range(count)}
        done, _ = place.run(["Done."], "Go.", "--output-format", "stream-json", "--agents", json.dumps(many))
        return done.lines[0]

    assert "agentDescriptions" not in run(3)
    counted = run(150)["agentDescriptions"]
    assert counted["characters"] > 75_000 > counted["shown"]
