from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.tools import ToolContext, ToolError
from greenroom.tools.builtin import HttpFetcher, make_web_fetch_tool
from greenroom.tools.builtin._html import text_of_html
from greenroom.tools.builtin._web_fetch import FetchedPage
from tests.tools.calls import context

HOME = "https://example.org/"


@attrs.define
class Web:
    """Pages by address; remembers who was asked, and for what there was permission."""

    pages: dict[str, FetchedPage]
    fetched: list[str] = attrs.field(factory=list)
    permitted: list[str] = attrs.field(factory=list)
    refused: str = "never"

    async def fetch(self, url: str, *, most_bytes: int) -> FetchedPage:
        assert url in self.permitted
        self.fetched.append(url)
        return self.pages[url]

    async def permit(self, url: str, ctx: ToolContext) -> None:
        assert ctx.tool_use_id == "toolu_1"
        if self.refused in url:
            raise ToolError(f"{url} is not allowed")
        self.permitted.append(url)

    async def get(self, url: str = HOME, **more: Any) -> str:
        return await make_web_fetch_tool(self, permit=self.permit).call({"url": url, **more}, context(Path("/")))


def html(text: str) -> FetchedPage:
    return FetchedPage(status=200, content=text.encode(), content_type="text/html; charset=utf-8")


async def test_a_page_is_its_text() -> None:
    page = "<head><title>T</title><script>x</script></head><h1>One &amp; two</h1><p>A <b>bold</b>\n word<ul><li>a<li>b</ul>"

    assert await Web({HOME: html(page)}).get() == "# One & two\nA bold word\n- a\n- b"


@pytest.mark.parametrize("target", ["", "https://elsewhere.org/"], ids=["page", "redirect"])
async def test_hooks_are_told_how_the_server_answered(target: str) -> None:
    web = Web({HOME: attrs.evolve(html("Hello"), location=target, status=301 if target else 200)})
    ctx = context(Path("/")).heard()

    text = await make_web_fetch_tool(web, permit=web.permit).call({"url": HOME}, ctx)

    told = dict(ctx.workspace.responses[ctx.tool_use_id])
    assert told.pop("durationMs") >= 0
    code, words = (301, "Moved Permanently") if target else (200, "OK")
    assert told == {"bytes": 5, "code": code, "codeText": words, "result": text, "url": HOME}


@given(
    st.lists(
        st.sampled_from(["<p>", "</p>", "<script>", "</script>", "<pre>", "</pre>", "a ", "\n", "<", "&lt;", "<!--"])
    )
)
def test_any_text_is_read_as_a_page(parts: list[str]) -> None:
    assert "\n\n\n" not in text_of_html("".join(parts))


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (FetchedPage(status=200, content=b'{"a": 1}', content_type="application/json"), '{"a": 1}'),
        (FetchedPage(status=200, content="é".encode("latin-1"), content_type='text/plain; charset="latin-1"'), "é"),
        (FetchedPage(status=200, content=b"x", content_type="text/plain; charset=no-such"), "x"),
        (FetchedPage(status=200, content=b"\xef\xbb\xbfx"), "x"),
        (FetchedPage(status=200, content=b" \n", content_type="text/html"), f"({HOME} holds no text)"),
        (FetchedPage(status=200, content=b"x", is_cut=True), f"x\n({HOME}: only the first 5242880 bytes were read)"),
    ],
)
async def test_other_texts_stay_as_they_are(page: FetchedPage, text: str) -> None:
    assert await Web({HOME: page}).get() == text


async def test_a_long_text_is_cut() -> None:
    answer = await Web({HOME: FetchedPage(status=200, content=b"x" * 70_000)}).get()

    assert answer == "x" * 60_000 + f"\n({HOME}: the first 60000 of 70000 characters)"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (FetchedPage(status=404, content=b""), "status 404"),
        (FetchedPage(status=200, content=b"x", content_type="image/png"), "image/png, which is not text"),
        (FetchedPage(status=200, content=b"a\0b", content_type="text/plain"), "not text"),
    ],
)
async def test_what_is_no_page_is_a_tool_error(page: FetchedPage, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        await Web({HOME: page}).get()


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org", "ftp://example.org/", "file:///etc/passwd", "https://", "https:///x", "https://[x/"),
        *("https://me:secret@example.org/", "https://example.org/a b", "https://example.org/\n", "http://a:99999/"),
        "https://example.org/" + "x" * 2_000,
    ],
)
async def test_what_is_no_address_is_refused_before_anybody_is_asked(url: str) -> None:
    web = Web({})

    with pytest.raises(ToolError):
        await web.get(url)

    assert (web.permitted, web.fetched) == ([], [])


async def test_without_permission_nobody_is_asked() -> None:
    web = Web({HOME: html("x")}, refused="example")

    with pytest.raises(ToolError, match="not allowed"):
        await web.get()

    assert web.fetched == []


@pytest.mark.parametrize(
    ("start", "location", "is_followed"),
    [
        (HOME, "/b", True),
        (HOME, "https://www.example.org/b", True),
        ("http://example.org/", "https://example.org/b", True),
        (HOME, "http://example.org/b", False),
        (HOME, "https://example.org:8443/b", False),
        (HOME, "https://example.org.evil.test/b", False),
        (HOME, "//other.test/b", False),
    ],
)
async def test_redirects_are_followed_on_the_same_host_only(start: str, location: str, is_followed: bool) -> None:
    web = Web({start: FetchedPage(status=302, content=b"", location=location)})
    target = "https://example.org/b" if location == "/b" else f"https:{location}" if location[0] == "/" else location
    web.pages[target] = html("there")

    answer = await web.get(start)

    assert answer == (
        "there" if is_followed else f"({start} redirects to another host: {target}; fetch that if it is wanted)"
    )
    assert web.fetched == ([start, target] if is_followed else [start])


