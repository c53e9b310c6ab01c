"""Both exports, read back: turns, outcomes, durations and causes are those of the journal (I-48)."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

import attrs
import pytest
from hypothesis import given

from greenroom.actors import ActorBegan, ActorCreated, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined, ModelBegan, ModelEnded, ToolBegan, ToolEnded
from greenroom.core import Cause
from greenroom.session import FOLDS
from greenroom.trace import Entry, fold
from tests.trace.crafted import FLAGS, NEW
from tests.trace.exporting import HEADER, LASTING, Facts, chrome_object, journal_facts, otlp_lines, spans_of
from tests.trace.journals import journals
from tests.trace.planting import Entries, run
from tests.trace.scenarios import SCENARIOS, Scenario, run_entries, work

STARTED_NS: Final = 1_795_262_400 * 10**9


def chrome_facts(trace: dict[str, Any]) -> Facts:
    events = trace["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    lasted = {
        one["args"]["seq"]: (one["cat"], one["args"]["outcome"], one["dur"]) for one in slices if one["cat"] in LASTING
    }
    shown = [event["args"] for event in events if event["ph"] in {"X", "i"}]
    return Facts(lasted, {entry["seq"]: entry.get("parent", 0) for entry in shown})


def attributes(one: dict[str, Any]) -> dict[str, Any]:
    return {entry["key"]: plain(entry["value"]) for entry in one.get("attributes", ())}


def plain(value: dict[str, Any]) -> Any:
    [(kind, one)] = value.items()
    match kind:
        case "intValue":
            assert isinstance(one, str)
            return int(one)
        case "arrayValue":
            return [plain(inner) for inner in one["values"]]
        case "kvlistValue":
            return {inner["key"]: plain(inner["value"]) for inner in one["values"]}
    return one


def otlp_facts(traces: list[dict[str, Any]]) -> Facts:
    lasted, causes = {}, {}
    for span in spans_of(traces):
        own = attributes(span)
        took = (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) // 1_000
        if own["actor.span"] in LASTING:
            lasted[own["actor.seq"]] = own["actor.span"], own["actor.outcome"], took
        for entry in (own, *map(attributes, span.get("events", ()))):
            causes[entry["actor.seq"]] = entry.get("actor.parent_seq", 0)
    return Facts(lasted, causes)


def exported(entries: Entries) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Export both ways, through the bytes that are written."""
    return chrome_object(entries), otlp_lines(entries)


def compare(entries: Entries) -> None:
    chrome, otlp = exported(entries)
    meant = journal_facts(entries)
    for facts in (chrome_facts(chrome), otlp_facts(otlp)):
        assert facts.lasted == meant.lasted
        assert facts.causes.items() <= meant.causes.items()
        assert facts.causes.keys() >= meant.lasted.keys()
    check_chrome(chrome, meant, {entry.seq: entry.event.actor for entry in entries})
    check_otlp(otlp, meant)


def check_chrome(trace: dict[str, Any], meant: Facts, actors: dict[int, str]) -> None:
    """Slices nest on each thread, each arrow has both of its ends, and each end is on the slice that it should be on."""
    threads = defaultdict(list)
    at: dict[int, dict[str, Any]] = {}
    for trace_event in trace["traceEvents"]:
        if trace_event["ph"] == "X":
            assert trace_event["ts"] >= 0 <= trace_event["dur"]
            threads[trace_event["pid"], trace_event["tid"]].append(trace_event)
            at[trace_event["args"]["seq"]] = trace_event
    for slices in threads.values():
        open_until: list[int] = []
        for one in sorted(slices, key=lambda one: (one["ts"], -one["dur"])):
            while open_until and open_until[-1] <= one["ts"]:
                open_until.pop()
            assert not open_until or one["ts"] + one["dur"] <= open_until[-1]
            open_until.append(one["ts"] + one["dur"])
    arrows = defaultdict(list)
    for trace_event in trace["traceEvents"]:
        if trace_event["ph"] in {"s", "f"}:
            arrows[trace_event["id"]].append(trace_event)
    for seq, ends in arrows.items():
        start, finish = ends if ends[0]["ph"] == "s" else ends[::-1]
        assert (start["ph"], finish["ph"], finish["bp"]) == ("s", "f", "e")
        assert meant.causes[seq]
        assert [finish[name] for name in ("pid", "tid", "ts")] == [at[seq][name] for name in ("pid", "tid", "ts")]
        row = threads[start["pid"], start["tid"]]
        assert any(entry["ts"] <= start["ts"] <= entry["ts"] + entry["dur"] for entry in row)
        assert {actors[entry["args"]["seq"]] for entry in row} == {actors[meant.causes[seq]]}
    between = {seq for seq in at if meant.causes[seq] and actors[meant.causes[seq]] != actors[seq]}
    assert between <= arrows.keys()


