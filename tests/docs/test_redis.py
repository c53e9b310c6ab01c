"""The program of the how-to on redis prints what it should, with a real server."""

from __future__ import annotations

from pathlib import Path

from tests.docs.programs import blocks_of, run_python
from tests.remote.redis.real_redis import started_redis


def test_the_program_of_the_how_to_reads_what_another_process_put(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/how-to/redis.md")
    address = '"redis://127.0.0.1:6379"'
    assert address in program

    with started_redis(tmp_path) as server:
        shown = run_python(program.replace(address, repr(server.url)), cwd=tmp_path, HOME=str(tmp_path))

    assert shown == "Two pens are on their way.\n0\n"
