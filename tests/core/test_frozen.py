"""Frozen records compare, hash and show themselves as those of attrs do."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from greenroom.core import frozen


@attrs.frozen(kw_only=True)
class Plain:
    """A record of attrs."""

    name: str
    sizes: tuple[int, ...] = ()
    hidden: str = attrs.field(default="", repr=False)
    unequal: int = attrs.field(default=0, eq=False)


@frozen(kw_only=True)
class Late:
    """The same record, whose methods are made late."""

    name: str
    sizes: tuple[int, ...] = ()
    hidden: str = attrs.field(default="", repr=False)
    unequal: int = attrs.field(default=0, eq=False)


@frozen
class Longer(Late):
    """A record with one more field."""

    more: int = 0


@frozen
class Bare:
    """A record without fields."""


@frozen
class Own:
    """A record with methods of its own."""

    number: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


@frozen
class Holder:
    """A record that can hold itself."""

    held: list[Any]


CHANGES: list[dict[str, Any]] = [{}, {"name": "b"}, {"sizes": (1,)}, {"hidden": "x"}, {"unequal": 1}]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_frozen_record_compares_as_one_of_attrs(change: dict[str, Any]) -> None:
    plain, late = Plain(name="a"), Late(name="a")
    other_plain, other_late = attrs.evolve(plain, **change), attrs.evolve(late, **change)

    assert (late == other_late) is (plain == other_plain)
    assert (hash(late) == hash(other_late)) is (hash(plain) == hash(other_plain))
    assert repr(other_late) == repr(other_plain).replace("Plain", "Late")


def test_frozen_record_differs_from_other_classes() -> None:
    assert Longer(name="a") != Late(name="a")
    plain: object = Plain(name="a")
    assert Late(name="a") != plain
    assert Longer(name="a", more=1) != Longer(name="a", more=2)
    assert repr(Longer(name="a", more=1)) == "Longer(name='a', sizes=(), unequal=0, more=1)"


def test_frozen_record_without_fields_equals_its_like() -> None:
    assert Bare() == Bare()
    assert len({Bare(), Bare()}) == 1


def test_frozen_record_keeps_its_own_methods() -> None:
    assert (Own(1) == Own(2), hash(Own(1)), repr(Own(1))) == (True, 7, "own")


def test_hash_of_a_frozen_record_does_not_depend_on_where_its_class_lies() -> None:
    def made() -> Any:
        @frozen
        class Same:
            number: int

        return Same(1)

    assert hash(made()) == hash(made())
    assert made() != made()


def test_frozen_record_refuses_changes() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Late(name="a").name = "b"  # type: ignore[misc]


def test_frozen_record_that_holds_itself_can_be_shown() -> None:
    holder = Holder([])
    holder.held.append(holder)
    assert repr(holder) == "Holder(held=[...])"
