"""Names of worktrees: whatever they are made of, git takes them as branches and every disk as folders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError, actor_id
from greenroom.core.ports import SeededIds
from greenroom.worktrees import check_name
from greenroom.worktrees._worktree_names import agent_name, is_name, nth_name, random_name, slug_of

# git-check-ref-format(1), for one component.
FORBIDDEN = re.compile(r"^[.-]|\.\.|[\x00-\x20\x7f~^:?*\[\\/]|@\{|\.lock$|\.$|^@?$")


def is_safe(name: str) -> bool:
    return FORBIDDEN.search(name) is None and Path(name).parts == (name,) and len(name.encode()) <= 64


@given(st.text(max_size=200))
def test_every_text_gives_a_safe_name_and_a_name_gives_itself(text: str) -> None:
    slug = slug_of(text)

    assert is_safe(slug)
    assert slug_of(slug) == check_name(slug) == slug


@given(st.text(alphabet="aZ09._-/ ~@{\\\n", max_size=70) | st.text(max_size=5))
def test_only_safe_names_are_taken_as_they_are(text: str) -> None:
    if is_name(text):
        assert is_safe(text)
        assert check_name(text) == text
    else:
        with pytest.raises(UsageError) as caught:
            check_name(text)
        assert "\n" not in str(caught.value)


@given(st.text(alphabet="ab-._", min_size=1, max_size=64).filter(is_name), st.integers(1, 200))
def test_numbered_names_are_names(name: str, number: int) -> None:
    assert is_name(nth_name(name, number))
    assert nth_name(name, number) != nth_name(name, number + 1)


@given(st.integers())
def test_an_agents_name_is_of_the_first_eight_characters_of_its_id(seed: int) -> None:
    agent = actor_id(SeededIds(seed))

    assert agent_name(agent) == f"agent-{agent[:8]}"


@given(st.floats(0, 1, exclude_max=True))
def test_random_names_are_two_words(chance: float) -> None:
    assert re.fullmatch("[a-z]+-[a-z]+", random_name(lambda: chance))
