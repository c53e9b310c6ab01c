"""Forks on disk: a fork's transcript points to what it shares with its parent, and is read as if all of it stood there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import load_conversation
from greenroom.agents._conversation import Conversation
from greenroom.agents._repair import repair
from greenroom.core import UsageError
from greenroom.core.ports import SeededIds
from greenroom.models import Message, ModelResponse, TextBlock, ToolResultBlock, ToolUseBlock, Usage
from greenroom.store import Transcript, TranscriptHeader
from greenroom.store._transcript_reader import read_transcript

IDS: Final = SeededIds(1)
LONG: Final = "a long text of the parent's, " * 50
PLACEHOLDER: Final = "Fork started"


@final
class Home:
    """One agent: its conversation in memory, and its file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / ("main.jsonl" if name == "main" else f"agent-{name}.jsonl")
        self.name = name
        self.conversation = Conversation(self._transcript())
        self.said = 0

    def _transcript(self) -> Transcript:
        header = TranscriptHeader(
            session_id="s", agent_id=self.name, is_sidechain=self.name != "main", cwd="/p", version="0"
        )
        return Transcript(self.path, header, write=write, ids=IDS, wall=lambda: datetime(2026, 11, 21, tzinfo=UTC))

    def fork(self, name: str, directive: str = "Look into it.") -> Home:
        """Return a fork of it, as it is now, that has been told what to do."""
        made = Home(self.path.parent, name)
        messages, shared = self.conversation.messages, self.conversation.shared
        made.conversation = Conversation(made._transcript(), messages)
        made.conversation.write_beginning(shared)
        calls = messages[-1].tool_uses if messages and messages[-1].role == "assistant" else ()
        made.conversation.close_open_calls({call.id: ToolResultBlock(call.id, PLACEHOLDER) for call in calls})
        made.conversation.say([directive])
        return made

    def say(self, text: str, calls: int = 0) -> None:
        """Make the user say something, and the model answer, at most with calls that stay open."""
        open_ones = self.conversation.messages[-1].tool_uses if self.conversation.messages else ()
        self.conversation.say([text], [ToolResultBlock(call.id, f"seen {call.id}") for call in open_ones])
        self.said += 1
        uses = [ToolUseBlock(f"{self.name}-{self.said}-{number}", "Agent", {"n": number}) for number in range(calls)]
        answer = Message("assistant", (TextBlock(LONG + text), *uses))
        self.conversation.answer(ModelResponse(answer.content, "tool_use" if uses else "end_turn", Usage(), "m"))

    def compact(self) -> None:
        self.conversation.close_open_calls()
        self.conversation.compact(["All of it, in short."], trigger="auto", pre_tokens=9, is_turn_open=False)

    def restart(self, *, is_torn: bool = False) -> None:
        """Lose what is in memory, at most with a line torn, and go on with what is on disk."""
        if is_torn:
            write(self.path, b'{"type":"user","message":{"role":"us')
        loaded = load_conversation(self.path)
        transcript = self._transcript()
        transcript.follow(loaded.last_uuid, is_torn=loaded.is_torn)
        self.conversation = Conversation(transcript, loaded.messages, lines=loaded.lines)

    @property
    def is_sound(self) -> bool:
        """Whether what is on disk is what is in memory."""
        expected = repair(self.conversation.messages, closes=False).messages
        return load_conversation(self.path).messages == expected


