"""Settings: plain mappings in, attrs objects out, and every mistake named by its full path."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import attrs
import pytest

from greenroom.core import SettingsError, UsageError
from greenroom.core.validation import read_settings


@attrs.frozen(kw_only=True)
class Window:
    width: int = 80
    title: str


@attrs.frozen(kw_only=True)
class Settings:
    name: str = "x"
    windows: list[Window] = attrs.Factory(list)
    limits: dict[str, float] = attrs.Factory(dict)


def test_what_is_missing_takes_its_default() -> None:
    assert read_settings(Settings, {}, source="here") == Settings()


def test_nested_values_become_nested_objects() -> None:
    values = {"name": "y", "windows": [{"title": "a"}, {"title": "b", "width": 3}], "limits": {"now": 2}}

    settings = read_settings(Settings, values, source="here")

    assert settings == Settings(name="y", windows=[Window(title="a"), Window(title="b", width=3)], limits={"now": 2.0})


def test_all_mistakes_are_reported_together_each_with_its_path() -> None:
    values = {"windows": [{"title": "a", "colour": 1}, {"width": "wide", "title": "b"}, {}], "limit": {}}

    with pytest.raises(SettingsError) as caught:
        read_settings(Settings, values, source="settings.json")

    error = caught.value
    assert isinstance(error, UsageError)
    assert error.source == "settings.json"
    assert str(error).startswith("settings.json: ")
    problems = "\n".join(error.problems)
    assert len(error.problems) == 4
    assert "windows[0]: unknown key 'colour'" in problems
    assert "windows[1].width" in problems
    assert "windows[2].title" in problems or "windows[2]" in problems
    assert "unknown key 'limit'" in problems


def test_the_mapping_is_not_changed() -> None:
    values = {"name": "y"}

    read_settings(Settings, values, source="here")

    assert values == {"name": "y"}


@attrs.frozen(kw_only=True)
class Purse:
    usd: Decimal | None = None


@pytest.mark.parametrize("said", ["0.1", 0.1, Decimal("0.1")])
def test_money_is_read_as_it_is_written(said: object) -> None:
    """And not as the nearest binary fraction."""
    assert read_settings(Purse, {"usd": said}, source="here") == Purse(usd=Decimal("0.1"))


@pytest.mark.parametrize("said", ["a tenth", True, "nan", [1]])
def test_what_is_no_amount_is_refused(said: object) -> None:
    with pytest.raises(SettingsError, match=r"usd: .* is not a .*number"):
        read_settings(Purse, {"usd": said}, source="here")


@attrs.frozen(kw_only=True)
class Effort:
    level: str | int | None = None


@pytest.mark.parametrize("value", ["high", 50, None])
def test_a_value_may_be_of_several_plain_kinds(value: object) -> None:
    assert read_settings(Effort, {"level": value}, source="here") == Effort(level=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [[1], True, 0.5, {}])
def test_a_value_of_none_of_its_kinds_is_a_mistake_with_its_path(value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(Effort, {"level": value}, source="here")

    assert caught.value.problems[0].startswith("level: ")


@attrs.frozen(kw_only=True)
class Kinds:
    window: Window | None = None
    windows: dict[str, Window] = attrs.Factory(dict)
    free: dict[str, Any] = attrs.Factory(dict)
    base: Literal["fresh", "head"] = "fresh"
    depth: int = 3
    limit: float | None = None
    names: tuple[str, ...] = ()


@attrs.frozen
class Another:
    free: dict[str, Any] = attrs.Factory(dict)


def test_two_classes_with_fields_of_one_kind_are_read_alike() -> None:
    kinds: tuple[type[Kinds | Another], ...] = (Kinds, Another, Kinds)
    for kind in kinds:
        assert read_settings(kind, {"free": {"a": 1}}, source="here").free == {"a": 1}
        with pytest.raises(SettingsError) as caught:
            read_settings(kind, {"free": []}, source="here")
        assert caught.value.problems == ("free: [] is not an object",)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"window": []}, "window: [] is not an object"),
        ({"windows": {"a": 3}}, "windows['a']: 3 is not an object"),
        ({"windows": 3}, "windows: 3 is not an object"),
        ({"free": []}, "free: [] is not an object"),
        ({"base": "HEAD"}, "base: expected one of fresh, head, got 'HEAD'"),
        ({"base": []}, "base: expected one of fresh, head, got []"),
        ({"depth": 1.5}, "depth: 1.5 is not a whole number"),
        ({"depth": "3"}, "depth: '3' is not a whole number"),
        ({"depth": True}, "depth: True is not a whole number"),
        ({"limit": "3"}, "limit: '3' is not a number"),
        ({"names": "a"}, "names: 'a' is not a list"),
        ({"names": [3]}, "names[0]: 3 is not text"),
        ({"dept": 3}, "top level: unknown key 'dept'; did you mean depth?"),
        ({"zzz": 3}, "top level: unknown key 'zzz'"),
    ],
)
def test_a_mistake_is_said_in_words_of_the_file(values: dict[str, object], said: str) -> None:
    """And not in those of the language that reads it."""
    with pytest.raises(SettingsError) as caught:
        read_settings(Kinds, values, source="here")

    assert caught.value.problems == (said,)


def test_what_fits_is_taken() -> None:
    values = {"window": {"title": "a"}, "free": {"a": [1]}, "limit": 3, "names": ["a"], "base": "head"}

    read = read_settings(Kinds, values, source="here")

    assert read == Kinds(window=Window(title="a"), free={"a": [1]}, limit=3.0, names=("a",), base="head")
