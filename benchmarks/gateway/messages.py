"""GG3, GG4, GG11 and GG13: from a message to its reply, with sessions that are open or closed, after a restart, and with many at work."""

from __future__ import annotations

import time
from pathlib import Path

import trio

from benchmarks.gateway.place import MemoryChat, new_folder, opened, percentile, replying, report_at_most
from benchmarks.measure import Target, print_table, report_ratio
from greenroom.agents import AgentDefinition
from greenroom.gateway.channels import ChatRoute
from greenroom.models import PlaybookModel
from greenroom.session import open_session

MESSAGES = 60
TURNS = 1_000
DUE = 100
CROWD = 50
ROUNDS = 5
GATEWAY, BARE = "message to reply, through a gateway", "a turn of an open session"
CLOSED, LOADED = "message to reply, session closed", "opening the session alone, and a turn"
BUSY, IDLE = "lag with 50 sessions at work", "lag of an idle loop"


async def bare_turns(folder: Path, *, resume: str | None = None, turns: int = MESSAGES) -> tuple[float, str]:
    """Return CPU seconds of a turn of a session that somebody opened by hand, and the session's id."""
    model = PlaybookModel({"main": replying("hi")})
    main = AgentDefinition(name="main", system_prompt="You help.")
    began = time.process_time()
    async with open_session(model=model, cwd=folder, runs=folder / "runs", main=main, resume=resume) as session:
        if resume is None:
            await session.run("first")
            began = time.process_time()
        for number in range(turns):
            await session.run(f"number {number}")
        return (time.process_time() - began) / turns, session.id


async def replies() -> tuple[float, list[float]]:
    """Return CPU seconds of a message, from its acceptance to its reply in the chat, and the wall seconds of each."""
    chat = MemoryChat()
    with new_folder() as folder:
        async with opened(folder, replying("hi"), chat):
            await chat.say("first")
            await chat.wait_shown(1)
            cpu, walls = time.process_time(), []
            for number in range(MESSAGES):
                began = time.perf_counter()
                await chat.say(f"number {number}")
                await chat.wait_shown(number + 2)
                walls.append(time.perf_counter() - began)
            return (time.process_time() - cpu) / MESSAGES, walls


async def by_hand() -> float:
    with new_folder() as folder:
        return (await bare_turns(folder))[0]


def open_sessions() -> None:
    rounds = [(trio.run(replies), trio.run(by_hand)) for _ in range(ROUNDS)]
    samples = {GATEWAY: [ours for (ours, _), _ in rounds], BARE: [bare for _, bare in rounds]}
    walls = [wall for (_, each), _ in rounds for wall in each]
    print_table("GG3: a message, session open, CPU", samples, unit="ms", scale=1e3)
    report_ratio(Target(bench="GG3 a message over a bare turn", numerator=GATEWAY, denominator=BARE), samples)
    report_at_most("GG3 CPU of a message", "ms", [1e3 * each for each in samples[GATEWAY]], 8)
    report_at_most("GG3 wall of a message, 99 of 100", "ms", [1e3 * percentile(walls, 0.99)], 50)


async def closed_reply(folder: Path) -> tuple[float, float]:
    """Return CPU seconds of a message to a session that is closed and has many turns, and the worst lag of the loop meanwhile."""
    chat, lags = MemoryChat(), [0.0]

    async def watch() -> None:
        while True:
            due = trio.current_time() + 0.005
            await trio.sleep_until(due)
            lags.append(trio.current_time() - due)

    async with opened(folder, replying("hi"), chat) as gateway, trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await trio.sleep(0.2)
        began = time.process_time()
        await chat.say("again")
        await chat.wait_shown(1)
        took = time.process_time() - began
        gateway.parts.keepers.cut_all("measured")
        nursery.cancel_scope.cancel()
    return took, max(lags)


async def fill(folder: Path) -> None:
    chat = MemoryChat()
    async with opened(folder, replying("hi"), chat):
        for number in range(TURNS):
            await chat.say(f"number {number}")
            await chat.wait_shown(number + 1)


