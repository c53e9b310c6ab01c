"""Every field of every spec is checked where it is made, and the error names the class, the field and the value."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, get_args

import attrs
import pytest

import greenroom
from greenroom.agents import AgentDefinition
from greenroom.core import UsageError
from greenroom.core.validation._validators import _Check, _hints, fits
from greenroom.mailbox import MailboxPolicy
from greenroom.permissions import Effect, Policy, Request, Rule, Scope, Update, parse_rule
from greenroom.permissions import Source as RuleSource
from greenroom.supervisor import Backoff, ChildSpec, SupervisorSpec


class Odd:
    """Of no kind that a field could want."""

    def __repr__(self) -> str:
        return "<odd>"


WRONG: Final = (Odd(), 5, 1.5, -1, True, None, "odd", b"odd", [Odd()], {"odd": Odd()}, float("nan"))
PLAIN: Final[dict[str, Any]] = {"name": "n", "kind": "addRules", "destination": Scope.SESSION, "tool": "Read"}
PUBLIC: Final = (AgentDefinition, ChildSpec, SupervisorSpec)


def checked_classes() -> list[type[Any]]:
    """Return the classes behind the faces of all folders whose fields are checked."""
    found: dict[type[Any], None] = {}
    for module in pkgutil.walk_packages(greenroom.__path__, "greenroom."):
        if any(part.startswith("_") for part in module.name.split(".")[1:]):
            continue
        face = importlib.import_module(module.name)
        for one in (getattr(face, name) for name in getattr(face, "__all__", ())):
            if inspect.isclass(one) and attrs.has(one) and _is_checked(one):
                found[one] = None
    return list(found)


def _is_checked(owner: Any) -> bool:
    return any(isinstance(field.validator, _Check) for field in attrs.fields(owner))


CLASSES: Final = checked_classes()
FIELDS: Final = [(each_class, field) for each_class in CLASSES for field in attrs.fields(each_class) if field.init]


def required(owner: Any) -> dict[str, Any]:
    """Return values for the fields without a default."""
    return {
        field.alias: PLAIN.get(field.name, _usual(_hints(owner).get(field.name)))
        for field in attrs.fields(owner)
        if field.init and field.default is attrs.NOTHING
    }


RULE: Final[Any] = parse_rule("Read", effect=Effect.ALLOW, source=RuleSource(scope=Scope.SESSION))[0]


def _usual(hint: Any) -> Any:
    usual = (
        RULE,
        RULE.source,
        Policy(home="/h"),
        Decimal(1),
        {},
        (),
        "x",
        1,
        *get_args(hint),
        *getattr(hint, "__members__", {}).values(),
    )
    return next((value for value in usual if fits(value, hint)), Path("x"))


def test_the_specs_of_the_public_names_are_all_checked() -> None:
    for spec in (*PUBLIC, Backoff, MailboxPolicy, Update, Request, Rule):
        assert spec in CLASSES
        assert all(isinstance(field.validator, _Check) for field in attrs.fields(spec))
    assert len(CLASSES) > 25


@pytest.mark.parametrize(("owner", "field"), FIELDS, ids=lambda one: getattr(one, "__name__", getattr(one, "name", "")))
def test_a_value_of_the_wrong_kind_is_refused_by_name(owner: Any, field: attrs.Attribute[Any]) -> None:
    hint = _hints(owner)[field.name]
    given = required(owner)
    for value in WRONG:
        if fits(value, hint):
            continue
        with pytest.raises((UsageError, TypeError)) as caught:
            arguments: dict[str, Any] = {**given, str(field.alias): value}
            made = owner(**arguments)
            # A converter may have made something sound of it, such as a mapping of nothing.
            if fits(getattr(made, field.name), hint):
                raise UsageError(f"{owner.__name__} {field.name} {value!r}")
        said = str(caught.value)
        assert owner.__name__ in said
        assert field.name.lstrip("_") in said
        assert any(
            text in said for text in (repr(value), str(value), repr(tuple(value) if isinstance(value, list) else 0))
        )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SupervisorSpec(backoff=None), "SupervisorSpec.backoff must be of the class Backoff, got None"),  # type: ignore[arg-type]
        (lambda: SupervisorSpec(intensity=-1), "SupervisorSpec.intensity must be 0 or more, got -1"),
        (lambda: SupervisorSpec(period_s=0), "SupervisorSpec.period_s must be more than 0, got 0"),
        (
            lambda: ChildSpec(grace_s=float("inf")),
            "ChildSpec.grace_s must be a finite number of seconds, 0 or more, got inf",
        ),
        (lambda: ChildSpec(restart="often"), "one of 'permanent', 'transient', 'temporary', got 'often'"),
        (lambda: ChildSpec(depends_on="ab"), "ChildSpec.depends_on must be a sequence of texts, got 'ab'"),
        (lambda: Backoff(jitter=float("nan")), "Backoff.jitter must be 0 or more, got nan"),
        (lambda: MailboxPolicy(stash_capacity=-1), "MailboxPolicy.stash_capacity must be 0 or more, got -1"),
        (lambda: AgentDefinition(name="a", tools="Read"), "AgentDefinition.tools must be a sequence of texts or None"),  # type: ignore[arg-type]
        (lambda: AgentDefinition(name="a", max_turns=0), "AgentDefinition.max_turns has to be at least 1, not 0"),
        (lambda: Update(kind="addRules", destination="session", behavior="allow"), "Update.destination must be one of"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_said_in_words(make: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()

    assert said in str(caught.value)


def test_lists_and_whole_numbers_are_taken_where_they_mean_no_harm() -> None:
    assert ChildSpec(depends_on=["a", "b"]).depends_on == ("a", "b")
    assert AgentDefinition(name="a", tools=["Read"]).tools == ["Read"]  # type: ignore[arg-type,comparison-overlap]
    assert Backoff(first_s=1, cap_s=2).delay_s(0, 0.0) == 1
