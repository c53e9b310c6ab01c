from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.ports import ThreadBlocking
from greenroom.tools import OutsideRoots, ToolContext, ToolError
from tests.tools.calls import context, make


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `in` that may be used, full of ways out of it, and a folder `out` that may not."""
    top = tmp_path_factory.mktemp("house").resolve()
    make(top, {"in/a/b/file": "x", "in/~/file": "x", "in/file": "x", "out/secret": "x", "inside/file": "x"})
    (top / "in/up").symlink_to("..")
    (top / "in/away").symlink_to(top / "out")
    (top / "in/secret").symlink_to("../out/secret")
    (top / "in/loop").symlink_to("loop")
    (top / "in/ping").symlink_to("pong")
    (top / "in/pong").symlink_to("ping")
    (top / "in/a/back").symlink_to("..")
    (top / "in/a/dangling").symlink_to("../../out/new")
    return top


REAL = "file a b in out inside up away secret loop ping back dangling missing"
STRANGE = ["..", ".", "", "~", "~root", "\0", "\udc80", "\ud800", "x" * 300, "*", " ", "\n", "%2e%2e", "\uff0e\uff0e"]
NAMES = st.sampled_from(["..", *REAL.split(), *STRANGE])


@given(
    st.lists(NAMES, min_size=1, max_size=8).map("/".join) | st.text(max_size=20), st.sampled_from(["", "/", "house/"])
)
def test_no_path_leads_out(house: Path, path: str, start: str) -> None:
    """Whatever a model writes: the answer is refused, or lies within, and opening it leads nowhere else."""
    inside = house / "in"
    text = {"": path, "/": f"/{path}", "house/": f"{house}/{path}"}[start]

    try:
        found = context(inside).resolve(text)
    except ToolError:
        return

    assert found.is_relative_to(inside)
    assert os.path.realpath(found) == str(found)


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("file", "file"),
        (".", "."),
        ("a/../file", "file"),
        ("a/back/file", "file"),
        ("missing/new", "missing/new"),
        ("~/file", "~/file"),
        ("up/in/file", "file"),
        ("../in/file", "file"),
    ],
)
def test_what_lies_within_is_found(house: Path, path: str, leads_to: str) -> None:
    inside = house / "in"

    assert context(inside).resolve(path) == inside / leads_to
    assert context(inside).resolve(f"{inside}/{path}") == inside / leads_to


@pytest.mark.parametrize(
    "path", ["..", "../inside/file", "/", "away/secret", "secret", "a/dangling", "up", "loop/../secret"]
)
def test_what_lies_outside_is_refused_by_name(house: Path, path: str) -> None:
    """A folder whose name only begins like that of a root lies outside too."""
    inside = house / "in"

    with pytest.raises(ToolError) as caught:
        context(inside).resolve(path)

    assert repr(path) in str(caught.value)
    if isinstance(caught.value, OutsideRoots):
        assert caught.value.path == path
        assert caught.value.roots == (inside,)
        assert str(inside) in str(caught.value)


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_what_can_be_no_path_is_refused(house: Path, path: str) -> None:
    with pytest.raises(ToolError):
        context(house / "in").resolve(path)


def test_a_link_that_goes_away_meanwhile_is_a_tool_error(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: object) -> str:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(os.path, "realpath", gone)

    with pytest.raises(ToolError, match="cannot be resolved"):
        context(house / "in").resolve("away/x")


def test_several_roots_and_a_current_folder_outside_of_them(house: Path) -> None:
    ctx = context(house, house / "in", house / "out")

    assert ctx.resolve("out/secret") == house / "out/secret"
    assert ctx.resolve("in/secret") == house / "out/secret"
    with pytest.raises(OutsideRoots):
        ctx.resolve(".")


def test_a_call_reaches_what_it_is_granted_and_what_lies_below(house: Path) -> None:
    """No other call does; and what is beside it stays out of reach."""
    before = context(house / "in")
    ctx = before.granting((house / "out", house / "inside/file"))

    assert ctx.resolve("../out/secret") == ctx.resolve("secret") == house / "out/secret"
    assert ctx.resolve("../inside/file") == house / "inside/file"
    for path in ("../inside", "..", "../inside/file2"):
        with pytest.raises(OutsideRoots):
            ctx.resolve(path)
    for other in (before, before.for_call("toolu_2")):
        with pytest.raises(OutsideRoots):
            other.resolve("secret")


def test_a_root_may_be_a_link(house: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(house / "in")

    ctx = context(link)

    assert ctx.resolve("file") == house / "in/file"
    assert ctx.real_cwd == house / "in"
    assert ctx.real_roots == (house / "in",)


def test_a_context_wants_absolute_folders(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cwd"):
        context(Path("a"))
    with pytest.raises(ValueError, match="root"):
        context(tmp_path, Path("a"))


async def test_progress_and_blocking_go_through_the_ports(tmp_path: Path) -> None:
    shown: list[str] = []
    ctx = context(tmp_path, blocking=ThreadBlocking(), shown=shown)

    ctx.progress("half way")

    assert shown == ["half way"]
    assert await ctx.blocking(int, "ff", base=16) == 255


def test_a_context_shows_whose_call_it_is_and_no_ports(tmp_path: Path) -> None:
    ctx: ToolContext = context(tmp_path)

    assert "toolu_1" in repr(ctx)
    assert "Blocking" not in repr(ctx)
