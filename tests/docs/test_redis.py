"""The programs of the how-to on redis print what they should, with a real server."""

from __future__ import annotations

from pathlib import Path

from tests.docs.programs import blocks_of, run_python
from tests.remote.redis.real_redis import started_redis


def test_the_programs_of_the_how_to_print_what_it_says(tmp_path: Path) -> None:
    boxes, jobs = blocks_of("docs/how-to/redis.md")
    address = '"redis://127.0.0.1:6379"'
    assert address in boxes
    assert address in jobs

    with started_redis(tmp_path) as server:
        shown = [
            run_python(program.replace(address, repr(server.url)), cwd=tmp_path, HOME=str(tmp_path))
            for program in (boxes, jobs)
        ]

    assert shown == [
        "Two pens are on their way.\n0\n",
        "Two pens, please.\nJobStatistics(waiting=0, in_work=0, dead=0)\n",
    ]
