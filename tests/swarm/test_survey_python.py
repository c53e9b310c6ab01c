"""The survey of one Python file."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.swarm.survey._facts import FileFacts, Marker, Measured, Named
from greenroom.swarm.survey._python import survey_python


def survey(source: str, path: str = "shop/prices.py") -> FileFacts:
    return survey_python(path, textwrap.dedent(source).strip("\n").split("\n"))


def kinds(source: str, path: str = "shop/prices.py") -> list[str]:
    return [one.kind for one in survey(source, path).spotted]


SUSPICIOUS = [
    ("eval(input_text)", ["eval"]),
    ("exec(text)", ["eval"]),
    ("import os\nos.system(f'ls {name}')", ["shell"]),
    ("from os import system as run\nrun('ls ' + name)", ["shell"]),
    ("import subprocess as sp\nsp.run(line, shell=True)", ["shell"]),
    ("import requests\nrequests.get(url, timeout=5, verify=False)", ["tls"]),
    ("assert (x, 'why')", ["assert-tuple"]),
    ("breakpoint()", ["debugger"]),
    ("import pdb; pdb.set_trace()", ["debugger"]),
    ("try:\n    f()\nexcept:\n    g()", ["bare-except"]),
    ("try:\n    f()\nexcept Exception:\n    pass", ["swallowed"]),
    ("try:\n    f()\nexcept (ValueError, Exception):\n    ...", ["swallowed"]),
    ("try:\n    f()\nexcept BaseException:\n    x = 1", ["base-exception"]),
    ("def f(a, b=[]): g(b)", ["mutable-read"]),
    ("def f(*, b={}): b['x'] = 1", ["mutable-default"]),
    ("def f(b=[]): b += [1]", ["mutable-default"]),
    ("def f(b=[]):\n    b = b or [1]\n    b.append(2)", ["mutable-read"]),
    ("def f(b=dict()): self.b = b", ["mutable-kept"]),
    ("f = lambda x=[]: x", ["mutable-kept"]),
    ("import pickle\npickle.loads(b)", ["unpickle"]),
    ("import yaml\nyaml.load(text)", ["yaml-load"]),
    ("import yaml\nyaml.load(text, yaml.Loader)", ["unpickle"]),
    ("import tempfile\ntempfile.mktemp()", ["mktemp"]),
    ("y = x is 'text'", ["is-literal"]),
    ("def f():\n    try:\n        g()\n    finally:\n        return 1", ["finally-return"]),
    ("raise NotImplemented", ["not-implemented"]),
    ("raise NotImplemented('later')", ["not-implemented"]),
    ("x = {'a': 1, 'a': 2}", ["same-key"]),
    ("def f(): ...\ndef f(): ...", ["redefined"]),
    ("import time\nasync def f():\n    time.sleep(1)", ["async-blocks"]),
    ("from os import *\ndef f(): ...", ["star-import"]),
    ("print('here')", ["print"]),
    ("y = x == None", ["none-compare"]),
    ("def f():\n" + "".join("    " * n + "if x:\n" for n in range(1, 8)) + "    " * 8 + "y", ["depth"]),
]


@pytest.mark.parametrize(("source", "expected"), SUSPICIOUS)
def test_a_suspicious_pattern_is_spotted(source: str, expected: list[str]) -> None:
    assert kinds(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "model.eval()",
        "def print(x): ...\nprint(1)",
        "print('usage', file=sys.stderr)",
        "import subprocess\nsubprocess.run(['ls'])",
        "import yaml\nyaml.load(text, Loader=yaml.SafeLoader)",
        "try:\n    f()\nexcept:\n    g()\n    raise",
        "try:\n    f()\nexcept BaseException as error:\n    keep(error)",
        "try:\n    f()\nexcept (SystemExit, KeyboardInterrupt):\n    raise\nexcept BaseException:\n    g()",
        "try:\n    f()\nexcept ValueError:\n    pass",
        "def f(a=(), b=None): ...",
        "import time\ndef f():\n    time.sleep(1)",
        "import time\nasync def f():\n    await run(lambda: time.sleep(1))",
        "import time\nasync def f():\n    def g():\n        time.sleep(1)\n    await run(g)",
        "x is None or x is True",
        "def f():\n    try:\n        g()\n    finally:\n        for x in y:\n            break",
        "{1: 'a', True: 'b'}",
        "from typing import overload\n@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): ...",
        "class A:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, value): ...",
        "if x:\n    def f(): ...\nelse:\n    def f(): ...",
        "if a:\n    pass\n" + "".join(f"elif b{n}:\n    pass\n" for n in range(10)),
        "if __name__ == '__main__':\n    print('result')",
        "#!/usr/bin/env python3\nprint('result')",
    ],
)
def test_what_only_looks_like_it_is_left_alone(source: str) -> None:
    assert kinds(source) == []


def test_scripts_tests_and_command_lines_may_print_and_packages_may_use_a_star() -> None:
    for path in ("scripts/go.py", "tests/test_x.py", "shop/cli.py", "shop/__main__.py", "shop/cli/_swarm.py"):
        assert kinds("print(1)", path) == []
    assert kinds("from shop.prices import *", "shop/__init__.py") == []
    assert kinds("print(1)", "shop/tools/go.py") == ["print"]


def test_a_line_that_somebody_accepted_is_counted_apart() -> None:
    facts = survey("x = eval(text)  # noqa: S307 - checked above\ny = eval(text)  # nosec\nz = eval(text)")

    assert [(spot.line, spot.kind) for spot in facts.spotted] == [(3, "eval")]
    assert facts.accepted_count == 2


def test_functions_are_measured_from_their_def_with_their_branches() -> None:
    facts = survey("""
        @cached
        def long(a):
            if a and b:
                return [x for x in y if x]

        class C:
            async def short(self): ...
        """)

    assert facts.measured == (Measured(2, "long", 3, 4), Measured(7, "C.short", 1, 1))
    assert (facts.functions, facts.classes, facts.long_count) == (2, 1, 0)


def test_public_names_without_docstring_are_listed_and_private_or_nested_ones_are_not() -> None:
    facts = survey("""
        def documented():
            '''Is.'''
            def inner(): ...

        def bare(): ...
        def _private(): ...

        class Box:
            '''Holds.'''
            def __init__(self): ...
            def open(self): ...
            def _close(self): ...
            @typing.override
            def shut(self): ...

        class _Hidden:
            def shown(self): ...
        """)

    assert facts.undocumented == (Named(5, "bare"), Named(11, "Box.open"))
    assert facts.public == 4


def test_markers_come_from_comments_with_their_surroundings_and_their_next_line() -> None:
    facts = survey("""
        text = "TODO: not a comment"
        # todo in lower case is a word like any other
        class Shop:
            def sell(self):
                pass  # FIXME: taxes

                # TODO(ada): ask the tax office
                # about the new rules
                # XXX: and this one is another
                return 1
        """)

    assert facts.markers == (
        Marker(5, "FIXME", "taxes", "Shop.sell"),
        Marker(7, "TODO", "(ada): ask the tax office about the new rules", "Shop.sell"),
        Marker(9, "XXX", "and this one is another", "Shop.sell"),
    )


def test_a_file_that_does_not_parse_says_where_and_keeps_its_markers() -> None:
    facts = survey("def broken(:\n    pass  # TODO: mend it")

    assert facts.problem.startswith("not parsed: line 1: ")
    assert facts.markers == (Marker(2, "TODO", "mend it", ""),)
    assert facts.lines == 2


def test_imports_are_kept_with_relative_ones_resolved() -> None:
    source = "import os.path\nfrom . import prices\nfrom ..stock import count\nfrom shop import *"

    assert survey(source, "a/b/__init__.py").imports == (
        "a.b",
        "a.b.prices",
        "a.stock",
        "a.stock.count",
        "os.path",
        "shop",
    )
    assert survey(source, "a/tests/test_b.py").imports == (
        *("a.stock", "a.stock.count", "a.tests", "a.tests.prices", "os.path", "shop"),
    )
    assert survey(source, "a/b.py").imports == ("a", "a.prices", "os.path", "shop", "stock", "stock.count")


def test_modules_that_a_text_names_count_as_imported() -> None:
    source = "patch('shop.stock.count')\nrun([python, '-m', 'shop'])\nload('shop.prices:price')\nsay('e.g. this')"

    assert survey(source, "tests/test_a.py").imports == (*("shop", "shop.__main__", "shop.prices", "shop.stock.count"),)
    assert survey(source, "shop/cli.py").imports == ("shop.prices", "shop.stock.count")
    assert survey(source, "other/cli.py").imports == ()


def test_lines_of_code_are_neither_blank_nor_only_a_comment() -> None:
    assert survey("# one\n\nx = 1  # two\n\n\ny = 2").code_lines == 2


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n"), max_size=40), max_size=30))
@example(["\0"])
@example(["\x0c", "\r", "x = '\\d'"])
@example(["(" * 300])
@example(["-" * 5_000 + "1"])
@example(["x = " + "1" * 5_000])
def test_no_text_is_too_odd(lines: list[str]) -> None:
    facts = survey_python("odd.py", lines)

    assert facts.lines == len(lines)
