"""Draw a recorded swarm as its screen showed it: an animated SVG, or a still of one moment; or lines that a terminal showed.

    python -m tools.screen_recording RUN recording.svg --size 100x28 --until 14 --played
    python -m tools.screen_recording RUN still.svg --size 160x50 --at 6.5 --theme light
    tmux capture-pane -p > lines.txt; python -m tools.screen_recording lines.txt still.svg --size 80x20

The file follows the reader's light or dark theme unless one is given. Lines that are the same in many pictures are in
the file once.
"""

from __future__ import annotations

import argparse
import html
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import attrs
import trio
from rich.segment import Segment
from trio.testing import MockClock

from greenroom.replay._played_run import PlayedRun
from greenroom.session import EVENTS
from greenroom.terminal.screen import (
    ChangeSpeed,
    GoTo,
    ScreenAction,
    ScreenControls,
    ScreenLook,
    ScreenMode,
    ScreenSize,
    StepEvents,
    StepFailure,
    SwarmStory,
    TogglePlay,
)
from greenroom.terminal.screen._layout import draw_screen
from greenroom.trace import JOURNAL, Entry, read_journal

STEP_S: Final = 0.25
"""Seconds between two pictures."""
CELL: Final = (8.4, 18.0)
"""Width and height of a character, in pixels."""
FONT: Final = 'font-size="14" font-family="ui-monospace,SFMono-Regular,Menlo,DejaVu Sans Mono,monospace"'
MARGIN: Final = 12
PAUSE_S: Final = 4.0
"""Seconds that the last picture of a run stays."""
PLAYED_STEPS: Final = 16
"""Pictures of a run that is played at twice its speed."""
THEMES: Final = {"light": ("#ffffff", "#24292f"), "dark": ("#0d1117", "#d0d7de")}