def write(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


STEPS: Final = st.tuples(
    st.sampled_from(["say", "say", "call", "fork", "fork", "compact", "restart", "torn"]), st.integers(0, 5)
)


@given(st.lists(STEPS, max_size=25))
def test_whatever_happens_to_a_parent_its_forks_are_read_as_they_were(steps: list[tuple[str, int]]) -> None:
    """CL-33: conversations, fork points, forks of forks, and growth, compaction and restarts of the parent since."""
    with TemporaryDirectory() as folder:
        homes = [Home(Path(folder), "main")]
        homes[0].say("Begin.")
        for number, (step, which) in enumerate(steps):
            home = homes[which % len(homes)]
            match step:
                case "say" | "call":
                    home.say(f"{number}", calls=2 if step == "call" else 0)
                case "fork":
                    homes.append(home.fork(f"f{number}"))
                case "compact":
                    home.compact()
                case _:
                    home.restart(is_torn=step == "torn")
            for each_home in homes:
                assert each_home.is_sound, (number, each_home.name)
        for each_home in homes[1:]:
            (pointer,) = [line for line in read_transcript(each_home.path) if line["type"] == "fork-context-ref"]
            assert each_home.path.read_text().count(LONG) == each_home.said, "nothing of the parent's is written again"
            assert pointer["contextLength"] > 0


# --- one by one -------------------------------------------------------------------------------------------------------


def grown(folder: Path, size: int = 5) -> Home:
    """Return a main agent that has said something, and whose last calls are open."""
    home = Home(folder, "main")
    for number in range(size):
        home.say(f"{number}")
    home.say("Fork.", calls=2)
    return home


def test_a_forks_transcript_begins_with_one_line_that_points_into_its_parents(tmp_path: Path) -> None:
    """CL-33"""
    main = grown(tmp_path)
    last = list(read_transcript(main.path))[-1]["uuid"]

    fork = main.fork("f")

    pointer, *own = read_transcript(fork.path)
    assert pointer == {
        "type": "fork-context-ref",
        "timestamp": "2026-11-21T00:00:00.000Z",
        "sessionId": "s",
        "isSidechain": True,
        "agentId": "f",
        "parentSessionId": "s",
        "parentTranscript": "main.jsonl",
        "parentLastUuid": last,
        "contextLength": 12,
    }
    assert [line["parentUuid"] for line in own] == [last, own[0]["uuid"]], "the chain goes on in the parent's file"
    assert fork.path.stat().st_size < 2_000 < main.path.stat().st_size


def test_a_parent_of_which_not_all_is_on_disk_is_written_again(tmp_path: Path) -> None:
    """A conversation may begin with messages of a program's own; no file has them."""
    main = Home(tmp_path, "main")
    main.conversation = Conversation(main._transcript(), [Message.user("Not on disk.")])
    main.say("On disk.")
    assert main.conversation.shared is None
    assert Conversation(None, [Message.user("In memory.")]).shared is None

    fork = main.fork("f")

    assert fork.is_sound
    assert load_conversation(fork.path).messages[0].text == "Not on disk.On disk."
    assert fork.fork("g").is_sound


def test_a_parent_that_was_resumed_without_its_beginning_is_written_again(tmp_path: Path) -> None:
    main = grown(tmp_path)
    loaded = load_conversation(main.path, limit_bytes=3_000)
    assert loaded.lines is None
    transcript = main._transcript()
    transcript.follow(loaded.last_uuid)
    main.conversation = Conversation(transcript, loaded.messages, lines=loaded.lines)

    assert main.conversation.shared is None
    assert main.fork("f").is_sound


def test_a_fork_that_was_cut_before_its_first_message_has_what_it_shares(tmp_path: Path) -> None:
    main = grown(tmp_path)
    fork = main.fork("f")
    fork.path.write_bytes(fork.path.read_bytes().splitlines(keepends=True)[0])
    main.compact()

    loaded = load_conversation(fork.path)

    assert len(loaded.messages) == 12
    assert (loaded.agent_id, loaded.last_uuid) == ("f", main_last_of(fork))
    fork.restart()
    assert fork.fork("e").is_sound
    fork.say("Go on.")
    assert fork.is_sound
    assert fork.fork("g").is_sound


def main_last_of(fork: Home) -> str:
    return str(next(iter(read_transcript(fork.path)))["parentLastUuid"])


def test_what_a_fork_said_itself_can_be_had_alone(tmp_path: Path) -> None:
    fork = grown(tmp_path).fork("f")
    assert all(message.role == "user" for message in load_conversation(fork.path, follows=False).messages)
    fork.say("And now?")

    own = load_conversation(fork.path, follows=False)

    assert [message.role for message in own.messages] == ["user", "assistant"]


# --- pointers that lead nowhere ---------------------------------------------------------------------------------------


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load_conversation(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_parent_that_is_gone_is_named(tmp_path: Path) -> None:
    fork = grown(tmp_path).fork("f")
    (tmp_path / "main.jsonl").unlink()

    text = refusal(fork.path)

    assert "agent-f.jsonl" in text
    assert "main.jsonl" in text
    assert load_conversation(fork.path, follows=False).messages, "what it said itself can be had"


def test_a_parent_without_the_message_that_is_meant_is_named(tmp_path: Path) -> None:
    main = grown(tmp_path)
    fork = main.fork("f")
    lines = main.path.read_bytes().splitlines(keepends=True)
    main.path.write_bytes(b"".join(lines[:-1]))
    assert f"no message {main_last_of(fork)!r}" in refusal(fork.path)


@pytest.mark.parametrize("lost", [0, 3, 10])
def test_a_parent_of_which_a_message_is_damaged_is_named(tmp_path: Path, lost: int) -> None:
    """A conversation with a hole is another one: for the parent itself it is mended, a fork can be started anew."""
    main = grown(tmp_path)
    fork = main.fork("f")
    lines = main.path.read_bytes().splitlines(keepends=True)
    lines[lost] = b"damage\n"
    main.path.write_bytes(b"".join(lines))
    assert "11 of 12" in refusal(fork.path)


def point(fork: Home, **changed: object) -> None:
    """Change the line that points."""
    first, *others = fork.path.read_bytes().splitlines(keepends=True)
    fork.path.write_bytes(orjson.dumps({**orjson.loads(first), **changed}) + b"\n" + b"".join(others))


@pytest.mark.parametrize(
    "changed",
    [
        {"parentTranscript": "../main.jsonl"},
        {"parentTranscript": "/etc/passwd"},
        {"parentTranscript": ".."},
        {"parentTranscript": None},
        {"parentLastUuid": 7},
        {"parentLastUuid": ""},
        {"contextLength": "12"},
        {"contextLength": True},
    ],
)
def test_a_line_that_does_not_say_where_it_points_is_refused(tmp_path: Path, changed: dict[str, object]) -> None:
    """A file of the same folder, a message in it, a number; nothing leads out of the folder."""
    fork = grown(tmp_path).fork("f")
    point(fork, **changed)
    assert "agent-f.jsonl" in refusal(fork.path)


def test_pointers_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    fork = grown(tmp_path).fork("f")
    second = fork.fork("g")
    own = list(read_transcript(second.path))[-1]["uuid"]
    point(fork, parentTranscript="agent-g.jsonl", parentLastUuid=own)
    assert "circle" in refusal(second.path)


# --- where it lies in the parent's file -------------------------------------------------------------------------------


@pytest.mark.parametrize("padding", [0, 1, 250_000, 262_100, 262_144, 600_000])
def test_a_fork_point_is_found_wherever_it_lies_in_the_pieces_that_are_read(tmp_path: Path, padding: int) -> None:
    """Tools show uuids too: only the message itself counts."""
    main = grown(tmp_path)
    fork = main.fork("f")
    main.conversation.close_open_calls()
    main.conversation.say(["x" * padding, f'"uuid":"{main_last_of(fork)}"'])
    main.compact()
    main.say("y" * (padding // 3))
    assert fork.is_sound


def test_what_a_fork_shares_is_read_whole_however_long_it_is(tmp_path: Path) -> None:
    """The limit on what is resumed is for the fork's own lines: what it shares was in memory when it began."""
    main = grown(tmp_path, size=30)
    fork = main.fork("f")

    found = load_conversation(fork.path, limit_bytes=5_000)

    assert found.messages == fork.conversation.messages
    assert found.notes == ("two messages of the user in a row were joined",)
