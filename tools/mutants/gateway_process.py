"""Mutants of the gateway's process and of its clock: lock, reload, stop, jobs."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_STATE: Final = "greenroom.gateway.process._state_folder"
_STATE_TESTS: Final = ("tests/gateway/process/test_state_folder.py",)
_CONFIG: Final = "greenroom.gateway.process._config_in_force"
_CONFIG_TESTS: Final = ("tests/gateway/process/test_config_in_force.py",)
_STAGES: Final = "greenroom.gateway.process._stop_stages"
_STAGES_TESTS: Final = ("tests/gateway/process/test_stop_stages.py",)
_RUNNING_TESTS: Final = ("tests/gateway/process/test_running.py",)
_DAY_TESTS: Final = ("tests/gateway/process/test_day.py",)
_PLAN: Final = "greenroom.gateway.clock._job_plan"
_PLAN_TESTS: Final = ("tests/gateway/clock/test_job_plan.py",)
_JOBS: Final = "greenroom.gateway.clock._clock_jobs"
_JOBS_TESTS: Final = ("tests/gateway/clock/test_clock_jobs.py",)

GATEWAY_PROCESS: Final = (
    Mutant(
        "the clock of a gateway is that of another zone than its machine",
        (),
        _JOBS,
        "self._config().session.timezone or self._own_zone",
        'self._config().session.timezone or "UTC"',
        tests=_JOBS_TESTS,
    ),
    Mutant(
        "the pieces of a summary are shown",
        (),
        "greenroom.gateway.keepers._turn_reporter",
        "        self.aside, self._is_aside, self._is_hidden = aside, True, True\n",
        "        self.aside, self._is_aside = aside, True\n",
        tests=("tests/gateway/keepers/test_resets.py",),
    ),
    Mutant(
        "a journal that the disk has refused once stays shut",
        ("A28-d",),
        "greenroom.trace._journal",
        "            self._failure, self._in_flight = None, 0\n",
        "            pass\n",
        tests=("tests/gateway/process/test_full_disk.py",),
    ),
    Mutant(
        "clients trust an address whose gateway is dead",
        ("A22-b",),
        _STATE,
        "    return address if pid and address is not None and address.pid == pid else None\n",
        "    return address\n",
        tests=_STATE_TESTS,
    ),
    Mutant(
        "a stopped gateway leaves its address",
        ("A22-a",),
        _STATE,
        "        finally:\n            (folder.path / ADDRESS).unlink(missing_ok=True)\n",
        "        finally:\n            pass\n",
        tests=_RUNNING_TESTS,
    ),
    Mutant(
        "a broken file counts although it cannot be used",
        ("A22-d",),
        _CONFIG,
        "        was_refused, self._refused = bool(self._refused), ()\n",
        "        was_refused, self._refused = False, ()\n",
        tests=_CONFIG_TESTS,
    ),
    Mutant(
        "a changed file is read when somebody asks",
        ("A22-e",),
        _CONFIG,
        "                await self.reload()\n",
        "                pass\n",
        tests=_CONFIG_TESTS,
    ),
    Mutant(
        "a stop waits for its intake as long as that takes",
        ("A22-g",),
        _STAGES,
        "    with trio.move_on_after(DELIVERY_S):\n        await plan.close_intake()\n",
        "    await plan.close_intake()\n",
        tests=_STAGES_TESTS,
    ),
    Mutant(
        "old deliveries are looked at before the plan of the start",
        ("A18-b", "A28-a"),
        "greenroom.gateway.process._host_wiring",
        "if self.nursery is not None and self.is_recovered:",
        "if self.nursery is not None:",
        tests=_DAY_TESTS,
    ),
    Mutant(
        "what an earlier process left is not done",
        ("A18-a", "A28-a"),
        "greenroom.gateway.process._gateway_opening",
        "                nursery.start_soon(self._recover, parts)\n",
        "",
        tests=_DAY_TESTS,
    ),
    Mutant(
        "the end of a gateway's journal is none for the checks",
        ("A28-f",),
        "greenroom.trace._spans",
        '_BASE: Final = ("actor", "inc", "parent", "at_s")',
        '_BASE: Final = ("actor", "inc", "parent")',
        tests=_DAY_TESTS,
    ),
    Mutant(
        "a clock that was set back repeats the times of jobs",
        ("A30-a",),
        _PLAN,
        "for id_, (_, row) in known.items() if row.seen_s}",
        "for id_, (_, row) in known.items() if 0 < row.seen_s <= now_s}",
        tests=_PLAN_TESTS,
    ),
    Mutant(
        "a time that is too old is run",
        ("A30-b",),
        _PLAN,
        "    if now - item.planned > timedelta(minutes=job.max_age_minutes):\n        return JobOutcome.TOO_OLD\n",
        "",
        tests=_PLAN_TESTS,
    ),
    Mutant(
        "a run that was due before a kill is forgotten",
        ("A30-b",),
        _JOBS,
        "                    if row.is_due:  # from before the start\n",
        "                    if False:\n",
        tests=_JOBS_TESTS,
    ),
)
