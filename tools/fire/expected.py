"""What has to come of work that something happens to: a small pure function from a cell of the matrix to its truth.

An agent under fire makes four requests: three that say a line and call a tool, and one that says its report. A command under
fire takes four steps of a second. What happens, happens at the first, a middle or the last of them.

Rule 1: nothing here looks at what the code does. Rule 2: every end is told exactly once: by the result of the call that
waited for it, or by a notice to whoever asked for the work. Rule 3: a part of a report is the latest that was said.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

ROUNDS = 4


class Work(StrEnum):
    """What is under fire."""

    FOREGROUND = "foreground"
    """A sub-agent that main's call waits for."""
    BACKGROUND = "background"
    FORK = "fork"
    NESTED = "nested"
    """A background agent of a background agent that still runs when it ends."""
    SHELL = "shell"
    """A command in the background; models fail at main's requests meanwhile."""


class Fault(StrEnum):
    """What happens to it; providers fail until the retries are used up."""

    FINISH = "finish"
    """It comes to its end there."""
    FAIL = "fail"
    """The provider refuses the request for good; a command ends with exit code 3."""
    KILL = "kill"
    RATE_LIMITED = "429"
    OVERLOADED = "529"
    CUT = "cut"
    """The stream breaks in the middle of what is said."""
    PASSING = "429 once"
    """The provider refuses one request and takes it when it is sent again."""
    HANG = "tool hang"
    """A tool, or a step, never ends; somebody kills the work after five minutes."""
    CRASH = "tool crash"
    """A tool, or the command's own code, has a bug."""
    DISK = "full disk"
    """Nothing is written any more: what is new is refused, no model is asked again, and the host gets an error."""


class Moment(StrEnum):
    """When it happens."""

    FIRST = "first"
    MIDDLE = "middle"
    LAST = "last"


@attrs.frozen(kw_only=True)
class Truth:
    """What there is to see in the end."""

    state: str
    """How the work has ended."""
    text: str
    """The last that it said, whole or in part."""
    told: str
    """`result` or `notice`: what told its end to whoever asked for it, once."""
    error: str = ""
    """What the host gets: `TurnFailed` where main's own turn failed, `JournalError` where anything is not recorded."""
    reason: str = ""
    """What the result or notice has to say of why."""
    goes_up: bool = False
    """Whether whoever asked for it has failed by then, so that the notice goes to the one above."""


def is_hit_in_call(fault: Fault, moment: Moment) -> bool:
    """Whether it happens during a tool call and not during a request."""
    return fault in {Fault.HANG, Fault.CRASH} or (fault is Fault.KILL and moment is Moment.MIDDLE)


def number_of(fault: Fault, moment: Moment) -> int:
    """Return at which request, call or step it happens; the last request comes after the last call."""
    last = ROUNDS - 1 if fault in {Fault.HANG, Fault.CRASH} else ROUNDS
    return {Moment.FIRST: 1, Moment.MIDDLE: 2, Moment.LAST: last}[moment]


def line(number: int) -> str:
    """Return what an agent says in its request of this number."""
    return f"line {number} of what it has to say"


def expected(work: Work, fault: Fault, moment: Moment) -> Truth:
    """Return the truth of a cell."""
    truth = _of_shell(fault) if work is Work.SHELL else _of_agent(fault, moment)
    if work is Work.FOREGROUND and fault is not Fault.HANG:  # a call waits two minutes, then its agent goes on
        truth = attrs.evolve(truth, told="result")
    if fault is not Fault.DISK:
        return truth
    # The middle agent has just begun the other one then, and its own next request, for `Hold`, is the first not to be sent;
    # later it waits in `Hold`, and reads the notice before its request fails.
    return attrs.evolve(truth, error="JournalError", goes_up=work is Work.NESTED and moment is Moment.FIRST)


def _of_shell(fault: Fault) -> Truth:
    """Return what comes of a command; whoever fails meanwhile at main's requests does not concern it."""
    failed = fault in {Fault.FAIL, Fault.CRASH}
    killed = fault in {Fault.KILL, Fault.HANG}
    state = "failed" if failed else "killed" if killed else "completed"
    is_main_hit = fault in {Fault.RATE_LIMITED, Fault.OVERLOADED, Fault.CUT}
    return Truth(state=state, text="", told="notice", error="TurnFailed" if is_main_hit else "")


def _of_agent(fault: Fault, moment: Moment) -> Truth:
    number = number_of(fault, moment)
    before = line(number - 1) if number > 1 else ""
    match fault:
        case Fault.FINISH:
            return Truth(state="completed", text=line(number), told="notice")
        case Fault.DISK if moment is not Moment.LAST:
            # The request that it meets is answered; the next one is not sent, as what leads to it is not recorded.
            return Truth(state="failed", text=line(number), told="notice", reason="cannot be written: No space left")
        case Fault.PASSING | Fault.CRASH | Fault.DISK:  # a tool's bug is a result
            return Truth(state="completed", text=line(ROUNDS), told="notice")
        case Fault.FAIL | Fault.RATE_LIMITED | Fault.OVERLOADED:
            return Truth(state="failed", text=before, told="notice")
        case Fault.CUT:
            said = line(number)
            return Truth(state="failed", text=said[: -(-len(said) // 2)], told="notice")
        case Fault.KILL:
            said = line(number) if is_hit_in_call(fault, moment) else before
            return Truth(state="killed", text=said, told="notice")
        case Fault.HANG:
            return Truth(state="killed", text=line(number), told="notice")
