"""A test of a team: no order of tasks and no crash of a worker may lose a job. One does, and the report shows how."""

import logging
from collections.abc import Awaitable, Callable

import trio

import greenroom as gr
from greenroom.actors import Unfinished
from greenroom.core import point
from greenroom.testing import ExplorationFailed, Faults, Sim, explore

FAULTS = Faults(errors={"half done": OSError}, most=2)


class Worker(gr.Behavior[str]):
    """Does jobs. Its supervisor starts it again when it has crashed."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report

    async def on_message(self, message: str, ctx: gr.Context) -> None:
        await point("half done")  # nothing in production; here the test lets things happen
        self._report(message)


class CarefulWorker(Worker):
    """The same, but a job whose turn did not finish comes back."""

    unfinished = Unfinished.REQUEUE


def team_of(worker: type[Worker]) -> Callable[[Sim], Awaitable[None]]:
    async def every_job_is_done(sim: Sim) -> None:
        jobs = sim.monitor("jobs")
        async with sim.open_runtime() as runtime:
            team = [await runtime.spawn(worker, jobs.cold) for _ in range(2)]
            for number in range(4):
                jobs.hot(f"job {number}")
                team[number % 2].tell(f"job {number}")
            await trio.sleep(3600)  # virtual: an hour costs nothing

    return every_job_is_done


def check(worker: type[Worker]) -> None:
    try:
        print(f"{worker.__name__}: {explore(team_of(worker), faults=FAULTS)}")
    except ExplorationFailed as failed:
        print(f"{worker.__name__}: {failed}")


if __name__ == "__main__":
    logging.disable()  # crashes are what it is made of
    check(Worker)
    check(CarefulWorker)
    logging.disable(logging.NOTSET)
