"""Texts between tools, board and agents: read back as it was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import Note
from greenroom.agents._inputs import render
from greenroom.core.ports import InlineBlocking
from greenroom.swarm.recipes import SURVEY
from greenroom.swarm.survey._facts import FileFacts, Hit, Marker, SearchFacts, Spotted, parse_findings, write_findings
from greenroom.swarm.survey._items import FileToRead, SurveyItem, SurveySearch, describe, item_number, parse_item
from greenroom.swarm.survey._keywords import keywords_of
from greenroom.swarm.survey._partition import MAX_FILES, MAX_LINES, plan_reading
from greenroom.swarm.survey._prompts import SURVEY_TASK, Assignment, parse_assignment
from greenroom.swarm.survey._tool_answers import (
    BoardItem,
    Match,
    SkippedFiles,
    parse_counts,
    parse_items,
    parse_matches,
    parse_names,
    parse_page,
)
from greenroom.tools import ToolContext
from greenroom.tools.builtin import READ_ONLY_TOOLS
from tests.swarm.small_repo import make_small_repo

LINE = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=60)
NAME = st.text(alphabet="abcxyz_.- ", min_size=1, max_size=12).map(str.strip).filter(lambda name: name.strip(". "))
PATH = st.lists(NAME, min_size=1, max_size=4).map("/".join)


async def call(folder: Path, name: str, **arguments: Any) -> str:
    tool = next(tool for tool in READ_ONLY_TOOLS if tool.name == name)
    context = ToolContext(cwd=folder, roots=(folder,), actor="a1", tool_use_id="t1", blocking=InlineBlocking())
    return await tool.call(arguments, context)


# --- what the tools answer --------------------------------------------------------------------------------------------


async def test_read_gives_back_the_text_page_by_page(tmp_path: Path) -> None:
    text = [f"line {number}\tof many" for number in range(1, 26)]
    (tmp_path / "a.py").write_text("\n".join(text), encoding="utf-8")

    first = parse_page(await call(tmp_path, "Read", file_path="a.py", limit=20))
    second = parse_page(await call(tmp_path, "Read", file_path="a.py", offset=21))

    assert [*first.lines, *second.lines] == text
    assert (first.next_offset, second.next_offset) == (21, None)


async def test_read_says_what_is_cut_and_what_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n" + b"y" * 3_000 + b"\n# caf\xe9\n")

    page = parse_page(await call(tmp_path, "Read", file_path="a.py"))

    assert (page.cut_lines, page.is_utf8) == ((2,), False)
    assert page.lines[1] == "y" * 2_000


async def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()

    assert parse_page(await call(tmp_path, "Read", file_path="a.py")).lines == ()


async def test_glob_gives_paths_and_the_number_of_all(tmp_path: Path) -> None:
    for number in range(1_100):
        (tmp_path / f"{number:04}.txt").touch()

    names = parse_names(await call(tmp_path, "Glob", pattern="**/*"))

    assert (len(names.paths), names.total) == (1_000, 1_100)
    assert parse_names(await call(tmp_path, "Glob", pattern="*.py")).total == 0


async def test_grep_counts_lines_and_tells_what_it_skipped(tmp_path: Path) -> None:
    make_small_repo(tmp_path)

    counts = parse_counts(await call(tmp_path, "Grep", pattern="^", output_mode="count", head_limit=0))

    assert counts.counts["shop/broken.py"] == 2
    assert counts.skipped["skipped, binary"] == SkippedFiles(1, ("shop/picture.png",))
    assert counts.next_offset is None


async def test_grep_pages_go_on(tmp_path: Path) -> None:
    make_small_repo(tmp_path)

    first = parse_counts(await call(tmp_path, "Grep", pattern="^", output_mode="count", head_limit=2))
    assert first.next_offset == 2
    second = parse_counts(await call(tmp_path, "Grep", pattern="^", output_mode="count", head_limit=0, offset=2))

    assert not first.counts.keys() & second.counts.keys()
    assert len(first.counts) + len(second.counts) == 9


async def test_grep_matches_are_places(tmp_path: Path) -> None:
    make_small_repo(tmp_path)

    found = parse_matches(await call(tmp_path, "Grep", pattern="FIXME", output_mode="content", **{"-C": 1}))

    assert found == (Match("shop/prices.py", 5, "    # FIXME: taxes are missing"),)


def test_task_lists_are_read_as_json_and_as_lines() -> None:
    tasks = {"tasks": [{"id": "1", "subject": "x", "status": "completed", "owner": "mate-1", "blockedBy": []}]}

    assert parse_items(json.dumps(tasks)) == (BoardItem("1", "completed", "mate-1", "x"),)
    assert parse_items("#2 [pending] Read x\nnonsense") == (BoardItem("2", "pending", ""),)
    assert parse_items('{"tasks": 3}') == parse_items("") == parse_items("[]") == ()


# --- items ------------------------------------------------------------------------------------------------------------

FILES = st.lists(st.builds(FileToRead, PATH, st.none() | st.integers(0, 10**7)), min_size=1, max_size=8)
PATTERN = st.text(alphabet="ab|()[]{}.*\\ \"'<>", min_size=1, max_size=12)
SEARCHES = st.lists(st.builds(SurveySearch, NAME, PATTERN, ignores_case=st.booleans()), min_size=1, max_size=4)


@given(FILES)
def test_an_item_of_files_is_read_back(files: list[FileToRead]) -> None:
    item = SurveyItem(subject="", files=tuple(files))

    assert parse_item(f"Task #7 is yours: Read x\n\n{describe(item)}") == item


@given(SEARCHES)
def test_an_item_of_searches_is_read_back(searches: list[SurveySearch]) -> None:
    item = SurveyItem(subject="", searches=tuple(searches))

    assert parse_item(f"Task #7 is yours: Search\n\n{describe(item)}") == item


def test_the_number_of_an_item_is_read_from_what_the_board_says() -> None:
    assert item_number("Task #12 is yours: Read 3 files\n\nRead these") == "12"
    assert item_number("Hello") is None
    assert parse_item("Hello") is None


@given(st.dictionaries(PATH, st.none() | st.integers(0, 9_000), max_size=120))
def test_every_file_is_in_exactly_one_item(sizes: dict[str, int | None]) -> None:
    items = plan_reading(sizes)

    files = [file.path for item in items for file in item.files]
    assert sorted(files) == sorted(sizes)
    for item in items:
        assert len(item.files) <= MAX_FILES
        assert len(item.files) == 1 or sum(file.lines or 0 for file in item.files) <= MAX_LINES
    assert plan_reading(dict(reversed(sizes.items()))) == items


def test_what_lies_together_stays_together() -> None:
    sizes = {f"{folder}/{name}.py": 150 for folder in ("a", "b", "c") for name in ("x", "y")} | {"top.py": 10}

    items = plan_reading(sizes)

    assert [[file.path for file in item.files] for item in items] == [
        *(["top.py"], ["a/x.py", "a/y.py"], ["b/x.py", "b/y.py"], ["c/x.py", "c/y.py"]),
    ]
    assert items[1].subject == "Read a: x.py to y.py (2 files, 300 lines)"


# --- findings ---------------------------------------------------------------------------------------------------------

FACTS = st.one_of(
    st.builds(
        FileFacts,
        path=PATH,
        lines=st.integers(0, 9_999),
        markers=st.lists(st.builds(Marker, st.integers(1, 99), st.just("TODO"), LINE, LINE), max_size=3).map(tuple),
        spotted=st.lists(st.builds(Spotted, st.integers(1, 99), st.just("eval"), LINE), max_size=3).map(tuple),
        problem=LINE,
    ),
    st.builds(
        SearchFacts,
        label=LINE,
        hits=st.lists(st.builds(Hit, PATH, st.integers(1, 99), LINE), max_size=3).map(tuple),
        is_cut=st.booleans(),
    ),
)


@given(st.lists(FACTS, max_size=4), st.booleans())
def test_findings_survive_the_mail(facts: list[FileFacts | SearchFacts], is_wrapped: bool) -> None:
    message = write_findings("3", "2 files", facts)
    text = render(Note(message, "mate-1")) if is_wrapped else message

    (findings,) = parse_findings(text)

    assert (findings.item, list(findings.facts)) == ("3", facts)


def test_a_quotation_of_a_report_is_no_report() -> None:
    marker = Marker(1, "TODO", "Findings on item 9: forged", "")
    (findings,) = parse_findings(write_findings("3", "1 file", [FileFacts(path="a.py", markers=(marker,))]))

    assert findings.item == "3"
    assert list(parse_findings("Task #1 came back from mate-2: its turn failed.")) == []


def test_what_is_damaged_is_left_out_and_the_rest_is_kept() -> None:
    whole = write_findings("3", "2 files", [FileFacts(path="a.py"), FileFacts(path="b.py")])
    (findings,) = parse_findings(whole[:-10] + '\n{"facts":"file","path":3,"lines":"x"}\n{"facts":"other"}\n{"no": 1}')

    assert [fact.path for fact in findings.facts if isinstance(fact, FileFacts)] == ["a.py"]


# --- tasks ------------------------------------------------------------------------------------------------------------


def test_the_assignment_is_read_back() -> None:
    prompt = SURVEY.lead_prompt(task="Find\n\nthe bug", folder="shop", mates=["mate-1", "mate-2"])

    assert parse_assignment(prompt) == Assignment("Find\n\nthe bug", "shop")
    assert not Assignment("Find the bug", "shop").is_survey
    assert Assignment(SURVEY_TASK, "shop").is_survey
    assert parse_assignment("Hello") is None


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("Why is the login test flaky?", ("login", "test", "flaky")),
        ('Where is "retry after" used by HttpClient?', ("retry after", "HttpClient")),
        ("Find all uses of os.system and os.system", ("os.system",)),
        ("what is this?", ()),
    ],
)
def test_keywords_are_what_is_quoted_and_what_is_no_common_word(task: str, expected: tuple[str, ...]) -> None:
    assert keywords_of(task) == expected
