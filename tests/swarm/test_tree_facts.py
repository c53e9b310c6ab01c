"""The tool TreeFacts: places that only the whole tree shows, and no secret in what it answers."""

from __future__ import annotations

import ast
from pathlib import Path

import attrs
import pytest

from greenroom.core.ports import InlineBlocking
from greenroom.swarm.survey import _linter, _tree_tool, tree_facts_tool
from greenroom.swarm.survey._facts import Placed, TreeFacts, parse_facts
from greenroom.swarm.survey._import_cycles import find_cycles
from greenroom.swarm.survey._module_index import index_module
from greenroom.swarm.survey._python import survey_python
from greenroom.tools import ToolContext
from tests.swarm.planted import make_planted_repo


def context_in(folder: Path) -> ToolContext:
    return ToolContext(cwd=folder, roots=(folder,), actor="a1", tool_use_id="t1", blocking=InlineBlocking())


async def tree_facts(folder: Path) -> TreeFacts:
    (facts,) = parse_facts(await tree_facts_tool.call({"full": True}, context_in(folder)))
    assert isinstance(facts, TreeFacts)
    return facts


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.promise("SV-2")
async def test_answers_hold_the_place_of_a_secret_and_not_its_text(tmp_path: Path) -> None:
    planted = make_planted_repo(tmp_path)
    secrets = {(path, line) for kind, path, line in planted if kind == "secret"}

    full = await tree_facts_tool.call({"full": True}, context_in(tmp_path))
    short = await tree_facts_tool.call({}, context_in(tmp_path))

    for answer in (full, short):
        assert not any(text in answer for text in ("hunter2", "q8Kd02", "a8Kd02"))
    assert all(f"{path}:{line} What looks like a key" in short for path, line in secrets)


@pytest.mark.promise("SV-2")
def test_line_of_a_finding_is_shown_without_its_secret() -> None:
    facts = survey_python("a.py", ['eval(x, password="hunter2hunter2")  # TODO: token = "q8Kd02mZqP5v"'])

    assert [(spot.kind, "hunter2" in spot.text) for spot in facts.spotted] == [("eval", False)]
    assert [marker.text for marker in facts.markers] == ['token = "************"']


async def test_files_that_cannot_be_read_stop_nothing(tmp_path: Path) -> None:
    write(
        tmp_path, broken_py="def (:\n", good_py="def _gone():\n    return 1\n", deep_py=f"x = {'(' * 500}{')' * 500}\n"
    )
    (tmp_path / "nested.py").write_text("x = " + "-" * 20_000 + "1\n", encoding="utf-8")
    (tmp_path / "latin.py").write_bytes(b"name = '\xe9'\n")
    (tmp_path / "nulls.py").write_bytes(b"x = 1\0\n")
    (tmp_path / "long.md").write_text("`" * 3 + "x" * 10_000_000 + "\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[project\n", encoding="utf-8")

    facts = await tree_facts(tmp_path)

    assert facts.found == (Placed("dead-code", "good.py", 1, "_gone"),)


async def test_what_may_not_be_read_is_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path, a_py='PASSWORD = "hunter2hunter2"\n', b_py='PASSWORD = "hunter2hunter2"\n')
    hiding = attrs.evolve(context_in(tmp_path), hides=lambda path: path.endswith("a.py"))

    answer = await tree_facts_tool.call({}, hiding)

    assert "b.py:1" in answer
    assert "a.py" not in answer


async def test_places_of_a_kind_are_capped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tree_tool, "MAX_OF_KIND", 2)
    write(tmp_path, a_py="".join(f"def _f{n}():\n    return 1\n\n\n" for n in range(5)))

    facts = await tree_facts(tmp_path)

    assert (len(facts.found), facts.found_count) == (2, 5)


async def test_folders_with_the_name_of_a_file_are_noted(tmp_path: Path) -> None:
    (tmp_path / "README.md").mkdir()
    write(tmp_path, shop__a_py="x = 1\n")
    (tmp_path / "shop/b.py").mkdir()
    (tmp_path / "shop/v1.2").mkdir()

    facts = await tree_facts(tmp_path)

    assert "Folders with the name of a file: README.md, shop/b.py" in facts.notes


async def test_documents_may_name_empty_and_ignored_files(tmp_path: Path) -> None:
    write(tmp_path, shop__a_py="x = 1\n")
    (tmp_path / "shop/__init__.py").touch()
    (tmp_path / "shop/made.json").write_text("{}\n", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("made.json\n", encoding="utf-8")
    named = "`shop/__init__.py` `shop/made.json` `shop/gone.json` `shop.a.gone`\n"
    (tmp_path / "README.md").write_text(named, encoding="utf-8")

    facts = await tree_facts(tmp_path)

    assert [(placed.kind, placed.text) for placed in facts.found] == [
        ("stale-name", "shop.a.gone"),
        ("stale-path", "shop/gone.json"),
    ]


async def test_a_search_that_is_not_read_whole_says_so_and_blames_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_tree_tool, "MAX_PAGES", 1)
    (tmp_path / "a.yaml").write_text(f"token: {'<your token>' * 30} _named\n" * 400, encoding="utf-8")
    write(tmp_path, b_py="def _named():\n    return 1\n")

    facts = await tree_facts(tmp_path)

    assert facts.found == ()
    assert any(note.startswith("Secrets: ") and "a.yaml" in note for note in facts.notes)


async def test_in_a_tree_that_is_not_read_whole_nothing_is_called_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_tree_tool, "MAX_FILES", 1)
    write(tmp_path, a_py="def _used():\n    return 1\n", b_py="from a import _used\n\nX = _used()\n")

    facts = await tree_facts(tmp_path)

    assert facts.found == ()
    assert any("Unused code and stale documentation" in note for note in facts.notes)


@pytest.mark.promise("SV-3")
@pytest.mark.parametrize(
    ("second", "kinds"),
    [
        ("from shop import a", ["import-cycle"]),
        ("import shop.a", ["import-cycle"]),
        ("try:\n    from shop.a import A\nexcept ImportError:\n    A = 1", ["import-cycle"]),
        ("def f():\n    from shop import a", ["import-cycle-late"]),
        ("from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from shop import a", []),
        ("import types", []),
    ],
)
def test_rings_are_told_by_when_their_imports_run(second: str, kinds: list[str]) -> None:
    texts = {
        "shop/__init__.py": "",
        "shop/a.py": "from shop import b\n\nA = b\n",
        "shop/b.py": second,
        "types.py": "import shop.b",
    }
    index = {path: index_module(path, ast.parse(text)) for path, text in texts.items()}

    assert [placed.kind for placed in find_cycles(index)] == kinds


async def test_without_a_linter_one_line_says_so(tmp_path: Path) -> None:
    write(tmp_path, a_py="x = 1\n")

    facts = await tree_facts(tmp_path)

    assert facts.linter == ""
    assert facts.notes == (_linter.MISSING,)
