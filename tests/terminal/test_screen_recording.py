"""The program that draws a recorded swarm as a picture for the documentation."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from greenroom.terminal.screen import ScreenControls, ScreenLook, ScreenSize
from greenroom.terminal.screen._layout import draw_screen
from tests.terminal.pictures import ASKING, PICTURE
from tools.screen_recording import THEMES, _row, drawn

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
