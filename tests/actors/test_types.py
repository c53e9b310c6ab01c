"""Verdicts of the type checker on programs of actors.

`make check` runs mypy over this file, too. Each line with an `ignore` has an error of that code; if it has none, mypy
reports the unused ignore.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any, Generic, TypeVar, assert_type

import attrs
import trio

from greenroom.actors import Behavior, Context, Down, PinnedRef, Ref, Request, Signal
from greenroom.supervisor import ChildSpec, Runtime, Supervisor, open_runtime

T = TypeVar("T")


@attrs.frozen
class Price(Request[int]):
    article: str


class Total(Request[float]):
    pass


class Name(Request[str]):
    pass


class Latest(Request[T]):
    def __init__(self, default: T) -> None:
        self.default = default


class Catalog(Behavior[Price]):
    async def on_message(self, message: Price, ctx: Context[int]) -> None:
        ctx.reply(len(message.article))


class Ledger(Behavior[int | Total]):
    def __init__(self, start: int = 0, currency: str = "EUR") -> None:
        self.amount, self.currency = start, currency

    def on_message(self, message: int | Total, ctx: Context[float]) -> None:
        if isinstance(message, Total):
            ctx.reply(self.amount / 100)
        else:
            self.amount += message


class Clerk(Behavior[str]):
    def __init__(self, catalog: Ref[Price], name: str) -> None:
        self.catalog, self.name = catalog, name


class Desk(Behavior[str]):
    def __init__(self, *clerks: Ref[str]) -> None:
        self.clerks = clerks


class Store(Behavior[T | Latest[T]], Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value


class Listener(Behavior[object]):
    def __init__(self, name: str, *, is_loud: bool = False) -> None:
        self.name, self.is_loud = name, is_loud


# --- ctx.reply ----------------------------------------------------------------------------------------------------------


class BadAnswers(Behavior[Price | Name]):
    async def on_message(self, message: Price | Name, ctx: Context[int | str]) -> None:
        ctx.reply(1)
        ctx.reply("ann")
        ctx.reply(1.5)  # type: ignore[arg-type]
        ctx.reply(None)  # type: ignore[arg-type]
        any_answer(ctx)

    async def on_signal(self, signal: Signal, ctx: Context) -> None:
        if isinstance(signal, Down):
            assert_type(signal, Down)


def any_answer(ctx: Context) -> None:
    assert_type(ctx, Context[Any])
    ctx.reply("anything")


def only_numbers(ctx: Context[int]) -> None:
    ctx.reply(True)
    ctx.reply("one")  # type: ignore[arg-type]


def passes_contexts_on(numbers: Context[int], objects: Context[object]) -> None:
    only_numbers(objects)
    any_answer(numbers)
    accepts_all: Context[object] = numbers  # type: ignore[assignment]
    accepts_all.reply(())


class WrongMessage(Behavior[Price]):
    async def on_message(self, message: Total, ctx: Context[int]) -> None:  # type: ignore[override]
        ctx.reply(1)


# --- tell and ask -------------------------------------------------------------------------------------------------------


async def asks(catalog: Ref[Price], ledger: Ref[int | Total], everything: Ref[object], unknown: Ref[Any]) -> None:
    assert_type(await catalog.ask(Price("pen")), int)
    assert_type(await ledger.ask(Total(), timeout_s=1), float)
    assert_type(await everything.ask(Name()), str)
    assert_type(await unknown.ask(Name()), str)

    await catalog.ask(Total())  # type: ignore[arg-type]
    await ledger.ask(Price("pen"))  # type: ignore[arg-type]
    await ledger.ask(3)  # type: ignore[arg-type]
    await everything.ask("a message without an answer")  # type: ignore[arg-type]
    answer: str = await catalog.ask(Price("pen"))  # type: ignore[arg-type]
    assert answer


async def asks_generically(
    store: Ref[str | Latest[str]], requests: list[Price | Name], any_of: Ref[Price | Name]
) -> None:
    assert_type(await store.ask(Latest("none")), str)
    await store.ask(Latest(3))  # type: ignore[arg-type]
    for request in requests:
        if isinstance(request, Price):
            assert_type(await any_of.ask(request), int)


async def asks_what_may_be_another_request(catalog: Ref[Price], request: Request[int]) -> None:
    await catalog.ask(request)  # type: ignore[arg-type]


def tells(catalog: Ref[Price], ledger: Ref[int | Total], pinned: PinnedRef[int], ctx: Context) -> None:
    ledger.tell(1)
    ledger.tell("one")  # type: ignore[arg-type]
    catalog.notify(Total())  # type: ignore[arg-type]
    pinned.tell("one")  # type: ignore[arg-type]
    ctx.tell_on_commit(ledger, 1)
    ctx.tell_on_commit(ledger, "one")  # type: ignore[misc]


def narrows(ledger: Ref[int | Total], catalog: Ref[Price]) -> None:
    takes_totals(ledger)
    takes_totals(catalog)  # type: ignore[arg-type]


def takes_totals(ref: Ref[Total]) -> None:
    ref.tell(Total())


# --- spawn --------------------------------------------------------------------------------------------------------------


def make_catalog(size: int) -> Catalog:
    return Catalog()


def make_nothing() -> int:
    return 0


async def spawns(runtime: Runtime, supervisor: Supervisor, catalog: Ref[Price]) -> None:
    assert_type(await runtime.spawn(Catalog), Ref[Price])
    assert_type(await runtime.spawn(Ledger, name="ledger", spec=ChildSpec()), Ref[int | Total])
    assert_type(await supervisor.spawn(Ledger, 1, "USD"), Ref[int | Total])
    assert_type(await runtime.spawn(Store, "x"), Ref[str | Latest[str]])
    await runtime.spawn(Ledger, 1)
    await runtime.spawn(make_catalog, 3)
    await runtime.spawn(functools.partial(Listener, "ann", is_loud=True), name="ann")
    clerks = [await runtime.spawn(Clerk, catalog, name, name=name) for name in ("ann", "bob")]
    assert_type(await runtime.spawn(Desk, *clerks), Ref[str])

    await runtime.spawn(Catalog, 1, 2)  # type: ignore[arg-type]
    await runtime.spawn(Ledger, "USD")  # type: ignore[arg-type]
    await supervisor.spawn(Clerk, catalog)  # type: ignore[arg-type]
    await supervisor.spawn(Clerk, catalog, 1)  # type: ignore[arg-type]
    await runtime.spawn(Desk, "ann")  # type: ignore[arg-type]
    await runtime.spawn(make_catalog)  # type: ignore[arg-type]
    await runtime.spawn(make_nothing)  # type: ignore[arg-type]
    await runtime.spawn(functools.partial(Listener, 1))  # type: ignore[arg-type]
    await runtime.spawn(Listener, "ann", is_loud=True)  # type: ignore[call-arg]


# --- the verdicts hold --------------------------------------------------------------------------------------------------


def test_mypy_reports_unused_ignores_in_tests() -> None:
    root = Path(__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]

    assert settings["strict"]
    assert "warn_unused_ignores" not in settings
    code = next(
        line for line in (root / "Makefile").read_text(encoding="utf-8").splitlines() if line.startswith("CODE")
    )
    assert "tests" in code.split()


async def test_typed_contexts_behave_as_untyped_ones() -> None:
    async with open_runtime() as runtime:
        catalog, ledger = await runtime.spawn(Catalog), await runtime.spawn(Ledger, 250)
        ledger.tell(50)
        with trio.fail_after(5):
            assert (await catalog.ask(Price("pen")), await ledger.ask(Total())) == (3, 3.0)
