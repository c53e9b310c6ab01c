"""The history of a session as tools and clients read it: bounded, masked, open, closed or archived."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.gateway.keepers._session_history import MAX_BYTES, HistoryDetail, read_page
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.models import Call
from greenroom.session.record._resume import conversation_file
from greenroom.tools import tool
from tests.gateway.keepers.keeping import opened, uuid

CHILD = SessionKey.parse(f"agent:main:subagent:{uuid(99)}")


def transcript_of(place: Path, texts: list[str]) -> Path:
    lines = [
        {
            "type": "assistant" if at % 2 else "user",
            "uuid": str(at),
            "message": {"content": [{"type": "text", "text": text}]},
        }
        for at, text in enumerate(texts)
    ]
    (place / "main.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n{torn")
    return place / "main.jsonl"


TEXTS = st.lists(
    st.one_of(st.text(min_size=1), st.sampled_from([3_999, 4_001, 39_000, 90_000]).map(lambda size: "é" * size)).filter(
        lambda text: text.strip()
    ),
    max_size=8,
)


@settings(max_examples=40)
@given(texts=TEXTS, limit=st.integers(-1, 500), by_skip=st.booleans())
def test_pages_reach_every_message_and_none_is_too_large(texts: list[str], limit: int, *, by_skip: bool) -> None:
    with TemporaryDirectory() as place:
        path = transcript_of(Path(place), texts)
        ids: list[str] = []
        before: int | None = None
        skip: int | None = 0
        while True:
            page = (
                read_page(path, limit=limit, skip=skip or 0) if by_skip else read_page(path, limit=limit, before=before)
            )
            answer = [shown for message in page.messages for shown in message.as_texts()]
            assert len(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")) <= MAX_BYTES
            ids = [message.id for message in page.messages] + ids
            before, skip = page.before, page.skip
            if before is None:
                break

    assert skip is None
    assert ids == [str(at) for at in range(len(texts))]


@pytest.mark.promise("A16-e")
def test_a_message_of_a_megabyte_is_replaced_by_a_marker(tmp_path: Path) -> None:
    path = transcript_of(tmp_path, ["first", "x" * 1_000_000, "last"])

    page = read_page(path, limit=10)

    assert [shown["text"] for message in page.messages for shown in message.as_texts()] == [
        "first",
        "[message of 1,000,000 bytes left out]",
        "last",
    ]
    assert page.messages[1].as_row() == {"role": "assistant", "omitted": "[message of 1,000,000 bytes left out]"}


def test_a_secret_is_masked_before_its_text_is_cut(tmp_path: Path) -> None:
    secret = "s3cret-value-0123456789"
    path = transcript_of(tmp_path, ["x" * 3_930 + secret + "y" * 1_000])

    (message,) = read_page(path, limit=1, mask=lambda text: text.replace(secret, "*" * len(secret))).messages

    assert "s3cret" not in str(message)
    assert message.as_texts()[0]["truncated"]
    assert secret in path.read_text()


@tool(name="look")
async def look(what: str) -> str:
    """Look.

    Args:
        what: The thing.
    """
    return f"saw {what}"


async def test_each_detail_shows_its_blocks_also_of_an_archived_session(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, [[Call("look", {"what": "x"})], "Found."], tools=[look]) as gateway:
        await gateway.say("Look.", uuid(1), CHILD)
        await gateway.watcher.wait_ends(1)
        row = gateway.record.registry.sessions[str(CHILD)]
        folder = gateway.state / "agents/main/sessions" / row.session_id

        def read(detail: HistoryDetail) -> list[tuple[str, str]]:
            page = read_page(conversation_file(folder), limit=10, detail=detail)
            return [(shown["role"], shown["text"]) for message in page.messages for shown in message.as_texts()]

        said, call = [("user", "Look."), ("assistant", "Found.")], ("toolResult", "[calls look] x")
        assert read("texts") == said
        assert read("calls") == [said[0], call, said[1]]
        assert read("results") == [said[0], call, ("toolResult", "saw x"), said[1]]

        await gateway.keepers.archive(str(CHILD), why="done")
        assert read("texts") == said
