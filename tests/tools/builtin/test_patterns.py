"""Patterns that cannot hang, checked against `re` as the oracle."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from greenroom.tools.builtin import _automaton
from greenroom.tools.builtin._automaton import Automaton, SearchBudget
from greenroom.tools.builtin._file_reader import Block
from greenroom.tools.builtin._line_patterns import LinePattern, MultilinePattern, steps
from greenroom.tools.builtin._programs import BadPattern, compile_program, parse

CHARACTERS = "aabbAB_1 .-éßſKİ\t"
ATOMS = st.sampled_from([*CHARACTERS.replace(".", "").replace("-", ""), r"\."]) | st.sampled_from(
    [
        ".",
        "[a-c]",
        "[^a]",
        "[^ab1]",
        r"\d",
        r"\w",
        r"\s",
        r"\W",
        r"[\w.]",
        r"[^\s-]",
        r"\b",
        r"\B",
        "^",
        "$",
        r"\A",
        r"\Z",
        "",
    ]
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, min_size=2, max_size=3).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})")
        | inner.map(lambda one: f"({one})")
        | inner.map(lambda one: f"(?i:{one})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "+?", "{0,2}", "{1,3}", "{2}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        )
    ),
    max_leaves=6,
)
LINES = st.text(CHARACTERS, min_size=1, max_size=8)
EXAMPLES = 2 * settings().max_examples
"""The same each time, so a hundred or two; `make soak` tries 10,000 new ones."""
FLAGS = st.sampled_from([0, re.IGNORECASE, re.ASCII, re.IGNORECASE | re.ASCII]).map(re.RegexFlag)


def block(*lines: str) -> Block:
    return Block("\n".join(lines), len(lines), True, 0)


def line_pattern(pattern: str, flags: int = 0) -> LinePattern:
    return LinePattern(parse(pattern, re.RegexFlag(flags)))


def text_pattern(pattern: str) -> MultilinePattern:
    return MultilinePattern(parse(pattern, re.MULTILINE | re.DOTALL))


@settings(max_examples=EXAMPLES)
@given(PATTERNS, FLAGS, st.lists(LINES, min_size=1, max_size=3))
def test_the_automaton_and_re_agree(pattern: str, flags: re.RegexFlag, lines: list[str]) -> None:
    """On lines that are not empty: there, Python before 3.14 says that `\\B` does not match."""
    parsed = parse(pattern, flags)
    automaton = Automaton(compile_program(parsed), SearchBudget(), says_where=False)

    assert [automaton.matches(line) for line in lines] == [
        re.compile(pattern, flags).search(line) is not None for line in lines
    ]


@settings(max_examples=EXAMPLES)
@given(PATTERNS, FLAGS, st.lists(LINES, min_size=1, max_size=4), st.booleans())
def test_a_block_gives_the_lines_that_re_finds(
    pattern: str, flags: re.RegexFlag, lines: list[str], only_automaton: bool
) -> None:
    parsed = parse(pattern, flags)
    searched = LinePattern(parsed)
    if only_automaton:
        searched.cheap_length = 0

    assert searched.matching(block(*lines)) == [
        at for at, line in enumerate(lines) if re.compile(pattern, flags).search(line)
    ]


@settings(max_examples=EXAMPLES)
@given(PATTERNS, st.text("ab\n1_ ", max_size=10))
def test_spans_are_matches_in_order_and_begin_with_the_first_end(pattern: str, text: str) -> None:
    assume(r"\B" not in pattern)
    parsed = parse(pattern, re.MULTILINE | re.DOTALL)

    spans = list(MultilinePattern(parsed).spans(text))

    assert bool(spans) == (re.compile(pattern, re.MULTILINE | re.DOTALL).search(text) is not None)
    at = 0
    for start, end in spans:
        assert at <= start <= end
        assert re.compile(f"(?:{pattern})(?=(.*))", re.MULTILINE | re.DOTALL).match(text, start)
        at = end


@pytest.mark.parametrize(
    ("pattern", "text", "spans"),
    [
        (r"/\*.*\*/", "/* a */ b /* c\nd */", [(0, 7), (10, 19)]),
        (r"a.*?b", "xaab ab", [(1, 4), (5, 7)]),
        (r"^b", "a\nb\nb", [(2, 3), (4, 5)]),
        (r"a$", "a\na", [(0, 1), (2, 3)]),
        (r"x*", "ax", [(0, 0), (1, 1), (2, 2)]),
        (r"\bb", "ab b", [(3, 4)]),
        (r"\Aa|b\Z", "a b\nb", [(0, 1), (4, 5)]),
        (r"b", "a", []),
    ],
)
def test_a_match_in_a_text_ends_at_the_first_place(pattern: str, text: str, spans: list[tuple[int, int]]) -> None:
    assert list(text_pattern(pattern).spans(text)) == spans


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*b",
        "(a|aa)+$",
        "(a?){40}a{40}b",
        "a?" * 40 + "a" * 40 + "b",
        "(.*)*b",
        "(?:(?:a*)*)*b",
        "(a|a)" * 40 + "b",
    ],
)
def test_patterns_that_hang_re_are_answered(pattern: str) -> None:
    """Each of these takes `re` longer than the universe has existed; `timeout` in the settings would end the test."""
    searched = line_pattern(pattern)

    assert not searched.matches("a" * 60 + "!")
    assert searched.matching(block("a" * 60 + "!", "x", "a" * 90 + "!")) == []
    assert list(text_pattern(pattern).spans("a" * 60 + "!\n" + "a" * 60 + "!")) == []


@pytest.mark.parametrize("pattern", [".*a.*b.*c.*d", r"\w+\s*=\s*\w+\(.*\)", "a*a*a*a*a*b"])
def test_long_lines_go_to_the_automaton(pattern: str) -> None:
    searched = line_pattern(pattern)

    assert searched.cheap_length < 200
    assert not searched.matches("a" * 20_000)


@pytest.mark.parametrize("pattern", ["TODO|FIXME", "def test_", r"\d\d:\d\d", "^import", "a{3,5}b"])
def test_simple_patterns_are_left_to_re_at_any_length(pattern: str) -> None:
    searched = line_pattern(pattern)

    assert searched.cheap_length >= 64 * 1024


def test_steps_grow_with_what_can_be_tried() -> None:
    def bound(pattern: str, length: int) -> float:
        return steps(parse(pattern, re.RegexFlag(0)).tree, length)

    assert bound("abc", 99) == 100
    assert bound("ab|cd|ef", 99) == 300
    assert bound("a?b?", 99) == 400
    assert bound("a*", 99) == 100 * 101
    assert bound("(a*)*", 99) == float("inf")


def test_a_search_that_makes_too_many_states_ends_with_words() -> None:
    """Nothing is wrong with the pattern, but remembering 500 places for each of many lines costs more than it may."""
    searched = line_pattern("(.*[ab].{450})+x")
    lines = [("abc" * at + "ba" * at) * 3 + "x" for at in range(1, 300)]

    with pytest.raises(BadPattern, match="ambiguous"):
        searched.matching(block(*lines))


def test_transitions_are_forgotten_beyond_their_limit_and_answers_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_automaton, "MAX_TRANSITIONS", 1_000)
    searched = line_pattern("(?:[^a]*z)+!")
    searched.cheap_length = 0
    many = "".join(map(chr, range(0x100, 0x1000)))

    for _ in range(3):
        assert searched.matches(f"{many}z!")
        assert not searched.matches(f"{many}!")
    assert searched._automaton._transitions <= 1_000


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", "[", "*", "a{2,1}", r"\q", "(?P<a>x)(?P<a>y)", "a{99999999999}"),
        *("(" * 600 + ")" * 600, "x" * 1_001, "(a{100}){100}", "(?:a{0,50}){50}"),
        *["(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", "(?>a+)b", "a++", "(a)?(?(1)b|c)", "(?a:b)"],
        *["[[:alpha:]]+", "[^[:space:]]", "x[_[:digit:]]"],
    ],
)
def test_what_cannot_be_searched_for_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        line_pattern(pattern)


@given(st.text("ab()[]{}*+?|^$\\.,-:=!<>PiLmsuxdwbBAZ01&~# \n", max_size=12))
def test_any_text_is_a_pattern_or_refused(pattern: str) -> None:
    try:
        searched = line_pattern(pattern)
    except BadPattern:
        return
    searched.matching(block("ab01", "", "aB -"))


def test_odd_sets_do_not_warn() -> None:
    """Python warns of them, for authors of programs; here the author is a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert line_pattern("[[a]b").matches("[b")


def test_classes_that_only_look_like_those_of_posix_are_sets() -> None:
    assert line_pattern(r"[:a:]\[:b:\]").matches("a[:b:]")


def test_turned_off_line_edges_stay_off() -> None:
    assert line_pattern("(?m)(?-m:^)ab").matching(block("x", "ab")) == [1]
