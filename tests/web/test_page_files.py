"""The files of a page: served as they are, with the headers of every answer, and nothing else beside them."""

from __future__ import annotations

import re
from typing import Final

import pytest

from greenroom.serving import Tcp, open_server
from greenroom.serving._endpoints import SECURITY_HEADERS
from greenroom.web._page_files import CONTENT_TYPES, page_endpoints, page_files, uncommented
from tests.web.plain_requests import get

PAGES: Final = {page: page_files(page) for page in ("gateway", "run")}
FILES: Final = PAGES["gateway"] | PAGES["run"]
SCRIPTS: Final = {path: body.decode() for path, (_, body) in FILES.items() if path.endswith(".js")}
MAX_LINES: Final = 500
MAX_SCRIPT_LINES: Final = 4_000
MAX_SCRIPT_BYTES: Final = 150_000
MAX_BYTES: Final = 180_000
ELSEWHERE: Final = (
    "/gateway",
    "/gateway/",
    "/gateway/index.html",
    "/index.html",
    "/base/",
    "/base/../gateway/app.js",
    "/gateway/%61pp.js",
    "/gateway/../../__init__.py",
    "/gateway/..%2f..%2f_page_files.py",
    "//gateway/app.js",
    "/static/gateway/app.js",
    "/_page_files.py",
)


@pytest.mark.promise("A25-f")
@pytest.mark.parametrize("page", PAGES)
async def test_each_file_is_served_with_its_type_and_the_policy_and_nothing_else_is(page: str) -> None:
    async with open_server(page_endpoints(page), listen=[Tcp()]) as server:
        port = int(server.addresses[0].rpartition(":")[2])

        for path, (content_type, body) in PAGES[page].items():
            status, headers, served = await get(port, path)
            assert (status, headers["content-type"], served) == (200, content_type, body)
            assert "script-src 'self';" in headers["content-security-policy"]
            assert "default-src 'none';" in headers["content-security-policy"]
            assert "require-trusted-types-for 'script'" in headers["content-security-policy"]
            assert {name: headers[name.lower()] for name in SECURITY_HEADERS} == SECURITY_HEADERS
        for path in ELSEWHERE:
            status, headers, served = await get(port, path)
            assert (path, status) == (path, 404)
            assert len(served) < 40


@pytest.mark.promise("A25-f")
@pytest.mark.parametrize(
    ("status", "lines"),
    [
        (421, ("Host: localhost.evil.example:PORT",)),
        (421, ("Host: 127.0.0.1",)),
        (403, ("Host: 127.0.0.1:PORT", "Origin: null")),
        (403, ("Host: 127.0.0.1:PORT", "Origin: http://127.0.0.1:1")),
        (403, ("Host: 127.0.0.1:PORT", "Sec-Fetch-Site: cross-site")),
        (403, ("Host: 127.0.0.1:PORT", "Sec-Fetch-Site: same-site")),
        (200, ("Host: 127.0.0.1:PORT", "Origin: http://127.0.0.1:PORT", "Sec-Fetch-Site: same-origin")),
    ],
)
async def test_other_hosts_and_pages_get_no_file(status: int, lines: tuple[str, ...]) -> None:
    async with open_server(page_endpoints("gateway"), listen=[Tcp()]) as server:
        port = server.addresses[0].rpartition(":")[2]
        named = [line.replace("PORT", port) for line in lines]

        assert (await get(int(port), "/gateway/app.js", *named))[0] == status


def test_pages_are_small_files_that_load_nothing_from_elsewhere() -> None:
    lines = {path: len(body.decode().splitlines()) for path, (_, body) in FILES.items()}
    texts = {path: body.decode() for path, (_, body) in FILES.items()}

    assert {path: number for path, number in lines.items() if number > MAX_LINES} == {}
    for files in PAGES.values():
        assert sum(number for path, number in lines.items() if path in SCRIPTS and path in files) <= MAX_SCRIPT_LINES
        assert sum(len(body) for path, (_, body) in files.items() if path in SCRIPTS) <= MAX_SCRIPT_BYTES
        assert sum(len(body) for _, body in files.values()) <= MAX_BYTES
    assert {
        path for path, text in texts.items() if re.search(r"(src|href|from|import|url)\W{1,3}(https?:)?//", text)
    } == set()
    assert {content_type for content_type, _ in FILES.values()} <= set(CONTENT_TYPES.values())


def test_scripts_set_no_markup_and_evaluate_nothing() -> None:
    ways = r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|setHTML\w*|DOMParser|srcdoc)\b"
    found = {(path, sign) for path, text in SCRIPTS.items() for sign in re.findall(ways, text)}

    assert found == {("/base/dom.js", sign) for sign in ("innerHTML", "outerHTML", "srcdoc")}, "there they are refused"


def test_every_import_of_a_script_names_a_file_that_is_served() -> None:
    for path, text in SCRIPTS.items():
        for name in re.findall(r'^import .* from "(.+)";$', text, re.MULTILINE):
            folder = path.rsplit("/", 1)[0]
            target = name.replace("./", f"{folder}/", 1) if name.startswith("./") else name.replace("..", "", 1)
            assert target in FILES, (path, name)
        assert "../gateway" not in text, "what pages share knows no page" if path.startswith("/base") else path


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b"a;\n  // why\nb;\n", b"a;\n\nb;\n"),
        (b"/* why\n * and how */\nb {}\n", b"\n\nb {}\n"),
        (b"/* a */ b {}\nc {} /* d */\n", b"/* a */ b {}\nc {} /* d */\n"),
        (b'const a = "http://b"; // c\n', b'const a = "http://b"; // c\n'),
    ],
)
def test_comments_with_lines_of_their_own_are_not_sent_and_lines_keep_their_numbers(text: bytes, left: bytes) -> None:
    assert uncommented(text) == left
