"""The pages about IRC, Matrix and channels of one's own: their configurations load, their figures are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from greenroom.gateway.channels._account_state import DEGRADED_FROM, wait_after_loss
from greenroom.gateway.channels._irc import FRESH_S
from greenroom.gateway.channels._irc_lines import LINE_BYTES
from greenroom.gateway.channels._irc_link import BURST, PACE_S
from greenroom.gateway.channels._make_channel import GROUP
from greenroom.gateway.channels._matrix import PART_BYTES
from greenroom.gateway.config._reader import read_config
from tests.docs.programs import ROOT, blocks_of

pytest_plugins = ("pytester",)
PAGES = ("connect-irc", "connect-matrix", "write-a-channel")


def page(name: str) -> str:
    return (ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_configuration_of_a_page_loads(name: str, tmp_path: Path) -> None:
    (said,) = re.findall(r"^```json5\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)
    path = tmp_path / "gateway.json5"
    path.write_text(said, encoding="utf-8")
    secret = tmp_path / "matrix-password"
    secret.write_text("secret", encoding="utf-8")
    secret.chmod(0o600)

    reading = read_config(path, {"IRC_PASSWORD": "secret"})

    assert [str(problem) for problem in reading.problems] == []
    assert reading.config is not None
    assert len(reading.config.channels.accounts()) == 1


def test_the_figures_of_the_pages_are_those_of_the_code() -> None:
    irc, matrix = page("connect-irc"), page("connect-matrix")

    assert f"| {BURST}, and one in {PACE_S * 1000:.0f} ms |" in irc
    assert f"| {LINE_BYTES} bytes" in irc
    assert f"within {FRESH_S:.0f} s" in irc
    assert f"{PART_BYTES:,} bytes" in matrix
    waits = (
        f"after {wait_after_loss(1, 0):.0f} s, then later and later, up to {wait_after_loss(99, 0) / 60:.0f} minutes"
    )
    assert DEGRADED_FROM == 3
    for text in (irc, matrix):
        words = " ".join(text.split())
        assert waits in words
        assert "From the third loss in a row on" in words
    assert f'[project.entry-points."{GROUP}"]' in page("write-a-channel")


@pytest.mark.slow
def test_the_channel_of_the_page_passes_the_kit(pytester: pytest.Pytester) -> None:
    (program,) = blocks_of("docs/how-to/write-a-channel.md")
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\nfilterwarnings = error\n")
    (pytester.path / "test_board.py").write_text(program, encoding="utf-8")

    pytester.runpytest_subprocess().assert_outcomes(passed=11)
