"""Letters over real Unix sockets: taken once, from processes of the same user, and from nobody else."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio_websocket import ConnectionClosed, ConnectionRejected, wrap_client_stream

from greenroom.core import PeerError, UsageError, open_bare_nursery
from greenroom.remote import Letter, LetterRefused, open_letterbox, send_letter
from greenroom.remote import _letters as letters
from greenroom.remote._letters import MAX_CHARACTERS, MAX_CONNECTIONS, MAX_FRAME, read_letter

LETTER = Letter(id="1", sender="me", text="Hello.")


@attrs.define
class Box:
    """An open letterbox, and what it has taken."""

    path: Path
    taken: list[Letter]

    async def is_well(self) -> bool:
        """Whether it takes a letter still."""
        before = len(self.taken)
        await send_letter(Letter(id=f"after {before}", sender="me", text="x"), path=self.path)
        return len(self.taken) == before + 1


@asynccontextmanager
async def open_box(folder: Path) -> AsyncIterator[Box]:
    taken: list[Letter] = []

    async def take(letter: Letter) -> str:
        if letter.text == "refuse":
            raise PeerError("not today")
        taken.append(letter)
        return "delivered"

    async with open_letterbox(take, path=folder / "s"):
        yield Box(folder / "s", taken)


async def connected(path: Path) -> trio.SocketStream:
    made = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    await made.connect(str(path))
    return trio.SocketStream(made)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with TemporaryDirectory(prefix="gr") as name:
        yield Path(name)


async def speak(path: Path, frame: str | bytes, *more: tuple[bytes, bytes]) -> Any:
    stream = await connected(path)
    try:
        async with open_bare_nursery() as nursery:
            connection = await wrap_client_stream(nursery, stream, "localhost", "/", extra_headers=[*more])
            await connection.send_message(frame)
            answer = await connection.get_message()
            nursery.cancel_scope.cancel()
            return json.loads(answer)
    finally:
        await trio.aclose_forcefully(stream)


async def test_a_letter_is_taken_once_however_often_it_is_sent(folder: Path) -> None:
    """Repeats are dropped, and their sender is told that it is there."""
    async with open_box(folder) as box:
        for _ in range(3):
            await send_letter(LETTER, path=box.path)
        await send_letter(attrs.evolve(LETTER, id="2"), path=box.path)

    assert box.taken == [LETTER, attrs.evolve(LETTER, id="2")]


async def test_an_error_beside_an_open_connection_ends_it_at_once(folder: Path) -> None:
    async with open_box(folder) as box:
        with trio.fail_after(letters.RECEIVE_S / 2), pytest.raises(ValueError, match="beside it"):
            async with letters._connected(box.path):
                raise ValueError("beside it")


async def test_a_page_in_a_browser_is_turned_away(folder: Path) -> None:
    async with open_box(folder) as box:
        with pytest.RaisesGroup(ConnectionRejected):
            await speak(box.path, "{}", (b"Origin", b"http://example.org"))
        assert box.taken == []


BAD_FRAMES = [
    "",
    "no JSON",
    "[]",
    "null",
    b"\x00\xff",
    json.dumps({"id": "1"}),
    json.dumps({"id": "", "sender": "me", "text": "x"}),
    json.dumps({"id": "1", "sender": "me", "text": 3}),
    json.dumps({"id": "1", "sender": "me", "text": "x", "more": 1}),
    json.dumps({"id": "1", "sender": "me", "text": " \n"}),
    json.dumps({"id": "1", "sender": "me", "text": "x" * (MAX_CHARACTERS + 1)}),
    "[" * 100_000,
]


@pytest.mark.parametrize("frame", BAD_FRAMES, ids=range(len(BAD_FRAMES)))
async def test_what_is_no_letter_is_refused_and_changes_nothing(frame: str | bytes, folder: Path) -> None:
    async with open_box(folder) as box:
        assert (await speak(box.path, frame))["ok"] is False
        assert box.taken == []
        assert await box.is_well()


@given(st.text() | st.binary() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_no_frame_reads_as_anything_but_a_letter(frame: str | bytes) -> None:
    with pytest.raises(UsageError):
        read_letter(frame)


async def test_a_frame_without_end_ends_the_connection(folder: Path) -> None:
    async with open_box(folder) as box:
        with pytest.raises(ConnectionClosed):
            await speak(box.path, "x" * (MAX_FRAME + 1))
        assert await box.is_well()


@pytest.mark.parametrize(
    "noise", [b"", b"\x00" * 100, b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"]
)
async def test_noise_is_no_harm(noise: bytes, folder: Path) -> None:
    async with open_box(folder) as box:
        stream = await connected(box.path)
        await stream.send_all(noise)
        await stream.aclose()
        assert await box.is_well()


async def test_those_who_say_nothing_do_not_keep_others_out_for_long(
    autojump_clock: trio.testing.MockClock, folder: Path
) -> None:
    async with open_box(folder) as box:
        idle = [await connected(box.path) for _ in range(MAX_CONNECTIONS)]
        with trio.fail_after(60):
            for stream in idle:
                assert await stream.receive_some() == b""  # the other side has given up
                await stream.aclose()


async def test_the_reason_of_a_refusal_comes_back(folder: Path) -> None:
    async with open_box(folder) as box:
        with pytest.raises(LetterRefused, match="not today") as caught:
            await send_letter(attrs.evolve(LETTER, text="refuse"), path=box.path)
        assert await box.is_well()

    assert caught.value.kind == "refused"


async def test_where_nobody_listens_that_is_said(folder: Path) -> None:
    async with open_box(folder) as box:
        pass
    with pytest.raises(LetterRefused) as caught:
        await send_letter(LETTER, path=box.path)

    assert caught.value.kind == "not_listening"


async def test_one_who_never_answers_is_given_up(folder: Path) -> None:
    """It may have the letter, so the answer is not a refusal."""

    async def take(_: Letter) -> str:
        await trio.sleep_forever()

    async with open_letterbox(take, path=folder / "s"):
        with pytest.raises(LetterRefused) as caught:
            await send_letter(LETTER, path=folder / "s", timeout_s=0.2)

    assert caught.value.kind == "timed_out"


async def test_socket_that_answers_no_handshake_was_sent_nothing(folder: Path) -> None:
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with silent:
        silent.bind(str(folder / "s"))
        silent.listen()
        with pytest.raises(LetterRefused, match=r"nobody answered within 0\.1 s; nothing was sent") as caught:
            await send_letter(LETTER, path=folder / "s", timeout_s=0.1)

    assert caught.value.kind == "not_listening"


@pytest.mark.parametrize("noise", [b"", b"HTTP/1.1 500 No\r\n\r\n", b"\x00" * 9])
async def test_socket_that_closes_before_the_handshake_is_noticed_at_once(
    folder: Path, noise: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """The library would wait for the handshake of a closed connection until the time-out."""

    async def close_at_once(stream: trio.SocketStream) -> None:
        await stream.send_all(noise)
        await stream.aclose()

    listening = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    await listening.bind(str(folder / "s"))
    listening.listen()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, close_at_once, [trio.SocketListener(listening)])
        with pytest.raises(LetterRefused, match=r"nothing was sent|rejected the connection") as caught:
            await send_letter(LETTER, path=folder / "s")
        nursery.cancel_scope.cancel()

    assert caught.value.kind in {"not_listening", "refused"}
    assert trio.current_time() < 1.0


async def test_connection_that_closes_before_the_handshake_keeps_no_place(
    folder: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_box(folder) as box:
        for _ in range(2 * MAX_CONNECTIONS):
            await (await connected(box.path)).aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert await box.is_well()
        assert trio.current_time() < 1.0


@pytest.mark.parametrize("text", [" ", "x" * (MAX_CHARACTERS + 1)])
async def test_what_cannot_be_taken_is_not_sent(text: str, folder: Path) -> None:
    with pytest.raises(UsageError):
        await send_letter(attrs.evolve(LETTER, text=text), path=folder / "s")


def link(folder: Path) -> Path:
    (folder / "s").symlink_to(folder / "elsewhere")
    return folder / "s"


def file(folder: Path) -> Path:
    (folder / "s").write_text("")
    return folder / "s"


def open_to_all(folder: Path) -> Path:
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    return folder / "open" / "s"


@pytest.mark.promise("R10-b")
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (link, "is no socket"),
        (file, "is no socket"),
        (open_to_all, "that nobody else can write"),
        (lambda folder: folder / ("x" * 100), "at most 100 bytes"),
        (lambda folder: folder / "gone" / "s", "cannot be read"),
        (lambda _: Path("s"), "must be absolute"),
    ],
)
async def test_a_path_that_others_could_have_made_is_refused(
    made: Callable[[Path], Path], words: str, folder: Path
) -> None:
    path = made(folder)
    with pytest.raises(UsageError, match=words) as caught:
        await send_letter(LETTER, path=path)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match=words):
        async with open_letterbox(None, path=path):  # type: ignore[arg-type]
            pass


@pytest.mark.promise("R10-b")
async def test_a_socket_of_another_user_is_refused(folder: Path) -> None:
    async with open_box(folder) as box:
        real = os.getuid()
        os.chown(box.path, real + 1, -1) if real == 0 else pytest.skip("only root can give a file away")
        with pytest.raises(UsageError, match="another user's"):
            await send_letter(LETTER, path=box.path)
        assert box.taken == []


@pytest.mark.promise("R10-b")
async def test_a_process_of_another_user_is_not_heard(
    folder: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_box(folder) as box:
        monkeypatch.setattr(letters, "is_same_user", lambda _: False)
        with pytest.raises(LetterRefused):
            await send_letter(LETTER, path=box.path)
        assert box.taken == []


async def test_a_socket_that_a_dead_process_left_is_replaced_and_a_living_ones_is_not(folder: Path) -> None:
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(folder / "s"))
    dead.close()
    async with open_box(folder) as box:
        assert await box.is_well()
        with pytest.raises(UsageError, match="another process listens"):
            async with open_box(folder):
                pass
        assert await box.is_well()
    assert not box.path.exists()


async def test_the_socket_is_for_its_user_alone(folder: Path) -> None:
    async with open_box(folder) as box:
        assert stat.S_IMODE(box.path.stat().st_mode) == 0o600
