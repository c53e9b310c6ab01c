"""Mutants of boxes on a redis server: who may take from one, passwords in texts, and what a server can lose."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ADDRESS: Final = "greenroom.remote.redis._redis_address"
_JOBS: Final = "greenroom.patterns._job_queue"
_LEASES: Final = "greenroom.remote.redis._box_leases"
_ADDRESS_TESTS: Final = ("tests/remote/redis/test_redis_address.py",)
_JOBS_TESTS: Final = ("tests/patterns/test_job_queue.py",)
_LEASES_TESTS: Final = ("tests/remote/redis/test_box_leases.py",)

REDIS: Final = (
    Mutant(
        "a lease in force is taken over",
        ("R9-b",),
        _LEASES,
        "    if left_s > 0:\n",
        "    if left_s > 3600:\n",
        tests=_LEASES_TESTS,
    ),
    Mutant(
        "the box of a dead process stays its own",
        ("R9-a",),
        _LEASES,
        "    if left_s > 0:\n",
        "    if left_s > -3600:\n",
        tests=_LEASES_TESTS,
    ),
    Mutant(
        "an earlier process of the node is waited for",
        ("R9-a",),
        _LEASES,
        "    if found.node == fence.node:\n",
        "    if found.holder == holder:\n",
        tests=_LEASES_TESTS,
    ),
    Mutant(
        "a new holder has the number of the one before",
        ("R9-b", "RM-12"),
        _LEASES,
        "fence = Fence(found.epoch + 1, holder)",
        "fence = Fence(found.epoch, holder)",
        tests=_LEASES_TESTS,
    ),
    Mutant(
        "a process that was faster is overtaken",
        ("R9-b",),
        _LEASES,
        "    return Claimable(fence, if_free=True)\n\n\n@final\n@attrs.define",
        "    return Claimable(fence, if_free=False)\n\n\n@final\n@attrs.define",
        tests=_LEASES_TESTS,
    ),
    Mutant(
        "a lease is not renewed before it has run out",
        ("R9-b",),
        _LEASES,
        "every_s = self.lease_s / RENEWALS",
        "every_s = self.lease_s * RENEWALS",
        tests=_LEASES_TESTS,
    ),
    Mutant(
        "a box that was lost is forgotten at once",
        ("R9-b",),
        _LEASES,
        "            self._lost[box] = holder\n",
        "",
        tests=_LEASES_TESTS,
    ),
    Mutant(
        "the words of the server are shown as they are",
        ("R9-c",),
        _ADDRESS,
        '            why = why.replace(secret, "***")\n',
        "            pass\n",
        tests=_ADDRESS_TESTS,
    ),
    Mutant(
        "an address is shown as it was given",
        ("R9-c",),
        _ADDRESS,
        "return RedisAddress(url, shown, secrets)",
        "return RedisAddress(url, url, secrets)",
        tests=_ADDRESS_TESTS,
    ),
    Mutant(
        "a server that keeps nothing on disk is as good as any",
        ("R9-d",),
        _ADDRESS,
        'if str(facts.get("aof_enabled", "0")) != "1":',
        'if str(facts.get("aof_enabled", "0")) == "2":',
        tests=_ADDRESS_TESTS,
    ),
    Mutant(
        "a job is acknowledged before it is done",
        ("R9-e",),
        _JOBS,
        "        try:\n            with trio.move_on_after(self._timeout_s) as limit:\n",
        "        await self._queue.acknowledge(job)\n        try:\n            with trio.move_on_after(self._timeout_s) as limit:\n",
        tests=_JOBS_TESTS,
    ),
    Mutant(
        "a job that somebody else has counts as done",
        ("R9-e",),
        _JOBS,
        "        if not is_own:\n",
        "        if why and not is_own:\n",
        tests=_JOBS_TESTS,
    ),
    Mutant(
        "a job whose turn failed is acknowledged",
        ("R9-f",),
        _JOBS,
        "            why = str(error)\n",
        '            why = ""\n',
        tests=_JOBS_TESTS,
    ),
    Mutant(
        "a job that is cut stays with its consumer",
        ("R9-f",),
        _JOBS,
        "with trio.move_on_after(_END_S, shield=True):",
        "with trio.move_on_after(_END_S):",
        tests=_JOBS_TESTS,
    ),
)
