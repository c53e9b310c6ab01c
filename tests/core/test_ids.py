"""Ids: their form, and that the same seed names things the same way."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import actor_id, is_session_id, task_id
from greenroom.core.ports import SeededIds, SystemIds, is_uuid, session_id

WALL = datetime(2026, 11, 20, 22, 51, 3, tzinfo=UTC)


@given(st.integers())
def test_each_kind_of_id_has_its_form(seed: int) -> None:
    ids = SeededIds(seed)

    assert re.fullmatch(r"a[0-9a-f]{16}", actor_id(ids))
    for prefix in "brm":
        assert re.fullmatch(prefix + r"[0-9a-z]{8}", task_id(ids, prefix))
    assert re.fullmatch(r"20261120-225103-[0-9a-z]{6}", session_id(ids, WALL))
    assert is_session_id(session_id(ids, WALL))


@given(st.integers())
def test_the_same_seed_gives_the_same_ids_in_the_same_order(seed: int) -> None:
    one, other = SeededIds(seed), SeededIds(seed)

    assert [actor_id(one), task_id(one, "b")] == [actor_id(other), task_id(other, "b")]


def test_ids_are_not_repeated() -> None:
    ids = SystemIds()

    assert len({actor_id(ids) for _ in range(10_000)}) == 10_000
    assert len({task_id(ids, "m") for _ in range(10_000)}) == 10_000


@pytest.mark.parametrize(
    "text", ["", "last", "20261120-225103-k3f9q", "20261120-225103-K3F9QZ", "20261120-225103-k3f9qz/x"]
)
def test_what_is_no_session_id_is_not_taken_for_one(text: str) -> None:
    assert not is_session_id(text)


@given(st.uuids())
def test_a_uuid_is_the_id_of_a_session_too(chosen: UUID) -> None:
    assert is_uuid(str(chosen))
    assert is_session_id(str(chosen))
    assert not is_uuid(str(chosen).upper()) or str(chosen).upper() == str(chosen)
    assert not is_uuid(chosen.hex)


def test_session_ids_of_one_machine_sort_by_start() -> None:
    ids = SeededIds(1)

    earlier, later = session_id(ids, WALL), session_id(ids, WALL.replace(second=4))

    assert earlier < later