def closed_sessions() -> None:
    with new_folder() as folder:
        trio.run(fill, folder)
        _, id_ = trio.run(lambda: bare_turns(folder, turns=TURNS))
        measured, bare = [], []
        for _ in range(ROUNDS):
            measured.append(trio.run(closed_reply, folder))
            bare.append(trio.run(lambda: bare_turns(folder, resume=id_, turns=1))[0])
    samples = {CLOSED: [cpu for cpu, _ in measured], LOADED: bare}
    print_table(f"GG4: a message, session closed, {TURNS:,} turns, CPU", samples, unit="ms", scale=1e3)
    report_ratio(
        Target(bench="GG4 closed session over opening it by hand", numerator=CLOSED, denominator=LOADED), samples
    )
    report_at_most("GG4 CPU of a message to a closed session", "ms", [1e3 * each for each in samples[CLOSED]], 100)
    report_at_most("GG4 worst lag of the loop meanwhile", "ms", [1e3 * lag for _, lag in measured], 50)


async def catch_up() -> tuple[float, int]:
    """Return the seconds in which a restart sends what was due, and how many texts came twice."""
    with new_folder() as folder:
        chat = MemoryChat(refuses=True)
        async with opened(folder, replying("hi"), chat) as gateway:
            for number in range(DUE):
                await gateway.parts.deliveries.post(
                    ChatRoute(channel="memory", peer=f"p{number}"), "hello", f"{number}"
                )
            await trio.sleep(0.2)
        chat = MemoryChat()
        began = time.perf_counter()
        async with opened(folder, replying("hi"), chat):
            await chat.wait_shown(DUE)
            took = time.perf_counter() - began
            await trio.sleep(0.5)
    return took, len(chat.shown) - len({part.key for part in chat.shown})


def restart() -> None:
    measured = [trio.run(catch_up) for _ in range(3)]
    print(f"\nGG11: a restart with {DUE} texts due")
    report_at_most(f"GG11 all {DUE} sent", "s", [took for took, _ in measured], 10)
    report_at_most("GG11 texts that came twice", "texts", [twice for _, twice in measured], 0)


async def lag_of(sessions: int) -> float:
    """Return the lag that 99 of 100 samples do not exceed."""
    chat, lags = MemoryChat(), []
    with new_folder() as folder:
        async with opened(folder, replying("hi"), chat, wait_s=1.0) as gateway, trio.open_nursery() as nursery:

            async def talk(person: str) -> None:
                while True:
                    seen = len([part for part in chat.shown if part.route.peer == person])
                    await chat.say("hello", person)
                    while len([part for part in chat.shown if part.route.peer == person]) == seen:
                        await chat.has_more.wait()

            for number in range(sessions):
                nursery.start_soon(talk, f"p{number}")
            await trio.sleep(2 if sessions else 0.2)
            for _ in range(400):
                due = trio.current_time() + 0.01
                await trio.sleep_until(due)
                lags.append(trio.current_time() - due)
            gateway.parts.keepers.cut_all("measured")
            nursery.cancel_scope.cancel()
    return percentile(lags, 0.99)


def crowd() -> None:
    measured = {BUSY: [], IDLE: []}  # type: dict[str, list[float]]
    for _ in range(3):
        measured[BUSY].append(trio.run(lag_of, CROWD))
        measured[IDLE].append(trio.run(lag_of, 0))
    print_table("GG13: lag of the event loop, 99 of 100", measured, unit="ms", scale=1e3)
    report_ratio(Target(bench="GG13 lag over an idle loop", numerator=BUSY, denominator=IDLE), measured)
    report_at_most("GG13 lag with 50 sessions at work", "ms", [1e3 * each for each in measured[BUSY]], 50)


GROUPS = {"message": open_sessions, "closed": closed_sessions, "restart": restart, "lag": crowd}
