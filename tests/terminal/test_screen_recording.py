"""The program that draws a recorded swarm as a picture for the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from greenroom.terminal.screen import ScreenControls, ScreenLook, ScreenSize
from greenroom.terminal.screen._layout import draw_screen
from tests.replay.recorded import record
from tests.terminal.pictures import ASKING, PICTURE
from tools.screen_recording import THEMES, _row, drawn, played_frames

SIZE = ScreenSize(width=80, height=24)


@pytest.mark.parametrize("theme", [None, *THEMES])
def test_a_recording_is_valid_and_has_each_line_once(theme: str | None) -> None:
    first, second = (
        tuple(_row(line) for line in draw_screen(picture, ScreenControls(), SIZE, ScreenLook()))
        for picture in (PICTURE, ASKING)
    )
    root = ET.fromstring(drawn([(0.0, first), (1.0, second)], SIZE, theme))

    text = "".join(root.itertext())
    assert text.count("mate-4 was killed") == 1
    assert "wants to use Bash: make" in text
    assert ("prefers-color-scheme" in text) == (theme is None)


def test_a_recorded_run_is_shown_again_back_from_its_end_and_on_from_a_kill(tmp_path: Path) -> None:
    journal, text = record(tmp_path)
    frames = played_frames(journal, "shop", SIZE, 20.0)

    last, once, *_ = (re.sub("<[^>]*>", " ", "".join(frame)) for _, frame in frames)
    assert f"event {len(text.entries)}/{len(text.entries)}" in last
    assert "shop (replay --play)" in last
    assert f"event {len(text.entries)}/" not in once, "back to a failure"
    times = [t_s for t_s, _ in frames]
    assert times[0] == 20.0
    assert times == sorted(set(times))
