"""Failures that must be impossible here because they happened elsewhere, and behavior that people check first.

`RC-n` and `RM-n` are bugs that users of comparable systems reported, `CL-n` bugs that a comparable product fixed; `n.m`
is line m of the behavior to check in section n. A test names the rows that it holds in its docstring, or in its name:

    RC-67                     def test_rc_67_...
    Behaviours (3), line 1    several lines of one section: lines 1 and 2

`tests/docs/test_regressions.py` checks both directions, and docs/design/regressions.md shows which tests hold which
row.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import attrs

from tests.promises import PROMISES


class Part(StrEnum):
    """The part that must exist before a row can be held."""

    SUB_AGENTS = "sub-agents"
    TEAMS = "teams"
    GATEWAY = "the gateway"


@attrs.frozen
class Row:
    """One promise.

    Attributes:
        promise: The promise, as one sentence.
        waits_for: The part that the row needs, if that part does not exist yet.
        open: The part of the promise that does not hold yet; empty if all of it holds.
    """

    promise: str
    waits_for: Part | None = None
    open: str = ""


_S, _T, _G = Part.SUB_AGENTS, Part.TEAMS, Part.GATEWAY

ROWS: Final = {
    # --- cancel scope, cancellation propagation
    "RC-01": Row("Cancelling a turn touches only that turn and its foreground children."),
    "RC-02": Row("Gestures of a console are separate verbs; ending everything needs an explicit call.", _G),
    "RC-03": Row("An ended agent can be resumed on request, and its history is kept."),
    "RC-04": Row("Every cancelled child has exactly one terminal event and one notice with a reason."),
    "RC-05": Row("A cancel applies to a turn, an agent or a tree; cancelling a turn does not affect background work."),
    "RC-06": Row("After a tree has ended, none of its descendants can run."),
    "RC-08": Row("A cancel applies to one turn, may be repeated and never carries over to the next turn."),
    "RC-10": Row("A terminal state is written once; a cancel wins or loses against the finish, never both."),
    "RC-11": Row("A cancel reaches every descendant within one step."),
    "RC-12": Row("Tools run in the scope of their turn: they are cancelled before the turn ends."),
    "RC-13": Row("A cancel is recorded and checked at each step boundary; code that swallows it changes nothing."),
    "RC-14": Row("A cancelled tool call always gets a result, and its turn always ends."),
    "RC-16": Row("A cancel takes effect at every step."),
    "RC-18": Row("A run can be ended by another task, a signal or another process."),
    # --- completion notices
    "RC-19": Row("Every end of a background task has its own notice, however many end at once."),
    "RC-20": Row("A spawn is registered before it is accepted."),
    "RC-22": Row("Messages that arrive during a turn are queued and read at the next step boundary."),
    "RC-24": Row("A completion is delivered once, even across restarts."),
    "RC-25": Row("An ended agent never runs again without an explicit message."),
    "RC-27": Row("A notice belongs to the run; attempts are internal."),
    "RC-29": Row(
        "Giving up a delivery wakes the tasks that wait for it.",
        open="Deliveries to channels, which are retried; they come with the gateway.",
    ),
    "RC-30": Row("Results are kept until they are read, dismissed or expire."),
    "RC-31": Row("A delivery never blocks the lane that it waits for."),
    "RC-32": Row(
        "A missing route is recorded as a failure.",
        open="Routes to channels; they come with the gateway.",
    ),
    "RC-34": Row("A person's message is read before notices, and neither is lost."),
    "RC-35": Row("If the queue is not empty and the agent is idle, a wake-up is scheduled."),
    "RC-36": Row("A headless run waits for its background work, or says what it abandons."),
    # --- truth of status
    "RC-37": Row("An error of the provider is a failure, even in the middle of an answer."),
    "RC-39": Row("If all children failed, the result is a failure."),
    "RC-41": Row("A process that has died is reported as lost, and never shown as running.", _G),
    "RC-42": Row("A transient error is retried within the turn; earlier steps are not repeated."),
    # --- mailboxes and teams
    "RC-43": Row("Mail counts as read once it is in the conversation, never before."),
    "RC-44": Row("A message to an unknown name is refused, with similar names."),
    "RC-48": Row("A message to an ended agent becomes a dead letter, and its sender is notified."),
    "RC-49": Row("Being idle is a state, not a message."),
    "RC-50": Row("Every run of a child has a typed result, even if it is empty."),
    # --- shutdown
    "RC-51": Row("A shutdown first asks, then cancels, then kills, and always ends."),
    "RC-52": Row("Acknowledging a shutdown is not yet the end."),
    "RC-53": Row("An agent can be ended without the help of its model."),
    "RC-55": Row("One stop operation works for everything that has an id."),
    "RC-56": Row("A request to terminate leaves turns unfinished, recorded and resumable."),
    # --- waiting, watchdogs
    "RC-57": Row("Waiting for a task is event-driven and has its own deadline."),
    "RC-59": Row("A wait that would close a cycle is refused at once, and the error shows the cycle."),
    "RC-62": Row("Every control request has a deadline.", _G),
    "RC-63": Row("A silent provider ends in an answer or an error."),
    "RC-64": Row("The watchdog knows the phase of an answer, and does not end a slow but healthy one."),
    "RC-65": Row("Retries are limited in number, and by a budget that all agents share."),
    # --- transcript validity
    "RC-67": Row("The persisted conversation is one that the provider accepts, at every point."),
    "RC-69": Row("A message is in the transcript before anybody is notified of it, even if the process ends at once."),
    "RC-70": Row("A call and its result stay a pair when a hook ends the turn."),
    # --- processes
    "RC-72": Row("A killed session leaves no process behind."),
    "RC-73": Row("An agent's shells end with it."),
    # --- worktrees
    "RC-75": Row("A worktree with any work in it is kept."),
    "RC-76": Row("Nothing is forced when git refuses to remove a worktree."),
    "RC-77": Row("A worktree is removed only after its last user has left it."),
    "RC-79": Row("An unchanged worktree is removed at the end."),
    # --- usage, budgets
    "RC-80": Row("Usage is recorded per request, with its agent; totals are sums of these records."),
    "RC-81": Row("The usage of the main agent and that of all agents are separate figures."),
    "RC-83": Row("Depth, width and number of children have limits."),
    "RC-84": Row("A budget is checked before each request, and a denial is final."),
    # --- resume and replay
    "RC-86": Row("A compaction does not lose track of running tasks."),
    "RC-87": Row("An agent of an earlier process is found by its id."),
    "RC-88": Row("Resuming does not repeat calls that have results."),
    "RC-89": Row("An approval within a child does not repeat its earlier steps."),
    "RC-91": Row("A run that is too old is lost and not revived.", _G),
    "RC-93": Row("Recovery takes only what it owns.", _G),
    "RC-94": Row("Recovery is tried again, item by item.", _G),
    # --- task board
    "RC-96": Row("Items belong to agent ids, not to names."),
    "RC-97": Row("Claiming, releasing and deleting are single steps."),
    "RC-100": Row(
        "A blocked item cannot be started; the completion of its blockers wakes its owner or idle teammates."
    ),
    # --- permissions and trust
    "RC-101": Row("A call that nobody decides about is refused at its deadline, and the refusal is a result."),
    "RC-102": Row("Waiting for a permission is visible, and the waiting agent reports it."),
    "RC-103": Row("A call that is denied is denied at every depth."),
    "RC-105": Row("A question is answered only by an answer to it, never by another message."),
    "RC-106": Row("No text can look like a field of a notice."),
    # --- resources
    "RC-107": Row("A program that prints forever is ended; the head and the tail are kept."),
    "RC-109": Row("Ended runs release their history."),
    "RC-110": Row("Nothing keeps a reference to an ended agent."),
    "RC-111": Row("If the disk is full, new work is refused with an error."),
    # --- distributed, prompt cache
    "RC-114": Row("A registration belongs to its connection.", _G),
    "RC-116": Row("A worker that was cut off reconnects.", _G),
    "RC-117": Row("Each model request begins with the previous one."),
    # --- from a changelog
    "CL-01": Row("The terminal state does not wait for summaries and clean-up."),
    "CL-02": Row("A clean-up that hangs ends at a deadline of its own."),
    "CL-03": Row("A task that ends between two checks is not missed."),
    "CL-04": Row("A notice has every field that its task has."),
    "CL-05": Row("After a compaction the model knows which tasks run."),
    "CL-06": Row("The answer is the last text and nothing else."),
    "CL-07": Row("The caller gets the partial text of a turn that failed or was ended."),
    "CL-08": Row("The recorded outcome of a turn is what the runtime observed."),
    "CL-09": Row("An error before any text is a failure, not an empty success."),
    "CL-10": Row("Opening a team again repeats no notices."),
    "CL-11": Row("A resumed run is a new run with the same id."),
    "CL-12": Row("Waiting for a permission does not count as working."),
    "CL-13": Row("Moving to the background changes only who waits."),
    "CL-14": Row("An accepted message is handled, returned, or becomes a dead letter."),
    "CL-15": Row("Background work does not end with the turn that started it."),
    "CL-16": Row("A message never cancels a start."),
    "CL-17": Row("Clearing a conversation touches nothing else.", _G),
    "CL-18": Row("An interrupt of an idle agent is answered, and ending everything always works."),
    "CL-19": Row("An actor whose end was requested is not restarted."),
    "CL-20": Row("Idle teammates do not keep a run from ending."),
    "CL-21": Row("Each phase of a shutdown has a budget."),
    "CL-22": Row("An answer that comes too late is counted and changes nothing."),
    "CL-23": Row("A budget holds for all agents of a session; once it is used up, none is started."),
    "CL-24": Row("A send succeeds once the message is recorded."),
    "CL-25": Row("A name refers to the agent that had it when the name was used."),
    "CL-26": Row("A bad mailbox entry does not affect the other entries."),
    "CL-27": Row("Text that is too long is cut, not refused."),
    "CL-28": Row("Names are data, and never become part of a header."),
    "CL-29": Row("No interruption leaves a call without its result."),
    "CL-30": Row("A conversation is repaired in both directions."),
    "CL-31": Row("Each agent has a transcript of its own."),
    "CL-32": Row(
        "A resume restores the definition, and with it prompt, tools, mode and model.",
        open="A main agent that a program resumes: the program has to say which definition it has.",
    ),
    "CL-33": Row("A fork keeps a pointer to the conversation that it shares."),
    "CL-34": Row("A resume that failed can be tried again."),
    "CL-35": Row("On resume, the agent is told what was running when the process ended."),
    "CL-36": Row("A deny rule wins over every hook, and a rewritten input is decided about again."),
    "CL-37": Row("Exit code 2 blocks, whatever was printed."),
    "CL-38": Row("A pattern may name all tools of one server, or of all servers."),
    "CL-39": Row("Every way to spawn passes the same gate."),
    "CL-40": Row("A list of tools that matches none is refused, and the error names its entries."),
    "CL-41": Row("A rule sees through compound commands and assignments."),
    "CL-42": Row("A worktree that was just reused is not removed."),
    "CL-43": Row("A command cannot make git work outside its worktree."),
    "CL-44": Row("The current folder is each agent's own."),
    "CL-45": Row("Teammates cannot have teammates."),
    "CL-46": Row("Ended teammates are released."),
    "CL-47": Row("Items are listed by number."),
    "CL-48": Row("The lead is notified if a teammate fails."),
    "CL-49": Row("A stop hook that always blocks is overruled."),
    "CL-50": Row("Stop hooks do not run when the provider failed."),
    "CL-51": Row("A skill that forks does not call itself forever."),
    "CL-52": Row("Chains of children have one limit."),
    "CL-53": Row("A process ends with its scope, and so does its process group."),
    "CL-54": Row("A long output is cut, and the whole output is in a file."),
    **{id_: Row(promise.sentence) for id_, promise in PROMISES.items() if id_.startswith("RM-")},
}

BEHAVIOURS: Final = {
    "1.1": Row("A call without a type runs the general agent."),
    "1.2": Row("Types are found regardless of case and separators; `Agent(type)` can be denied."),
    "1.3": Row("`GREENROOM_SUBAGENT_MODEL` takes precedence over the model of a call."),
    "1.4": Row("With `clamped`, a child of a parent in `acceptEdits` is in `acceptEdits`."),
    "1.5": Row("`tools: [Grpe]` is refused and names `Grpe`; `tools: []` starts without tools."),
    "1.6": Row("The 21st child that would run at the same time is refused."),
    "1.7": Row("At the depth limit, an agent has no tool to spawn with."),
    "1.8": Row("Two forks of one message share their prefix."),
    "1.9": Row("`Bash(rm *)` denied and `Bash` allowed: `FOO=1 rm x && ls` is denied, also in bypass; `ls` runs."),
    "1.10": Row("A child that says nothing has a placeholder as its result."),
    "2.1": Row("A definition of the project overrides the user's; one from the command line overrides both."),
    "2.2": Row("A file without a name is skipped; one with only a name is reported."),
    "2.3": Row("An edited file applies to the next agent that starts."),
    "2.4": Row("A plugin's hooks and mode have no effect; its agents carry its name."),
    "2.5": Row("A `Stop` hook of a child runs as `SubagentStop`, and is removed with the agent."),
    "2.6": Row("An agent with memory is told its notes, up to 200 lines or 25 KB, and gets Read, Write and Edit."),
    "2.7": Row("`--agent x`, then `--resume`: still x; without x, the defaults and a warning."),
    "3.1": Row("Exit code 1 lets a call run, 2 blocks it and the model reads why."),
    "3.2": Row("`Edit|Write` matches both tools; `db-agent` does not match `prod-db-agent`."),
    "3.3": Row("A hook that allows does not override a deny rule; if hooks both allow and deny, deny wins."),
    "3.4": Row(
        "A stop hook may block eight times; from the second time on, its input says that it has blocked before."
    ),
    "3.5": Row("`SubagentStop` gets the path of the transcript, and may keep the agent going."),
    "3.6": Row("Context that `SubagentStart` adds is in the child's first request."),
    "3.7": Row("`TaskCompleted` and `TaskCreated` hooks refuse an item."),
    "3.8": Row("A `TeammateIdle` hook keeps a teammate going or ends it."),
    "3.9": Row("A rewritten input replaces the whole input, and is checked against the rules again."),
    "3.10": Row("A long output becomes a file and a preview."),
    "4.1": Row("Positions of arguments count from zero; a placeholder without an argument stays."),
    "4.2": Row("Arguments without a placeholder are appended."),
    "4.3": Row(
        "`allowed-tools` apply to the turn, and end with the next message of a person.",
    ),
    "4.4": Row("A skill that forks sees nothing of the conversation."),
    "4.5": Row("A command that fails ends the skill, and the model never sees it."),
    "4.6": Row("A skill takes precedence over a command, and the user's over the project's."),
    "4.7": Row("A skill for users only can be neither called by a model nor preloaded."),
    "5.1": Row("Each scope of memory has its folder."),
    "5.2": Row("The first 200 lines are read, and of these at most 25 KB."),
    "5.3": Row("Memory can be switched off, and with it its tools."),
    "5.4": Row("Worktrees share the main memory; `local` is each checkout's own."),
    "5.5": Row("The built-in search agents read no instructions."),
    "6.1": Row("A background agent is launched at once, and its end is reported once, under the same ids."),
    "6.2": Row("An agent that waits for a result with TaskOutput gets no additional notice."),
    "6.3": Row(
        "An interrupt does not end it; TaskStop kills it, its partial result is told once, and a second TaskStop is an "
        "error."
    ),
    "6.4": Row("A message reaches a running agent at its next step, and resumes an ended one."),
    "6.5": Row("After a restart an agent can be resumed by its id."),
    "6.6": Row("An error inside a child is `failed`, with the error; nothing stays running."),
    "6.7": Row("`sleep 300` is ended at its timeout; `make all` is moved to the background."),
    "6.8": Row("A headless run prints its result after its agents have ended or the time limit has passed."),
    "6.9": Row("A slow clean-up of a worktree does not delay TaskOutput."),
    "6.10": Row("A task that is being viewed is kept; afterwards it is released."),
    "7.1": Row("A name in a call only names the agent; if teams are on, it makes a teammate."),
    "7.2": Row("If two teammates claim the same item, one wins and the other is told."),
    "7.3": Row("Completing an item unblocks its dependents; deleting one clears their lists; ids are never reused."),
    "7.4": Row("A bad mailbox entry is reported and dropped; the others arrive."),
    "7.5": Row("A message that cannot be recorded is not sent, and the send fails."),
    "7.6": Row("The end of a teammate's turn is one notice, without the text of the turn."),
    "7.7": Row("A refused shutdown leaves a teammate at work; an approved one ends it and returns its items."),
    "7.8": Row("A teammate that must plan changes nothing before its plan is approved."),
    "7.9": Row(
        "A teammate cannot name an agent that it starts; a teammate's definition with `background` is an error."
    ),
    "7.10": Row("An interrupted teammate is alive and idle; a killed one is gone."),
    "8.1": Row("A coordinator has three tools, and delegates."),
    "8.2": Row("Every worker runs in the background, whatever the call says."),
    "8.3": Row("A coordinator never forks."),
    "8.4": Row("A worker can neither mail nor spawn teammates."),
    "8.5": Row("A resumed coordinator is a coordinator again, with a warning."),
    "8.6": Row("Workers write to the scratchpad without permission; elsewhere the rules apply."),
    "8.7": Row("After TaskStop, SendMessage resumes the same agent with its whole conversation."),
    "9.1": Row("A user's message during a turn is read before a notice that was already waiting."),
    "9.2": Row("A message that is sent during a batch of tool calls is in the next model request of that turn."),
    "9.3": Row("An interrupt ends the turn; queued messages are sent at once, and background work continues."),
    "9.4": Row("The notice of a child's own shell reaches the child."),
    "9.5": Row("Two queued commands run in two turns."),
    "9.6": Row("A headless run waits for its background agents, reads their results and answers."),
    "9.7": Row("A late permission answer after a restart runs the call once."),
    "10.1": Row("The folder of a session is found from the current folder, whatever its name is."),
    "10.2": Row("Every transcript line of a child is marked as such, with its id and the session's."),
    "10.3": Row("The main conversation never shows lines of a child."),
    "10.4": Row("If a process is killed during a tool call and resumed, the next request is valid."),
    "10.5": Row("Removing an old run also removes its children's transcripts; memory stays."),
    "10.6": Row(
        "`--no-session-persistence` leaves no files; resuming a missing run is refused with the reference's text.",
    ),
    "10.7": Row("A fork of a session leaves the original unchanged."),
    "11.1": Row("A worktree without changes leaves neither folder nor branch."),
    "11.2": Row("A worktree with a commit stays, with path and branch; the main checkout is untouched."),
    "11.3": Row("`cd MAIN && git reset` is refused."),
    "11.4": Row("`head` sees commits that were not pushed, `fresh` does not."),
    "11.5": Row("A `WorktreeCreate` hook that fails makes no worktree; a path that it prints is used."),
    "11.6": Row("Without git and without a hook, the error is one clear line."),
    "11.7": Row("Two agents in their own worktrees can edit the same file at once."),
    "12.1": Row("A required server that is ready after 3 s is waited for; after 31 s the start fails and names it."),
    "12.2": Row("A required server that fails ends the wait at once."),
    "12.3": Row("A required server without tools is missing."),
    "12.4": Row("An agent's own server is visible only to it, and ends with it, even after an error or a cancel."),
    "12.5": Row("The entry of the nearest scope is used as a whole."),
    "12.6": Row("`mcp__gh` denied hides its tools; `mcp__*` disallowed hides all."),
    "12.7": Row("`${TOKEN:-x}` is substituted; `${TOKEN}` that is not set stays, with a warning."),
    "13.1": Row("`json` is exactly one object, the result."),
    "13.2": Row("`stream-json` begins with `init` and ends with the result; lines of a child have its call's id."),
    "13.3": Row("A run of two rounds with `--max-turns 1` ends with `error_max_turns` and an exit code."),
    "13.4": Row("A denied call is listed, and the run continues."),
    "13.5": Row("The end of a background task leads to a result that names its origin."),
    "13.6": Row("An interrupt is acknowledged, and leaves queued messages alone."),
    "13.7": Row("SIGTERM exits with 143, and `--resume` resumes the turn."),
    "13.8": Row("After a compaction the model can name the running tasks."),
    "20.1": Row("The six example calls take the paths of the reference."),
    "20.2": Row("The sample files of the reference load as they are."),
    "20.3": Row("If forks are enabled, every spawn runs in the background."),
    "20.4": Row("If forks are disabled, a call without a type runs the general agent, without a warning."),
    "20.5": Row("A refused call leaves no worktree, branch, task or name behind."),
    "20.6": Row("A hook or a rule can stop a spawn; without either, nobody is asked."),
    "20.7": Row(
        "A definition with `bypassPermissions` is treated as one without a mode unless the user has enabled it."
    ),
    "20.8": Row("A foreground child has an output file and a transcript; moved to the background, it keeps both."),
    "20.9": Row("An agent that cannot read files is not advised to read the output file."),
    "20.10": Row("A fork cannot fork; each of two signs is enough to recognize it."),
    "20.11": Row("A fork has its parent's system prompt; only its last text differs."),
    "20.12": Row("A message that is sent by name in the round after the launch reaches the child."),
    "20.13": Row("With `GREENROOM_SUBAGENT_MODEL` set, a fork shares its parent's prefix."),
    "20.14": Row("The list of agents says in words which tools each has."),
    "20.15": Row("Each symptom in the reference's table can be read from events, states or error texts."),
}
