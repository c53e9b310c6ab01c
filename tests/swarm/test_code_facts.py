"""The tool CodeFacts: the same facts as from whole files, for programs and for models, and nothing that may not be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom.core.ports import InlineBlocking
from greenroom.swarm.survey import _facts_tool, facts_tool
from greenroom.swarm.survey._facts import FileFacts, parse_facts
from greenroom.swarm.survey._facts_tool import read_facts
from greenroom.tools import InvalidInput, ToolContext
from greenroom.tools.builtin import READ_ONLY_TOOLS
from tests.swarm.planted import make_planted_repo

READ = next(tool for tool in READ_ONLY_TOOLS if tool.name == "Read")


def context_in(folder: Path) -> ToolContext:
    return ToolContext(cwd=folder, roots=(folder,), actor="a1", tool_use_id="t1", blocking=InlineBlocking())


async def look(folder: Path, *files: str, **more: Any) -> str:
    return await facts_tool.call({"files": [*files], **more}, context_in(folder))


async def test_every_fact_of_a_file_is_that_of_reading_all_of_it(tmp_path: Path) -> None:
    make_planted_repo(tmp_path / "shop")
    names = sorted(path.relative_to(tmp_path / "shop").as_posix() for path in (tmp_path / "shop").rglob("*.py"))

    facts = parse_facts(await look(tmp_path / "shop", *names, full=True))

    context = context_in(tmp_path / "shop")
    assert facts == tuple([read_facts(name, [await READ.call({"file_path": name}, context)]) for name in names])
    assert sum(len(fact.spotted) for fact in facts if isinstance(fact, FileFacts)) > 20


async def test_the_short_form_names_places_and_dead_links(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\n\n\ndef f(x=[]):\n    x.append(1)\n    # TODO: later\n", "utf-8")
    (tmp_path / "README.md").write_text("[a](a.py) and [b](gone.md)\n", "utf-8")
    (tmp_path / "x.rs").write_text("fn main() {}\n", "utf-8")

    assert (await look(tmp_path, "a.py", "README.md", "x.rs", "missing.py")).splitlines() == [
        "a.py: 6 lines, 1 functions, 0 classes; 1 of 1 public without documentation (:4 f)",
        "  :4 A mutable default argument that is changed: def f(x=[]):",
        "  :6 TODO later",
        "README.md: 1 lines",
        "  :1 links to gone.md, which is not there",
        "x.rs: 0 lines, 0 functions, 0 classes; there are no rules for files of this kind: use Read",
        "missing.py: 0 lines, 0 functions, 0 classes; does not exist",
    ]


async def test_what_may_not_be_read_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("secret.py", "sub/a.py"):
        (tmp_path / name).write_text("x = 1\n", "utf-8")
    hiding = attrs.evolve(context_in(tmp_path), hides=lambda path: path.endswith("secret.py"))

    hidden = await facts_tool.call({"files": ["secret.py"]}, hiding)
    outside = await look(tmp_path / "sub", "../secret.py")
    above = await look(tmp_path, "../secret.py", path="sub")

    assert "may not be read" in hidden
    assert "outside" in outside
    assert "is not in the folder" in above
    assert "1 lines" in await look(tmp_path, "a.py", path="sub")
    with pytest.raises(InvalidInput):
        await facts_tool.call({"files": "secret.py"}, hiding)


async def test_an_answer_that_is_full_says_how_many_files_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_facts_tool, "ANSWER_CHARS", 40)
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("x = 1\n", "utf-8")

    lines = (await look(tmp_path, "a.py", "b.py", "c.py")).splitlines()

    assert [line[:5] for line in lines] == ["a.py:", "(the "]
    assert lines[-1] == "(the answer is full; not looked at yet: 2)"
