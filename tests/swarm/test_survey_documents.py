"""The survey of documents, and the files that count as untested."""

from __future__ import annotations

import textwrap

import pytest

from greenroom.swarm.survey._documents import is_document, survey_document
from greenroom.swarm.survey._facts import Facts, FileFacts, TextFacts
from greenroom.swarm.survey._findings import findings_of
from greenroom.swarm.survey._listing import Listing
from greenroom.swarm.survey._survey import Survey
from greenroom.swarm.survey._testmap import untested
from greenroom.swarm.survey._tree_tool import secret_in


def links(text: str, path: str = "docs/guide.md") -> list[tuple[int, str]]:
    return [(link.line, link.kind) for link in survey_document(path, textwrap.dedent(text).split("\n")).links]


def lacking(text: str) -> list[tuple[str, int]]:
    spotted = survey_document("pyproject.toml", textwrap.dedent(text).strip().split("\n")).spotted
    return [(spot.kind, spot.line) for spot in spotted]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](b.md)", "docs/b.md"),
        ('see [a](<b.md> "title") there', "docs/b.md"),
        ("![a](../logo.png)", "logo.png"),
        ("[a](./x/../b.md#part)", "docs/b.md"),
        ("[a](my%20file.md)", "docs/my file.md"),
        ("[a]: b.md", "docs/b.md"),
        ("- [a](b.md)", "docs/b.md"),
    ],
)
def test_a_link_means_a_file_from_the_top(text: str, expected: str) -> None:
    assert links(text) == [(1, expected)]


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://example.org/b.md)",
        "[a](mailto:me@example.org)",
        "[a](#part)",
        "[a](/b.md)",
        "[a](../../b.md)",
        "[a](b)",
        "[a](b.html)",
        "[a](folder/)",
        "[a]({{ page }}.md)",
        "`[a](b.md)`",
        "``[a](`b.md)``",
        "```\n[a](b.md)\n```",
        "~~~md\n```\n[a](b.md)\n~~~",
        "1. ```\n   [a](b.md)\n   ```",
        "<!-- [a](b.md) -->",
        "<!--\n[a](b.md)\n-->",
        "x\n\n    [a](b.md)",
        "[^1]: b.md",
    ],
)
def test_what_is_no_link_to_a_file_beside_it_is_left_alone(text: str) -> None:
    assert links(text) == []


def test_text_after_a_comment_or_a_block_of_code_is_read_again() -> None:
    assert links("<!--\nx\n--> [a](b.md)\n```\nx\n```\n[c](d.md)") == [(3, "docs/b.md"), (7, "docs/d.md")]


def test_documents_are_markdown_of_the_product_and_the_project_file() -> None:
    paths = [
        "README.md",
        "docs/a.markdown",
        "pyproject.toml",
        "tests/a.md",
        "{{name}}/a.md",
        "a/pyproject.toml",
        "a.rst",
    ]

    assert [path for path in paths if is_document(path)] == ["README.md", "docs/a.markdown", "pyproject.toml"]


def test_packaging_says_what_it_lacks_and_where() -> None:
    assert lacking('[project]\nname = "a"') == [("no-requires-python", 1), ("no-licence", 1), ("no-readme", 1)]
    assert lacking('[build]\n[project]\nname = "a"\nreadme = {file = "R.md"}\nlicense = "MIT"') == [
        ("no-requires-python", 2),
        ("no-readme-file", 4),
    ]
    assert lacking('[project]\nname = "a"\nbroken') == [("no-toml", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "[tool.other]\nname = 'a'",
        "[project]\nname = 'a'\ndynamic = ['requires-python', 'readme', 'license']",
        "[project]\nname = 'a'\nrequires-python = '>=3.9'\nclassifiers = ['Private :: Do Not Upload']",
    ],
)
def test_packaging_that_lacks_nothing(text: str) -> None:
    assert lacking(text) == []


@pytest.mark.parametrize(("required", "kinds"), [(">=3.9", ["syntax"]), ("", ["syntax"]), (">=3.99", [])])
def test_what_a_newer_python_may_parse_is_no_finding(required: str, kinds: list[str]) -> None:
    facts: list[Facts] = [
        FileFacts(path="shop/new.py", problem="not parsed: line 3: invalid syntax"),
        TextFacts(path="pyproject.toml", requires_python=required),
    ]
    survey = Survey.gather("shop", Listing(total=2, paths=(), python={}, others={}), facts, ())

    assert [finding.kind for finding in findings_of(survey)] == kinds


def test_a_key_that_stands_for_another_is_none() -> None:
    key = "ghp" + "_a8Kd02mZqP5vXw7Tn3RbL1cYf6GhJ9sUeQ4o"
    head = "-----BEGIN " + "PRIVATE KEY-----"

    assert secret_in("a.py", f"token = '{key}'")
    assert secret_in("key.pem", head)
    assert not secret_in("a.py", f"token = 'ghp_{'x' * 36}'")
    assert not secret_in("a.py", f"example = '{key}'")
    assert not secret_in("a.py", f"if '{head}' in text:")
    assert not secret_in("docs/a.md", head)


def test_a_file_is_tested_if_a_test_imports_it_through_others() -> None:
    files = {
        "shop/__init__.py": FileFacts(path="shop/__init__.py"),
        "shop/a.py": FileFacts(path="shop/a.py", functions=1, imports=("shop.b",)),
        "shop/b.py": FileFacts(path="shop/b.py", functions=1),
        "shop/c.py": FileFacts(path="shop/c.py", functions=1),
        "shop/d.py": FileFacts(path="shop/d.py", functions=1),
        "tests/test_a.py": FileFacts(path="tests/test_a.py", imports=("shop.a.f",)),
        "tests/test_d.py": FileFacts(path="tests/test_d.py"),
    }

    assert [one.path for one in untested(files)] == ["shop/c.py"]


def test_a_folder_that_is_a_package_itself_is_imported_by_its_own_name() -> None:
    files = {
        "__init__.py": FileFacts(path="__init__.py"),
        "a.py": FileFacts(path="a.py", functions=1),
        "_tests/test_x.py": FileFacts(path="_tests/test_x.py", functions=1, imports=("shop.a.f",)),
    }

    assert untested(files, "shop") == ()
    assert [one.path for one in untested(files, "other")] == ["a.py"]
