"""The timeline, conversations, causes, messages and problems that a page shows, beside what the journal says of them.

Made-up runs have no transcripts: `write_transcripts` writes some that fit their events.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.gateway.record import EVENTS
from greenroom.replay import problem_facts
from greenroom.trace import TRANSCRIPTS, Entry, open_spans, read_journal, spans
from tests.web.browser import BrowserPage

MARKS: Final = {
    "child.restarted": "restarted",
    "message.died": "dead letter",
    "turn.abort_requested": "abort requested",
    "actor.kill_requested": "kill requested",
    "permission.asked": "asked",
    "elicitation.asked": "asked",
    "actor.unresponsive": "unresponsive",
}
"""Kinds of events that are marks of the timeline, and their words."""
MAX_ROWS: Final = 500
MAX_ARROWS: Final = 200
MAX_LED: Final = 60
FOLDED_LINES: Final = 20
MAX_LINES: Final = 200
_NAMES_OF: Final = ("tool", "purpose", "model", "behavior")
_ID: Final = re.compile(r"a[0-9a-f]{16}")
_SHOW: Final = """
(async () => {
  location.hash = '%s';
  const limit = performance.now() + 20000;
  while (performance.now() < limit) {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 4)));
    if (document.getElementById('app').dataset.at !== '%s' || document.getElementById('app').dataset.view !== '%s') continue;
    const shown = (%s)();
    if (shown) return shown;
  }
  return null;
})()
"""
_TABLE: Final = """() => {
  const rows = [...document.querySelectorAll('.view-timeline .facts tbody tr')];
  return rows.length && rows.map((row) => [row.dataset.actor, row.children[1].textContent, row.dataset.from, row.dataset.to, row.children[4].textContent]);
}"""
_TALK: Final = """() => {
  if (!document.querySelector('.talk .here')?.textContent.startsWith('event %d ')) return null;
  const log = document.querySelector('.talk');
  if (log.dataset.actor !== '%s' || document.querySelector('.view-talk .chip[aria-pressed=true]')?.dataset.actor !== log.dataset.actor) return null;
  const before = [...log.children].indexOf(log.querySelector('.here'));
  return [...log.querySelectorAll('.turn')].map((turn) => [Number(turn.dataset.line), turn.classList.contains('is-later'),
    [...turn.querySelectorAll('.text, pre')].map((each) => each.textContent), turn.querySelectorAll('.call > .is-later').length,
    [...log.children].indexOf(turn) > before]);
}"""
_WHY: Final = """() => {
  const node = document.querySelector('.view-why');
  if (node.querySelector('[aria-current] .seq')?.textContent !== '%d') return null;
  const seqs = (list) => [...list.querySelectorAll('.seq')].map((each) => Number(each.textContent));
  const [chain, led] = node.querySelectorAll('ol');
  return { chain: seqs(chain), led: seqs(led), count: Number(/\\d+/.exec(node.querySelectorAll('h2')[1].textContent)?.[0] ?? 0), cause: node.querySelector('.cause strong')?.textContent ?? '' };
}"""
_MESSAGES: Final = """() => {
  const node = document.querySelector('.view-messages');
  const most = node.querySelector('select');
  if (most.value !== '200') {
    most.value = '200';
    most.dispatchEvent(new Event('change'));
  }
  if (node.dataset.at !== '%d' || node.dataset.most !== '200') return null;
  return [...node.querySelectorAll('g.arrow')].map(({ dataset, classList, ariaLabel }) => [Number(dataset.seq), dataset.from, dataset.to, classList.contains('is-dead'), ariaLabel.split(': ')[1].split(',')[0]]);
}"""
_FINDINGS: Final = """() => {
  const node = document.querySelector('.view-findings');
  if (!node.querySelector('h2, p.blank:not([role])')) return null;
  return { counts: Object.fromEntries([...node.querySelectorAll('[data-kind]')].map((group) => [group.dataset.kind, group.querySelector('.badge').textContent])),
    problems: [...node.querySelectorAll('[data-kind] .finding')].map((line) => [line.closest('[data-kind]').dataset.kind, Number(line.firstElementChild.textContent), line.children[1].textContent]) };
}"""


async def _shown(page: BrowserPage, run: str, seq: int, view: str, read: str, **more: str) -> Any:
    place = "&".join((f"run={run}", f"at={seq}", f"view={view}", *(f"{name}={value}" for name, value in more.items())))
    shown = await page.evaluate(_SHOW % (place, seq, view, read))
    assert shown is not None, f"{view} of event {seq} was not drawn"
    return shown


def _assert_same(view: str, shown: Sequence[Any], expected: Sequence[Any]) -> None:
    """Assert that two lists are equal; the message has only what differs first."""
    differ = [pair for pair in zip_longest(shown, expected) if pair[0] != pair[1]]
    assert not differ, f"{view}: {len(differ)} of {len(expected)} differ; shown, on record: {differ[:2]}"


# --- the timeline ---------------------------------------------------------------------------------------------------------


def bars_and_marks(entries: Sequence[Entry]) -> list[list[str]]:
    """Return what a timeline has to show, by the numbers of events: actor, words, begin, end, outcome."""
    ends = {begin.seq: end for begin, end in spans(entries) if begin.kind != "actor.new"}
    begins = {entry.seq: entry for entry in open_spans(entries)}
    lives = _lives(entries)
    made = []
    for entry in entries:
        if not entry.event.actor:  # the run has no row
            continue
        what, _, step = entry.kind.rpartition(".")
        end = lives[entry.seq] if entry.seq in lives else ends.get(entry.seq)
        if entry.seq in lives or (step == "begin" and what != "actor" and (end or entry.seq in begins)):
            name = next((str(value) for field in _NAMES_OF if (value := entry.get(field))), "")
            outcome = str(end.get("state") or "ended") if end else "open"
            made.append(
                [entry.event.actor, f"{what} {name}".strip(), str(entry.seq), str(end.seq if end else ""), outcome]
            )
        mark = MARKS.get(entry.kind) or ("failed" if _has_failed(entry) else "")
        if mark:
            made.append([entry.event.actor, mark, str(entry.seq), str(entry.seq), ""])
    return made


def _has_failed(entry: Entry) -> bool:
    return entry.kind == "actor.end" and str(entry["state"]) == "failed"


def _lives(entries: Sequence[Entry]) -> dict[int, Entry | None]:
    """Return the number of the first event of each incarnation, with its end."""
    found: dict[int, Entry | None] = {}
    living: dict[tuple[str, int], int] = {}
    for entry in entries:
        machine = entry.event.actor, entry.event.inc
        if entry.kind == "actor.new":
            living[machine] = entry.seq
            found[entry.seq] = None
        elif entry.kind == "actor.end" and machine in living:
            found[living.pop(machine)] = entry
    return found


async def compare_timeline(page: BrowserPage, run: str, entries: Sequence[Entry]) -> None:
    """Assert that the table of the timeline has the bars and marks of the journal."""
    seq = entries[-1].seq
    await _shown(page, run, seq, "timeline", "() => true")
    await page.evaluate(
        "(() => { const [, quiet] = document.querySelectorAll('.view-timeline .check input'); if (!quiet.checked) quiet.click();"
        " const table = document.querySelector('.view-timeline button[aria-pressed]'); if (table.ariaPressed !== 'true') table.click(); })()"
    )
    shown = await _shown(page, run, seq, "timeline", _TABLE)
    _assert_same("timeline", sorted(shown), sorted(bars_and_marks(entries)[:MAX_ROWS]))


# --- conversations --------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Line:
    """A line of a transcript."""

    t: float
    block: Mapping[str, Any]
    text: str
    """What the page has to show of it."""


def _lines_of(entries: Sequence[Entry]) -> Iterator[tuple[str, _Line]]:
    for entry in entries:
        actor = entry.event.actor
        if entry.kind == "agent.spoke":
            yield actor, _Line(entry.t, {"type": "text", "text": entry["text"]}, entry["text"])
        elif entry.kind == "turn.begin" and entry["msg"]:
            text = f"<b>Take</b> message {entry['msg']}"
            yield actor, _Line(entry.t, {"type": "text", "text": text, "role": "user"}, text)
        elif entry.kind == "tool.begin":
            block = {
                "type": "tool_use",
                "id": entry["call"],
                "name": entry["tool"],
                "input": {"words": entry["summary"]},
            }
            yield actor, _Line(entry.t, block, f"words: {entry['summary']}")
        elif entry.kind == "tool.end":
            lines = [f"{number} of {entry.seq}" for number in range(entry.seq % 30)]
            result = {"type": "tool_result", "tool_use_id": entry["call"], "content": "\n".join(lines), "role": "user"}
            yield actor, _Line(entry.t, result, "\n".join(lines[:FOLDED_LINES]))


def write_transcripts(journal: Path) -> dict[str, list[_Line]]:
    """Write transcripts that fit the events of a run, and return the lines of each agent."""
    text = read_journal(journal, EVENTS)
    assert text.header.started
    began_s = datetime.fromisoformat(text.header.started).timestamp()
    names = {entry.event.actor: entry["transcript"] for entry in text.entries if entry.kind == "agent.defined"}
    made: dict[str, list[_Line]] = {actor: [] for actor in names}
    for actor, line in _lines_of(text.entries):
        if actor in made:
            made[actor].append(line)
    folder = journal.parent / TRANSCRIPTS
    folder.mkdir(exist_ok=True)
    for actor, lines in made.items():
        with (folder / names[actor]).open("w", encoding="utf-8") as file:
            for line in lines:
                at = datetime.fromtimestamp(began_s + line.t, UTC)
                role = line.block.get("role", "assistant")
                message = {"role": role, "content": [{**line.block}]}
                stamp = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
                file.write(json.dumps({"type": role, "timestamp": stamp, "message": message}) + "\n")
    return made


async def compare_talk(page: BrowserPage, run: str, at: Entry, actor: str, lines: Sequence[_Line]) -> None:
    """Assert that a conversation is marked at the moment, and shows what its lines say."""
    shown = await _shown(page, run, at.seq, "talk", _TALK % (at.seq, actor), actor=actor)
    first = shown[0][0] if shown else 0
    results = _results_of(lines, range(first, min(first + MAX_LINES, len(lines))))
    later = {number for number, is_later, *_ in shown if is_later}
    for number, is_later, texts, results_later, is_below in shown:
        line, place = lines[number], results.get(number)
        if line.t <= at.t:
            assert not is_later, f"line {number} was written before event {at.seq}"
        if line.t > at.t + 0.002:  # transcripts round down to milliseconds
            assert is_later, f"line {number} was written after event {at.seq}"
        assert is_below is is_later
        expected = [line.text, *([] if place is None else [lines[place].text])]
        assert texts == expected, f"line {number}: {texts!r} is shown, {expected!r} is written"
        if place is not None and not at.t < lines[place].t <= at.t + 0.002:
            is_after = place in later or lines[place].t > at.t
            assert bool(results_later) is is_after, f"result of line {number}"
    alone = [number for number in range(first, first + MAX_LINES) if number < len(lines)]
    assert [number for number, *_ in shown] == [number for number in alone if number not in results.values()]


def _results_of(lines: Sequence[_Line], window: range) -> dict[int, int]:
    """Return the place of the result of each call, by the call's place: the first with its id that no call before it has."""
    found: dict[int, int] = {}
    for call in window:
        if lines[call].block["type"] == "tool_use":
            named = (
                place
                for place in window[call - window.start + 1 :]
                if lines[place].block.get("tool_use_id") == lines[call].block["id"] and place not in found.values()
            )
            if (place := next(named, None)) is not None:
                found[call] = place
    return found


