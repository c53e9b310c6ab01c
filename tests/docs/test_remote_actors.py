"""The program of the how-to on links prints what it should."""

from __future__ import annotations

from pathlib import Path

from tests.docs.programs import blocks_of, run_python


def test_the_program_of_the_how_to_asks_an_actor_of_another_node(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/how-to/links.md")

    assert run_python(program, cwd=tmp_path, HOME=str(tmp_path)) == "120\n"


def test_the_program_of_the_how_to_runs_nodes_on_a_simulated_network(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/how-to/test-what-crosses-processes.md")

    assert run_python(program, cwd=tmp_path, HOME=str(tmp_path)) == "10 schedules\n"