async def test_redirects_are_put_before_the_permission_and_have_an_end() -> None:
    web = Web({HOME: FetchedPage(status=302, content=b"", location="/private")}, refused="private")
    with pytest.raises(ToolError, match="not allowed"):
        await web.get()

    with pytest.raises(ToolError, match="more than 5 times"):
        await Web({HOME: FetchedPage(status=302, content=b"", location="/")}).get()


@pytest.mark.parametrize("location", ["file:///etc/passwd", "https://me:secret@example.org/"])
async def test_a_redirect_to_what_is_no_address_is_refused(location: str) -> None:
    with pytest.raises(ToolError):
        await Web({HOME: FetchedPage(status=302, content=b"", location=location)}).get()


async def test_a_question_is_answered_by_whoever_digests() -> None:
    web = Web({HOME: html("forty-two")})

    async def digest(question: str, text: str) -> str:
        return f"{question} {text}!"

    answering = make_web_fetch_tool(web, permit=web.permit, digest=digest)

    assert await answering.call({"url": HOME, "prompt": "What?"}, context(Path("/"))) == "What? forty-two!"
    assert await answering.call({"url": HOME}, context(Path("/"))) == "forty-two"


# --- over a real socket ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def server(answer: bytes, *, is_endless: bool = False) -> AsyncIterator[str]:
    """A server on loopback that says the same to everybody, and perhaps goes on forever."""

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some(10_000)
            try:
                await stream.send_all(answer)
                while is_endless:
                    await stream.send_all(b"x" * 10_000)
            except trio.BrokenResourceError:
                pass

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/"
        nursery.cancel_scope.cancel()


def reply(head: str, body: bytes = b"") -> bytes:
    return f"HTTP/1.1 {head}\r\nconnection: close\r\n\r\n".encode() + body


async def test_a_page_comes_over_http() -> None:
    async with server(reply("200 OK\r\ncontent-type: text/html", b"<p>hi")) as url:
        page = await HttpFetcher().fetch(url, most_bytes=100)

    assert page == FetchedPage(status=200, content=b"<p>hi", content_type="text/html")


async def test_an_endless_page_is_read_to_the_limit_only() -> None:
    async with server(reply("200 OK\r\ncontent-type: text/plain"), is_endless=True) as url:
        page = await HttpFetcher().fetch(url, most_bytes=50_000)

    assert (page.content, page.is_cut) == (b"x" * 50_000, True)


async def test_a_redirect_is_told_and_not_followed() -> None:
    async with server(reply("302 Found\r\nlocation: /b")) as url:
        page = await HttpFetcher().fetch(url, most_bytes=100)

    assert (page.status, page.location) == (302, "/b")


@pytest.mark.parametrize(("answer", "reason"), [(b"", "cannot be fetched"), (b"nonsense\r\n\r\n", "cannot be fetched")])
async def test_what_is_no_answer_is_a_tool_error(answer: bytes, reason: str) -> None:
    async with server(answer) as url:
        with pytest.raises(ToolError, match=reason):
            await HttpFetcher().fetch(url, most_bytes=100)


async def test_a_server_that_is_too_slow_is_given_up() -> None:
    async with server(reply("200 OK\r\ncontent-type: text/plain"), is_endless=True) as url:
        with pytest.raises(ToolError, match=r"did not answer within 0.05 s"):
            await HttpFetcher(timeout_s=0.05).fetch(url, most_bytes=10**12)


# --- names that lead somewhere else ------------------------------------------------------------------------------------


class Names(trio.abc.HostnameResolver):
    """Answers look-ups from a list, one after the other: the last answer stands for all that follow."""

    def __init__(self, *answers: list[str]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def getaddrinfo(self, host: Any, port: Any, *_: Any, **__: Any) -> Any:
        self.asked.append(host.decode() if isinstance(host, bytes) else host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        kind = {True: trio.socket.AF_INET6, False: trio.socket.AF_INET}
        return [(kind[":" in one], trio.socket.SOCK_STREAM, 6, "", (one, int(port))) for one in answer]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    "answer",
    [
        ["127.0.0.1"],
        ["10.0.0.7"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["fe80::1%eth0"],
    ],
)
async def test_public_name_that_leads_to_a_private_address_is_refused(answer: list[str]) -> None:
    trio.socket.set_custom_hostname_resolver(Names(answer))
    async with server(reply("200 OK", b"secret")) as url:
        with pytest.raises(ToolError, match=r"leads to .* private network"):
            await HttpFetcher().fetch(url.replace("127.0.0.1", "example.com"), most_bytes=100)


async def test_connection_goes_to_the_address_that_was_looked_up() -> None:
    names = Names(["127.0.0.1"], ["10.255.255.1"])
    trio.socket.set_custom_hostname_resolver(names)
    async with server(reply("200 OK", b"hello")) as url:
        page = await HttpFetcher().fetch(url.replace("127.0.0.1", "localhost"), most_bytes=100)

    assert page.content == b"hello"
    assert names.asked == ["localhost"]


async def test_next_address_is_tried_where_one_refuses() -> None:
    trio.socket.set_custom_hostname_resolver(Names(["127.0.0.2", "127.0.0.1"]))
    async with server(reply("200 OK", b"hello")) as url:
        page = await HttpFetcher().fetch(url.replace("127.0.0.1", "localhost"), most_bytes=100)

    assert page.content == b"hello"
