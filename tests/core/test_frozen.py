"""Frozen records compare, hash and show themselves as those of attrs do."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from greenroom.core import altered, frozen, record_maker


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


@attrs.frozen(kw_only=True, weakref_slot=False)
class Private:
    """A record of attrs with a name that its constructor does not have."""

    name: str
    _inner: int = 0


@frozen
class Checked:
    """A record whose constructor does more than to set fields."""

    size: int = attrs.field(converter=int)


@frozen
class Told:
    """A record that is told when it is made."""

    size: int

    def __attrs_post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("too small")


MADE: list[tuple[Any, tuple[Any, ...]]] = [
    (Plain, ("a", (1,), "x", 2)),  # its objects can have weak references
    (Late, ("a", (1,), "x", 2)),
    (Longer, ("a", (1,), "x", 2, 3)),
    (Bare, ()),
    (Own, (4,)),
    (Holder, ([1],)),
    (Private, ("a", 7)),
    (Checked, ("5",)),
    (Told, (5,)),
]


@pytest.mark.parametrize(("kind", "values"), MADE, ids=[kind.__name__ for kind, _ in MADE])
def test_made_record_is_that_of_the_constructor(kind: Any, values: tuple[Any, ...]) -> None:
    names = [field.alias for field in attrs.fields(kind)]
    made, given = record_maker(kind)(*values), kind(**dict(zip(names, values, strict=True)))

    assert (made.__class__, repr(made), made == given) == (kind, repr(given), True)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.anything = 1


def test_maker_calls_the_constructor_where_that_does_more() -> None:
    assert record_maker(Checked)("5") == Checked(5)
    with pytest.raises(ValueError, match="too small"):
        record_maker(Told)(-1)


def test_maker_wants_all_values() -> None:
    for kind in (Late, Plain):
        with pytest.raises((TypeError, ValueError)):
            record_maker(kind)("a")


def test_altered_record_keeps_the_given_one_and_refuses_other_names() -> None:
    private = Private(name="a")
    assert altered(private, name="b", _inner=3) == Private(name="b", inner=3)
    assert private == Private(name="a")
    with pytest.raises(KeyError):
        altered(private, absent=1)