def check_otlp(traces: list[dict[str, Any]], meant: Facts) -> None:
    """Ids are unique and well-formed, and whatever is named as parent or linked is there."""
    spans = spans_of(traces)
    ids = Counter(span["spanId"] for span in spans)
    begins = {span["spanId"]: attributes(span)["actor.seq"] for span in spans}
    assert set(ids.values()) <= {1}
    for span in spans:
        own = attributes(span)
        assert (len(span["traceId"]), len(span["spanId"])) == (32, 16)
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        assert span.get("parentSpanId", span["spanId"]) in ids
        links = span.get("links", [])
        assert all(link["spanId"] in ids for link in links)
        cause = meant.causes[own["actor.seq"]]
        assert {attributes(link)["actor.seq"] for link in links} <= {cause}
        assert links or cause in {0, begins[span.get("parentSpanId", span["spanId"])]}


@pytest.mark.promise("I-48")
@given(journals())
def test_both_exports_keep_turns_outcomes_durations_and_causes(entries: list[Entry]) -> None:
    compare(entries)


@pytest.mark.promise("I-48")
@given(journals())
def test_replay_counts_the_turns_that_the_exports_show(entries: list[Entry]) -> None:
    views = fold(entries, FOLDS).section("actors")
    meant = [(what, outcome) for what, outcome, _ in journal_facts(entries).lasted.values() if what == "turn"]

    folded: Counter[str] = Counter()
    for view in views.values():
        folded.update(completed=view.turns.completed, failed=view.turns.failed, killed=view.turns.killed)

    assert +folded == Counter(outcome for _, outcome in meant if outcome != "open")


@pytest.mark.promise("I-48")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_real_runs_survive_both_exports(scenario: Scenario) -> None:
    compare(run_entries(scenario))


def test_the_same_journal_gives_the_same_spans() -> None:
    first, second = (otlp_lines(run_entries(work)) for _ in range(2))
    other = otlp_lines(run_entries(work), attrs.evolve(HEADER, run="r2"))

    assert first == second
    assert {span["spanId"] for span in spans_of(first)}.isdisjoint(span["spanId"] for span in spans_of(other))


# --- how it looks -----------------------------------------------------------------------------------------------------


def test_each_supervisor_is_a_process_and_each_actor_a_thread() -> None:
    chrome, _ = exported(run_entries(SCENARIOS[1]))
    names = [
        (trace_event["name"], trace_event["pid"], trace_event["args"])
        for trace_event in chrome["traceEvents"]
        if trace_event["ph"] == "M"
    ]
    processes = {pid: args["name"] for name, pid, args in names if name == "process_name"}
    threads = {args["name"]: processes[pid] for name, pid, args in names if name == "thread_name"}

    assert threads == {
        "the run": "run r1",
        "(root)": "(root)",
        "team": "team",
        "team/first": "team",
        "team/second": "team",
    }


def test_a_message_is_one_arrow_from_the_turn_that_sent_it() -> None:
    chrome, _ = exported(run_entries(work))
    turns = {
        trace_event["args"]["seq"]: trace_event
        for trace_event in chrome["traceEvents"]
        if trace_event.get("cat") == "turn"
    }
    asked = next(turn for turn in turns.values() if turn["name"].endswith("Down"))

    [start] = [
        trace_event
        for trace_event in chrome["traceEvents"]
        if trace_event["ph"] == "s" and trace_event["id"] == asked["args"]["seq"]
    ]

    assert start["tid"] != asked["tid"]


def test_aborts_kills_and_restarts_are_instants_on_their_actors_thread() -> None:
    chrome, otlp = exported(run_entries(work))
    instants = Counter(trace_event["name"] for trace_event in chrome["traceEvents"] if trace_event["ph"] == "i")
    events = Counter(event["name"] for span in spans_of(otlp) for event in span.get("events", ()))

    for kind in ("turn.abort_requested", "actor.kill_requested", "child.restarted", "message.died"):
        assert instants[kind] == events[kind] > 0


def test_an_abort_is_an_event_of_the_turn_that_it_ends() -> None:
    _, otlp = exported(run_entries(work))
    aborted = [
        span for span in spans_of(otlp) for event in span.get("events", ()) if event["name"] == "turn.abort_requested"
    ]

    assert {attributes(span)["actor.span"] for span in aborted} == {"turn"}