# --- causes, messages, problems -------------------------------------------------------------------------------------------


async def compare_causes(page: BrowserPage, run: str, entries: Sequence[Entry], at: Entry) -> None:
    """Assert that the chain of causes of an event, and what it led to, are those of the journal."""
    by_seq = {entry.seq: entry for entry in entries}
    chain = [at]
    while (parent := by_seq.get(chain[0].event.parent)) is not None and parent.seq < chain[0].seq:
        chain.insert(0, parent)
    led = [entry.seq for entry in entries if entry.event.parent == at.seq and entry.seq > at.seq]
    shown = await _shown(page, run, at.seq, "why", _WHY % at.seq)
    assert (shown["chain"], shown["led"], shown["count"]) == ([each.seq for each in chain], led[:MAX_LED], len(led))
    cause = at.get("cause")
    assert bool(shown["cause"]) is (cause is not None)
    assert cause is None or shown["cause"].endswith(f": {cause.why}")


async def compare_messages(page: BrowserPage, run: str, entries: Sequence[Entry], at: Entry) -> None:
    """Assert that there is an arrow for each put up to the moment, from the actor of the event that led to it."""
    actors = {entry.seq: entry.event.actor for entry in entries}
    expected = [
        [
            entry.seq,
            actors.get(entry.event.parent, "") if entry.event.parent < entry.seq else "",
            entry.event.actor,
            entry.kind == "message.died",
            str(entry["type"]),
        ]
        for entry in entries
        if entry.kind in {"message.put", "message.died"} and entry.seq <= at.seq
    ]
    shown = await _shown(page, run, at.seq, "messages", _MESSAGES % at.seq)
    _assert_same(f"messages at event {at.seq}", shown, expected[-MAX_ARROWS:])


