"""The pages about what waits, what wakes and what survives: their programs run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.inbox import SCHEDULE
from tests.docs.programs import BLOCK, ROOT, blocks_of, run_python
from tests.session.letters import HOLDS, answer, open_one, wait_heard

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SENDERS = ("session.send", "session.inbox.push", "MCP server", "letter", "monitor", "schedule", "session.run")


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("docs/how-to/schedules.md", "True True\n()\n"),
        ("docs/how-to/recovery.md", "It is done.\n"),
        ("docs/how-to/monitors.md", "monitor\n"),
        ("docs/how-to/plain-actor-journals.md", "120\n450\n"),
        ("docs/how-to/teams.md", "ann@crew idle ['ann@crew']\nworker idle\n"),
    ],
)
def test_first_program_of_a_page_prints_what_it_says(page: str, printed: str, tmp_path: Path) -> None:
    shown = re.findall(r"^```text\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)

    assert run_python(blocks_of(page)[0], cwd=tmp_path, HOME=str(tmp_path)) == printed
    assert shown in ([], [printed])


def names_of(program: str) -> dict[str, Any]:
    """Return what a program defines."""
    names: dict[str, Any] = {}
    exec(program, names)
    return names


async def test_the_program_on_letters_lets_a_held_one_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], autojump_clock: MockClock
) -> None:
    (program,) = blocks_of("docs/how-to/letters.md")

    async with open_one(tmp_path) as session, open_one(tmp_path, HOLDS) as holding:
        assert await answer(session, f"session:{holding.id}") == "held"
        await names_of(program)["ask"](holding)
        await wait_heard(holding, "Hello.")

    assert capsys.readouterr().out == f"session:{session.id} Hello.\n"


async def test_the_program_on_recovery_says_what_a_run_has_left(tmp_path: Path, autojump_clock: MockClock) -> None:
    _, program = blocks_of("docs/how-to/recovery.md")
    is_done = names_of(program)["is_done"]

    async with open_one(tmp_path) as session:
        await session.run("begin")
    assert await is_done(session.run_folder)
    async with open_one(tmp_path, resume=session.run_folder) as session:
        session.main.suspend()
        await session.inbox.accept("fire@1", "wake up", origin=SCHEDULE)
        session.kill()
    assert not await is_done(session.run_folder)


def test_the_program_on_stores_is_a_test_that_passes(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/explanation/delivery.md")

    assert run_python(f"{program}\nfor rule in INBOX_RULES: test_our_store(rule)\n", cwd=tmp_path) == ""


def test_the_table_of_delivery_has_a_row_for_each_sender() -> None:
    page = (ROOT / "docs/explanation/delivery.md").read_text(encoding="utf-8")
    section = page.partition("## Who loses what")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")]

    assert [name for name in SENDERS if not any(name in row[0] for row in rows)] == []
    assert {len(row) for row in rows} == {4}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_page_with_a_program_is_named_by_a_test_of_the_documents(path: Path) -> None:
    """A page that no test reads has programs that nobody runs."""
    if BLOCK.search(path.read_text(encoding="utf-8")):
        paths = [*Path(__file__).parent.glob("*.py"), *ROOT.joinpath("tests").rglob("test_*_page.py")]
        tests = [test.read_text(encoding="utf-8") for test in paths]
        assert any(path.relative_to(ROOT).as_posix() in test or f'"{path.name}"' in test for test in tests)
