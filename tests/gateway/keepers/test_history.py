"""The history of a session as tools read it: bounded, masked, by key and by id, open, closed or archived."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.gateway._gateway_errors import NotFound
from greenroom.gateway.keepers._session_history import MAX_BYTES, HistoryMessage, read_messages
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.models import Call
from greenroom.tools import tool
from tests.gateway.keepers.keeping import MAIN, opened, uuid

CHILD = SessionKey.parse(f"agent:main:subagent:{uuid(99)}")


def folder_with(place: Path, texts: list[str]) -> Path:
    (place / "transcripts").mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "type": "assistant" if at % 2 else "user",
            "uuid": str(at),
            "message": {"content": [{"type": "text", "text": text}]},
        }
        for at, text in enumerate(texts)
    ]
    (place / "transcripts" / "main.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n{torn")
    return place


TEXTS = st.lists(
    st.one_of(st.text(min_size=1), st.sampled_from([3_999, 4_001, 39_000, 90_000]).map(lambda size: "é" * size)).filter(
        lambda text: text.strip()
    ),
    max_size=8,
)


@settings(max_examples=40)
@given(texts=TEXTS, limit=st.integers(-1, 500))
def test_pages_reach_every_message_and_none_is_too_large(texts: list[str], limit: int) -> None:
    with TemporaryDirectory() as place:
        folder = folder_with(Path(place), texts)
        ids: list[str] = []
        before: int | None = None
        while True:
            messages, before = read_messages(folder, limit=limit, before=before)
            answer = [message.to_json() for message in messages]
            assert len(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")) <= MAX_BYTES
            ids = [message.id for message in messages] + ids
            if before is None:
                break

    assert ids == [str(at) for at in range(len(texts))]


def test_a_secret_is_masked_before_its_text_is_cut(tmp_path: Path) -> None:
    secret = "s3cret-value-0123456789"
    folder = folder_with(tmp_path, ["x" * 3_990 + secret])

    (message,), _ = read_messages(folder, mask=lambda text: text.replace(secret, "*" * len(secret)))

    assert "s3cret" not in message.text
    assert secret in (folder / "transcripts" / "main.jsonl").read_text()


@tool(name="look")
async def look(what: str) -> str:
    """Look.

    Args:
        what: The thing.
    """
    return f"saw {what}"


async def test_history_is_the_same_by_key_and_id_and_when_archived(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, [[Call("look", {"what": "x"})], "Found."], tools=[look]) as gateway:
        await gateway.say("Look.", uuid(1), CHILD)
        await gateway.watcher.wait_ends(1)
        row = gateway.record.registry.sessions[str(CHILD)]

        by_key = await gateway.keepers.read_history(str(CHILD))
        assert by_key == await gateway.keepers.read_history(row.session_id)
        assert [(message.role, message.text) for message in by_key.messages] == [
            ("user", "Look."),
            ("assistant", "Found."),
        ]
        with_tools = await gateway.keepers.read_history(str(CHILD), include_tools=True)
        assert [message.text for message in with_tools.messages] == ["Look.", "[calls look]", "saw x", "Found."]

        await gateway.keepers.archive(str(CHILD), why="done")
        assert await gateway.keepers.read_history(str(CHILD)) == by_key
        with pytest.raises(NotFound, match="never"):
            await gateway.keepers.read_history("never")
        await gateway.keepers.make(MAIN)
        assert (await gateway.keepers.read_history(str(MAIN))).messages == ()


def test_a_message_as_json_leaves_out_what_is_empty() -> None:
    assert HistoryMessage(role="user", text="Hi.").to_json() == {"role": "user", "text": "Hi."}
