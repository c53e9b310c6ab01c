"""Other systems in processes of their own: those that are installed answer, and all others are skipped with a reason."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Final

import pytest

from benchmarks.kernel.peers import process
from benchmarks.kernel.peers.comparing import GROUPS, Comparison, Entrant
from benchmarks.kernel.peers.process import ASYNCIO, ERLANG, AnyPeer, Peer, PeerFailed, open_peer, open_process
from benchmarks.measure import Target, print_figures

ENTRANTS: Final = {
    f"{group}-{entrant.name}": entrant for group, comparison in GROUPS.items() for entrant in comparison.entrants
}
ABSENT: Final = Peer(name="absent", needs="no_such_module", serves="on_asyncio")
BROKEN: Final = Peer(name="broken", needs="json", serves="no_such_peer")

FAKE_ERL: Final = """#!{python}
import sys
if "-eval" in sys.argv:
    sys.exit({compiles})
print("ready 27", flush=True)
for line in sys.stdin:
    name, count = line.split()
    print(float(count), 2 * float(count), flush=True)
"""


@pytest.mark.parametrize("name", ENTRANTS)
def test_a_peer_that_is_installed_does_what_it_is_asked(name: str) -> None:
    entrant: Entrant = ENTRANTS[name]
    if why := entrant.peer.why_missing():
        pytest.skip(why)

    with entrant.peer.open() as running:
        for count in (1, 10):
            cpu_s, wall_s = running.measure(entrant.bench, count)
            assert cpu_s >= 0
            assert wall_s > 0


@pytest.mark.parametrize(
    ("peer", "reason"), [(ABSENT, "no_such_module is not installed"), (BROKEN, "broken does not run")]
)
def test_a_peer_that_is_not_there_says_why(peer: AnyPeer, reason: str) -> None:
    with pytest.raises(PeerFailed, match=reason), open_peer(peer):
        pass


def test_a_peer_that_breaks_off_is_an_error_that_says_why() -> None:
    with ASYNCIO.open() as running, pytest.raises(PeerFailed, match="no-such-bench"):
        running.measure("no-such-bench", 1)


def test_a_peer_that_says_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LIMIT_S", 0.01)

    with (
        pytest.raises(PeerFailed, match="silent does not run here"),
        open_process("silent", [sys.executable, "-c", "import sys; sys.stdin.read()"]),
    ):
        pass


def test_what_a_peer_prints_is_no_answer() -> None:
    code = "from benchmarks.kernel.peers.serving import *\n"
    code += "def noisy(count):\n print('1 2')\n with Stopwatch() as took: pass\n took.wall_s = 7.0\n return took\n"
    code += "serve({'noisy': noisy})"

    with open_process("noisy", [sys.executable, "-c", code]) as running:
        assert running.measure("noisy", 1)[1] == 7.0


def test_the_process_of_a_peer_ends_with_the_block_even_if_it_would_not() -> None:
    code = "import time; print('ready', 1, flush=True); time.sleep(1e6)"

    with open_process("stubborn", [sys.executable, "-c", code]) as running:
        assert running.version == "1"

    assert running._process.poll() is not None


def fake_erl(folder: Path, monkeypatch: pytest.MonkeyPatch, *, compiles: int) -> None:
    """Put a program called erl on the path that speaks as peer.erl does."""
    erl = folder / "erl"
    erl.write_text(FAKE_ERL.format(python=sys.executable, compiles=compiles))
    erl.chmod(erl.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))


def test_erlang_is_used_when_it_is_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_erl(tmp_path, monkeypatch, compiles=0)

    with open_peer(ERLANG) as running:
        assert running.version == "27"
        assert running.measure("ping-pong", 4) == (1.0, 2.0)


def test_an_erlang_that_cannot_compile_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_erl(tmp_path, monkeypatch, compiles=1)

    with pytest.raises(PeerFailed, match=r"peer\.erl does not compile"), open_peer(ERLANG):
        pass


@pytest.mark.parametrize("group", GROUPS)
def test_a_target_names_systems_of_its_comparison(group: str) -> None:
    comparison = GROUPS[group]
    names = {*comparison.ours, *(entrant.name for entrant in comparison.entrants)}

    for target in comparison.targets:
        assert {target.numerator, target.denominator} <= names


def test_a_peer_that_fails_at_its_work_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    print_figures()
    comparison = Comparison(
        title="a comparison",
        ours={"ours": lambda: 1.0},
        entrants=[Entrant("able", ASYNCIO, "queue-ping-pong", 10), Entrant("unable", ASYNCIO, "no-such-bench", 10)],
        targets=[Target(bench=f"over {name}", numerator=name, denominator="ours") for name in ("able", "unable")],
    )

    comparison()

    assert "-> over able: 0.00 [" in (shown := capsys.readouterr().out)
    assert "-> over unable: skipped, asyncio does not run here: KeyError: 'no-such-bench'" in shown
    print_figures()