def main() -> None:
    """Write the file that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run folder, or a file with the lines of a terminal")
    parser.add_argument("target", type=Path, help="the SVG file")
    parser.add_argument("--title", default="a lead and four teammates")
    parser.add_argument("--size", default="100x28", help="columns and lines")
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds of the run that are shown")
    parser.add_argument(
        "--played", action="store_true", help="then show the run as `replay --play` does, moved in time"
    )
    parser.add_argument("--at", type=float, help="draw this moment only")
    parser.add_argument("--theme", choices=list(THEMES), help="of the file; by default the reader's")
    given = parser.parse_args()
    width, height = map(int, given.size.split("x"))
    size = ScreenSize(width=width, height=height)
    if given.run.is_file():
        lines = given.run.read_text(encoding="utf-8").splitlines()[:height]
        frames = [(0.0, tuple(_row([Segment(line)]) for line in lines))]
    else:
        entries = read_journal(given.run / JOURNAL, EVENTS).entries
        frames = list(frames_of(entries, given.title, size, until_s=given.until if given.at is None else given.at))
        if given.played:
            frames += played_frames(given.run / JOURNAL, given.title, size, frames[-1][0] + PAUSE_S)
    shown = frames if given.at is None else frames[-1:]
    given.target.write_text(drawn(shown, size, given.theme), encoding="utf-8")
    print(f"{given.target}: {len(shown)} pictures, {given.target.stat().st_size:,} bytes")


Frame = tuple[str, ...]
"""The lines of one picture, each as SVG."""


def frames_of(
    entries: Sequence[Entry], title: str, size: ScreenSize, *, until_s: float
) -> Iterator[tuple[float, Frame]]:
    """Yield pictures with their times; one that is like the one before is left out."""
    story, at, before = SwarmStory(title, is_priced=False), 0, None
    began_t = entries[0].t
    end_s = min(until_s, entries[-1].t - began_t)
    steps = [*(number * STEP_S for number in range(int(end_s / STEP_S) + 1)), end_s]
    for now_s in steps:
        while at < len(entries) and entries[at].t - began_t <= now_s:
            story.take(entries[at].seq, entries[at].t, entries[at].event)
            at += 1
        lines = draw_screen(story.picture(now_s), ScreenControls(chosen=_killed(entries)), size, ScreenLook())
        frame = tuple(_row(line) for line in lines)
        if frame != before:
            yield now_s, frame
        before = frame


def played_frames(journal: Path, title: str, size: ScreenSize, begin_s: float) -> list[tuple[float, Frame]]:
    """Return the pictures of somebody who looks at a run afterwards: from its end back by failures, on by events, and playing.

    Args:
        journal: The journal of the run.
        title: Shown instead of the run's.
        size: Of the terminal.
        begin_s: The time of the first picture.
    """
    run = PlayedRun(journal, is_followed=False)
    trio.run(_read, run, clock=MockClock(autojump_threshold=0))
    entries = run.index.entries(0, len(run.index))
    killed = next((entry.seq for entry in entries if entry.kind == "actor.kill_requested"), 1)
    back, on = (StepFailure(-1), 1.0), (StepEvents(1), 0.25)
    steps: list[tuple[ScreenAction, float]] = [
        (GoTo("end"), 1.5),
        back,
        back,
        back,
        *[on] * 8,
        (GoTo(str(killed)), 1.0),
    ]
    steps += [on] * 8
    controls, at_s, frames = ScreenControls(mode=ScreenMode.PAST, chosen=_killed(entries)), begin_s, []

    def show(seconds: float) -> None:
        nonlocal at_s
        picture = attrs.evolve(run.picture(controls, size), title=f"{title} (replay --play)")
        frames.append((at_s, tuple(_row(line) for line in draw_screen(picture, controls, size, ScreenLook()))))
        at_s += seconds

    for action, seconds in steps:
        run.act(action)
        show(seconds)
    run.act(TogglePlay())
    run.act(ChangeSpeed(1))
    for _ in range(PLAYED_STEPS):
        run.head.advance(STEP_S)
        show(STEP_S)
    run.close()
    return frames


async def _read(run: PlayedRun) -> None:
    with trio.move_on_after(1.0):
        await run.read_on()


def _killed(entries: Iterable[Entry]) -> str:
    """Return the agent that a person kills, which is the one that was selected; empty for none."""
    return next((each.event.actor for each in entries if each.kind == "actor.kill_requested"), "")


def drawn(frames: Sequence[tuple[float, Frame]], size: ScreenSize, theme: str | None) -> str:
    """Return a file that shows frames one after the other, for ever."""
    width, height = size.width * CELL[0] + 2 * MARGIN, size.height * CELL[1] + 2 * MARGIN
    rows = {row: f"r{number}" for number, row in enumerate(dict.fromkeys(row for _, frame in frames for row in frame))}
    times = [t_s for t_s, _ in frames]
    whole_s = times[-1] - times[0] + PAUSE_S
    ends = [*(later for _, later in pairwise(times)), times[0] + whole_s]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" {FONT}>',
        f"<style>{_style(theme)}</style>",
        '<rect class="b" width="100%" height="100%" rx="6"/>',
        "<defs>",
        *(f'<g id="{name}">{row}</g>' for row, name in rows.items() if row),
        "</defs>",
    ]
    for (t_s, frame), end_s in zip(frames, ends, strict=True):
        begin, end = (100 * (at - times[0]) / whole_s for at in (t_s, end_s))
        name = f"k{int(begin * 100)}"
        motion = ""
        if len(frames) > 1:
            parts.append(
                f"<style>@keyframes {name}{{0%{{visibility:hidden}}{begin:.3f}%{{visibility:visible}}"
                f"{end:.3f}%,100%{{visibility:hidden}}}}.{name}{{visibility:hidden;animation:{name} {whole_s:.2f}s "
                "step-end infinite}</style>"
            )
            motion = f' class="{name}"'
        uses = "".join(
            f'<use href="#{rows[row]}" x="{MARGIN}" y="{MARGIN + at * CELL[1]:.0f}"/>'
            for at, row in enumerate(frame)
            if row
        )
        parts.append(f"<g{motion}>{uses}</g>")
    return "\n".join([*parts, "</svg>\n"])


def _style(theme: str | None) -> str:
    def rules(name: str) -> str:
        back, fore = THEMES[name]
        return f".b{{fill:{back}}}.f{{fill:{fore}}}"

    text = "text{white-space:pre}.w{font-weight:bold}"
    if theme is not None:
        return text + rules(theme)
    return f"{text}{rules('dark')}@media(prefers-color-scheme:light){{{rules('light')}}}"


def _row(line: Sequence[Segment]) -> str:
    """Return a line as SVG: a rectangle below what is reversed, and a text for each style."""
    parts, x = [], 0
    for text, style, _ in Segment.simplify(line):
        width = Segment(text).cell_length
        left, color = x * CELL[0], ""
        if style is not None and style.color is not None:
            color = style.color.get_truecolor().hex
        is_reversed = style is not None and bool(style.reverse)
        if is_reversed:
            fill = f'fill="{color}"' if color else 'class="f"'
            parts.append(f'<rect x="{left:.1f}" width="{width * CELL[0]:.1f}" height="{CELL[1]:.0f}" {fill}/>')
        if text.strip():
            names = ["b" if is_reversed else "" if color else "f", "w" if style is not None and style.bold else ""]
            fill = f' fill="{color}"' if color and not is_reversed else ""
            marks = f' class="{" ".join(filter(None, names))}"' if any(names) else ""
            parts.append(
                f'<text x="{left:.1f}" y="14" textLength="{width * CELL[0]:.1f}"{marks}{fill}>{html.escape(text)}</text>'
            )
        x += width
    return "".join(parts)


if __name__ == "__main__":
    main()