async def compare_findings(page: BrowserPage, run: str, journal: Path) -> None:
    """Assert that the problems are those that the journal tells."""
    text = read_journal(journal, EVENTS)
    problems = problem_facts(text, journal.parent)
    shown = await _shown(page, run, text.entries[-1].seq, "findings", _FINDINGS)
    kinds = [str(problem["kind"]) for problem in problems]
    assert shown["counts"] == {kind: f"{kinds.count(kind):,}" for kind in kinds}
    listed = [problem for kind in dict.fromkeys(kinds) for problem in problems if problem["kind"] == kind]
    assert [each[:2] for each in shown["problems"]] == [[str(each["kind"]), each["seq"]] for each in listed]
    for (_, _, words), problem in zip(shown["problems"], listed, strict=True):
        parts = map(re.escape, _ID.split(problem["text"]))
        assert re.fullmatch(".+".join(parts), words), (words, problem["text"])


async def compare_stories(
    page: BrowserPage, journal: Path, *, moments: int, seed: int, agents: Mapping[str, Sequence[_Line]]
) -> None:
    """Assert that these views of an opened page show what the journal says, at some moments drawn at random.

    Args:
        page: It shows the run, and all of it is read.
        journal: The journal of the run.
        moments: Number of moments.
        seed: Another one draws others.
        agents: Lines of the transcript of each agent.
    """
    entries, draw = read_journal(journal, EVENTS).entries, random.Random(seed)
    run = journal.parent.name
    await compare_timeline(page, run, entries)
    await compare_findings(page, run, journal)
    for at in draw.choices(entries, k=moments):
        await compare_causes(page, run, entries, at)
        await compare_messages(page, run, entries, at)
        known = sorted(actor for actor in agents if agents[actor])
        if known:
            actor = draw.choice(known)
            await compare_talk(page, run, at, actor, agents[actor])