def test_what_waits_is_a_counter_for_each_lane() -> None:
    chrome, _ = exported(run_entries(work))
    depths = [
        trace_event
        for trace_event in chrome["traceEvents"]
        if trace_event["ph"] == "C" and trace_event["name"] == "mail of worker"
    ]

    assert max(depth["args"]["next"] for depth in depths) >= 3
    assert depths[-1]["args"] == {"now": 0, "next": 0, "later": 0}


AGENT: Final[dict[str, Any]] = {"actor": "a1", "inc": 1, "turn": 1}


def span_named(otlp: list[dict[str, Any]], name: str) -> dict[str, Any]:
    [span] = [span for span in spans_of(otlp) if span["name"] == name]
    return span


def agent_run(*, state: str = "completed", cause: Cause | None = None, error: str = "") -> Entries:
    tokens: dict[str, Any] = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30,
        "output_tokens": 4,
    }
    call: dict[str, Any] = {**AGENT, "round": 1, "call": "toolu_1", "tool": "Read"}
    ended: dict[str, Any] = {"state": state, "by": "own", "cause": cause, "error": error, **FLAGS}
    return run(
        ActorCreated(**{**NEW, "supervisor": "", "path": "lead"}, actor="a1"),
        ActorBegan(actor="a1", inc=1, parent=1),
        AgentDefined(actor="a1", inc=1, definition="lead", model="claude-x", transcript=""),
        TurnBegan(**AGENT, msg=1),
        ModelBegan(**AGENT, round=1, messages=1, parent=4),
        ModelEnded(**AGENT, **tokens, round=1, state="completed", stop_reason="tool_use", error="", parent=5),
        ToolBegan(**call, summary="README.md", parent=6),
        ToolEnded(**call, state="failed", output_chars=0, error="FileNotFoundError: README.md", parent=7),
        TurnEnded(**AGENT, msg=1, parent=4, **ended),
    )


def test_the_spans_of_an_agent_follow_the_conventions() -> None:
    _, otlp = exported(agent_run())
    turn, chat, tool = (span_named(otlp, name) for name in ("invoke_agent lead", "chat claude-x", "execute_tool Read"))

    assert chat["parentSpanId"] == tool["parentSpanId"] == turn["spanId"]
    assert (turn["kind"], chat["kind"], tool["kind"]) == (1, 3, 1)
    asked = {"gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-x", "gen_ai.agent.name": "lead"}
    assert attributes(turn).items() >= {**asked, "gen_ai.operation.name": "invoke_agent"}.items()
    assert attributes(chat).items() >= {**asked, "gen_ai.operation.name": "chat"}.items()
    assert attributes(chat)["gen_ai.usage.input_tokens"] == 60
    assert attributes(chat)["gen_ai.usage.cache_read.input_tokens"] == 30
    assert attributes(chat)["gen_ai.response.finish_reasons"] == ["tool_use"]
    assert attributes(tool)["gen_ai.tool.call.id"] == "toolu_1"
    assert attributes(tool)["error.type"] == "FileNotFoundError"
    assert tool["status"]["code"] == 2
    assert int(turn["startTimeUnixNano"]) == STARTED_NS + 400_000_000


@pytest.mark.parametrize(
    ("state", "cause", "error", "status"),
    [
        ("completed", None, "", None),
        ("failed", None, "ValueError: boom", "ValueError"),
        ("failed", None, "it broke", "_OTHER"),
        ("killed", Cause("host", "enough"), "", None),
        ("killed", Cause("deadline", "too long"), "", "timeout"),
    ],
)
def test_only_what_failed_or_took_too_long_is_an_error(
    state: str, cause: Cause | None, error: str, status: str | None
) -> None:
    _, otlp = exported(agent_run(state=state, cause=cause, error=error))
    turn = span_named(otlp, "invoke_agent lead")

    assert attributes(turn).get("error.type") == status
    assert ("status" in turn) is (status is not None)
    assert attributes(turn)["actor.outcome"] == state
    assert attributes(turn).get("actor.killed_by") == (cause.who if cause else None)


@pytest.mark.parametrize("started", [None, "yesterday"])
def test_without_a_date_times_count_from_zero(started: str | None) -> None:
    [span, *_] = spans_of(otlp_lines(agent_run(), attrs.evolve(HEADER, started=started)))

    assert span["startTimeUnixNano"] == "100000000"
