"""Names of members: each its owner's for good."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.teams import LEAD
from greenroom.teams._member_names import COLORS, check_name, color_of, free_name, member_id, plain_name

WORDS = st.sampled_from(["writer", "writer-2", "writer-3", "tester", "tester-2"])


@given(st.lists(WORDS, max_size=30))
def test_a_name_is_never_given_twice(wanted: list[str]) -> None:
    """RC-96."""
    used: list[str] = []
    for one in wanted:
        name = free_name(one, used)
        assert name == one or name.removeprefix(f"{one}-").isdecimal()
        used.append(name)
    assert len(set(used)) == len(used)


def test_three_writers_have_three_names() -> None:
    used: list[str] = []
    for _ in range(3):
        used.append(free_name("Writer", used))
    assert used == ["Writer", "Writer-2", "Writer-3"]


@pytest.mark.parametrize(
    "name", ["lead", "main", "team-lead", "Team-Lead", "*", "", " ", "a b", "a/b", "a@b", "-x", "x" * 65]
)
def test_what_stands_for_somebody_else_or_is_no_word_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_name(name)


@pytest.mark.parametrize("name", ["reviewer", "mate-1", "Prüfer", "a.b_c", "x" * 64])
def test_words_are_names(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("to", ["lead", "main", "team-lead", "Main", " lead ", "team-lead@crew", "lead@crew"])
def test_the_lead_is_reached_by_all_of_its_names(to: str) -> None:
    assert plain_name(to, "crew") == LEAD


def test_a_member_is_reached_by_its_name_and_by_its_id() -> None:
    assert plain_name("ann", "crew") == plain_name(member_id("ann", "crew"), "crew") == "ann"
    assert plain_name("ann@other", "crew") == "ann@other"


def test_colors_go_round() -> None:
    assert [color_of(number) for number in range(9)] == [*COLORS, "blue"]
