"""Failures that must be impossible here because they happened elsewhere, and what people check first: id, promise, whose it is.

`RC-n` are bugs that users of comparable systems reported, `CL-n` those that a comparable product fixed; `n.m` is line m of
the behaviours that users would check of section n. A test names the rows that it holds in its docstring, or in its name:

    RC-67                     def test_rc_67_...
    Behaviours (3), line 1    several lines of one section: lines 1 and 2

`tests/docs/test_regressions.py` holds both directions, and docs/design/regressions.md shows who holds what.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import attrs


class Part(StrEnum):
    """The part that has to be there before a row can be held."""

    SUB_AGENTS = "sub-agents"
    TEAMS = "teams"
    GATEWAY = "the gateway"


@attrs.frozen
class Row:
    """One promise.

    Attributes:
        promise: What holds here.
        waits_for: The part that it is about, when that is not one agent.
        open: What of it does not hold yet; empty when all does.
    """

    promise: str
    waits_for: Part | None = None
    open: str = ""


_S, _T, _G = Part.SUB_AGENTS, Part.TEAMS, Part.GATEWAY

ROWS: Final = {
    # --- cancel scope, cancellation propagation
    "RC-01": Row("Cancelling a turn touches only that turn and its foreground children."),
    "RC-02": Row("Gestures of a console are separate verbs; ending everything needs an explicit call.", _G),
    "RC-03": Row("What was ended can be resumed on request, and its history is kept."),
    "RC-04": Row("Every cancelled child has exactly one terminal event and one notice with a reason."),
    "RC-05": Row("A cancel is for a turn, an agent or a tree; that of a turn leaves work in the background alone."),
    "RC-06": Row("Ending a tree leaves no descendant that could run."),
    "RC-08": Row("A cancel is for one turn, may be repeated and never sticks."),
    "RC-10": Row("A terminal state is written once; a cancel wins or loses against the finish, never both."),
    "RC-11": Row("A cancel reaches every descendant within one step."),
    "RC-12": Row("Tools run in a scope of their turn: they see its cancel before it ends."),
    "RC-13": Row("A cancel is on record and looked for at each boundary; who swallows it changes nothing."),
    "RC-14": Row("A cancelled tool call always has its result, and the turn its end."),
    "RC-16": Row("A cancel is heard at every step."),
    "RC-18": Row("A run is ended from another task, a signal or another process."),
    # --- completion notices
    "RC-19": Row("Every end of a background task has its own notice, however many end at once."),
    "RC-20": Row("A spawn is registered before it is accepted."),
    "RC-22": Row("What comes during a turn is queued and heard at the next boundary."),
    "RC-24": Row("A completion is delivered once, also across restarts."),
    "RC-25": Row("What has ended never runs again without an explicit message."),
    "RC-27": Row("A notice belongs to the run; attempts are internal."),
    "RC-29": Row(
        "Giving up a delivery wakes those that wait for it.",
        open="Of deliveries to channels, which are tried again; they come with the gateway.",
    ),
    "RC-30": Row("Results are kept until they are read, dismissed or expire."),
    "RC-31": Row("A delivery never holds the lane that it waits for."),
    "RC-32": Row(
        "A route that is gone is a recorded failure.",
        open="Of routes to channels; they come with the gateway.",
    ),
    "RC-34": Row("What a person says goes before notices; both are heard."),
    "RC-35": Row("A queue that is not empty and an agent that is idle mean a wake that is scheduled."),
    "RC-36": Row("A headless run waits for its background work, or says what it abandons."),
    # --- truth of status
    "RC-37": Row("An error of the provider is a failure, also in the middle of an answer."),
    "RC-39": Row("If all children failed, the result is a failure."),
    "RC-41": Row("What has died is lost, and never shown as running.", _G),
    "RC-42": Row("A passing error is overcome in the turn; the steps before it are not repeated."),
    # --- mailboxes and teams
    "RC-43": Row("Mail is read when it stands in the conversation, never before."),
    "RC-44": Row("A send to nobody is refused with the names that are near."),
    "RC-48": Row("A message to one who has ended is a dead letter, and its sender is told."),
    "RC-49": Row("Being idle is a state and no message."),
    "RC-50": Row("Every run of a child has a typed result, also an empty one."),
    # --- shutdown
    "RC-51": Row("A shutdown asks, cancels, kills and always ends."),
    "RC-52": Row("Acknowledging a shutdown is not yet the end."),
    "RC-53": Row("An agent is ended without the help of its model."),
    "RC-55": Row("One stop for everything that has an id."),
    "RC-56": Row("A request to terminate leaves turns unfinished, on record and resumable."),
    # --- waiting, watchdogs
    "RC-57": Row("Waiting for a task is event-driven and has its own deadline."),
    "RC-59": Row("A wait that closes a circle is refused at once, with the way."),
    "RC-62": Row("Every control request has a deadline.", _G),
    "RC-63": Row("A silent provider ends in an answer or an error."),
    "RC-64": Row("The watch knows the phase of an answer, and lets a slow but healthy one live."),
    "RC-65": Row("A retry is bounded by attempts and by a budget that all share."),
    # --- transcript validity
    "RC-67": Row("At every persisted point the conversation is one that the provider takes."),
    "RC-69": Row("What was said is in the transcript before anybody hears of it, however soon the end comes."),
    "RC-70": Row("A call and its result stay a pair when a hook ends the turn."),
    # --- processes
    "RC-72": Row("A session that is shot leaves no process."),
    "RC-73": Row("An agent's shells end with it."),
    # --- worktrees
    "RC-75": Row("A worktree with any work in it stays."),
    "RC-76": Row("Nothing is forced when git refuses to remove a worktree."),
    "RC-77": Row("A worktree goes with its last user only."),
    "RC-79": Row("An unchanged worktree goes at the end."),
    # --- usage, budgets
    "RC-80": Row("Usage is kept per request with its agent; sums are sums of these."),
    "RC-81": Row("The main agent's usage and everybody's are separate figures."),
    "RC-83": Row("Depth, width and number of children have limits."),
    "RC-84": Row("A budget is looked at before each request, and a denial is final."),
    # --- resume and replay
    "RC-86": Row("A compaction does not forget what runs."),
    "RC-87": Row("An agent of an earlier process is found by its id."),
    "RC-88": Row("Resuming does not repeat calls whose results are there."),
    "RC-89": Row("An approval within a child does not repeat what came before."),
    "RC-91": Row("A run that is too old is lost and not revived.", _G),
    "RC-93": Row("Recovery takes only what it owns.", _G),
    "RC-94": Row("Recovery is tried again, item by item.", _G),
    # --- task board
    "RC-96": Row("Items belong to ids and not to names."),
    "RC-97": Row("Claiming, releasing and deleting are single steps."),
    "RC-100": Row("A blocked item cannot be started; the end of what blocks it wakes."),
    # --- permissions and trust
    "RC-101": Row("A call that nobody decides about is refused at its deadline, and the refusal is a result."),
    "RC-102": Row("Waiting for a permission can be seen, and the agent that waits says so."),
    "RC-103": Row("What is denied is denied at every depth."),
    "RC-105": Row("Only an answer to a question answers it; no message does."),
    "RC-106": Row("No text can look like a field of a notice."),
    # --- resources
    "RC-107": Row("A program that prints forever is ended; the head and the tail are kept."),
    "RC-109": Row("Runs that have ended give up their history."),
    "RC-110": Row("Nothing holds an agent that has ended."),
    "RC-111": Row("A full disk refuses what is new, loudly."),
    # --- distributed, prompt cache
    "RC-114": Row("A registration belongs to its connection.", _G),
    "RC-116": Row("A worker that was cut off connects again.", _G),
    "RC-117": Row("Each request begins with the one before."),
    # --- from a changelog
    "CL-01": Row("The terminal state does not wait for summaries and clean-up."),
    "CL-02": Row("A clean-up that hangs ends at a deadline of its own."),
    "CL-03": Row("A task that ends between two looks is not missed."),
    "CL-04": Row("A notice has every field that its task has."),
    "CL-05": Row("After a compaction the model knows what runs."),
    "CL-06": Row("The answer is the last text and nothing else."),
    "CL-07": Row("The caller gets the partial text of a turn that failed or was ended."),
    "CL-08": Row("How a turn ended is what the runtime saw."),
    "CL-09": Row("An error before any text is a failure, not an empty success."),
    "CL-10": Row("A team that is opened twice says nothing twice."),
    "CL-11": Row("A resumed run is a new run of the same id."),
    "CL-12": Row("Waiting for a permission is not work."),
    "CL-13": Row("Moving to the background changes only who waits."),
    "CL-14": Row("A message that was accepted is handled, given back or a dead letter."),
    "CL-15": Row("What was started in the background does not end with its turn."),
    "CL-16": Row("A message never cancels a start."),
    "CL-17": Row("Clearing a conversation touches nothing else.", _G),
    "CL-18": Row("An interrupt of an idle agent is answered, and ending everything always works."),
    "CL-19": Row("An actor whose end was requested is not restarted."),
    "CL-20": Row("Idle mates keep no run from its end."),
    "CL-21": Row("Each phase of a shutdown has a budget."),
    "CL-22": Row("An answer that comes too late is counted and changes nothing."),
    "CL-23": Row("A budget holds for all agents of a session; once it is used up, none is started."),
    "CL-24": Row("A send succeeds when it is on record."),
    "CL-25": Row("A name means the agent that had it when it was named."),
    "CL-26": Row("One bad entry of a mailbox keeps nothing from the others."),
    "CL-27": Row("What is too long is cut and not refused."),
    "CL-28": Row("Names are data, and never bytes of a header."),
    "CL-29": Row("No interruption leaves a call without its result."),
    "CL-30": Row("A conversation is repaired in both directions."),
    "CL-31": Row("Each agent has a transcript of its own."),
    "CL-32": Row(
        "A resume restores the definition, and with it prompt, tools, mode and model.",
        open="Of a main agent that a program resumes: the program says which definition it is.",
    ),
    "CL-33": Row("A fork keeps a pointer to what it shares."),
    "CL-34": Row("A resume that failed can be tried again."),
    "CL-35": Row("What ran when the process ended is told on resume."),
    "CL-36": Row("A deny wins over every hook, and a rewritten input is decided about again."),
    "CL-37": Row("Exit code 2 blocks, whatever was printed."),
    "CL-38": Row("A pattern may name all tools of a server, or of all."),
    "CL-39": Row("One gate for every way to spawn."),
    "CL-40": Row("A list of tools that means none is refused, with what it names."),
    "CL-41": Row("A rule sees through compound commands and assignments."),
    "CL-42": Row("A worktree that was just taken up again is not removed."),
    "CL-43": Row("A command cannot lead git out of its worktree."),
    "CL-44": Row("The current folder is each agent's own."),
    "CL-45": Row("Mates have no mates."),
    "CL-46": Row("Mates that have ended are let go."),
    "CL-47": Row("Items are listed by number."),
    "CL-48": Row("The lead is told of a mate that failed."),
    "CL-49": Row("A stop hook that always blocks is overruled."),
    "CL-50": Row("Stop hooks do not run when the provider failed."),
    "CL-51": Row("A skill that forks does not call itself forever."),
    "CL-52": Row("Chains of children have one limit."),
    "CL-53": Row("A process ends with its scope, group and all."),
    "CL-54": Row("A long output is cut, and all of it is in a file."),
}

BEHAVIOURS: Final = {
    "1.1": Row("A call without a type runs the general agent."),
    "1.2": Row("Types are found whatever their spelling; `Agent(type)` can be denied."),
    "1.3": Row("`GREENROOM_SUBAGENT_MODEL` beats the model of a call."),
    "1.4": Row("With `clamped`, a child of a parent in `acceptEdits` is in `acceptEdits`."),
    "1.5": Row("`tools: [Grpe]` is refused and names `Grpe`; `tools: []` starts without tools."),
    "1.6": Row("The 21st child at once is refused."),
    "1.7": Row("At the depth limit there is no tool to spawn with."),
    "1.8": Row("Two forks of one message share their prefix."),
    "1.9": Row("`Bash(rm *)` denied and `Bash` allowed: `FOO=1 rm x && ls` is denied, also in bypass; `ls` runs."),
    "1.10": Row("A child that says nothing has a placeholder."),
    "2.1": Row("The project's definition beats the user's, the command line's both."),
    "2.2": Row("A file without a name is passed over; one with a name only is told."),
    "2.3": Row("An edited file counts for the next agent."),
    "2.4": Row("A plugin's hooks and mode have no effect; its agents carry its name."),
    "2.5": Row("A `Stop` hook of a child is one of `SubagentStop`, and goes with the agent."),
    "2.6": Row("Notes are told up to 200 lines or 25 KB, and come with Read, Write and Edit."),
    "2.7": Row("`--agent x`, then `--resume`: still x; without x, the defaults and a warning."),
    "3.1": Row("Exit code 1 lets a call run, 2 blocks it and the model reads why."),
    "3.2": Row("`Edit|Write` is for both; `db-agent` is not for `prod-db-agent`."),
    "3.3": Row("A hook that allows lifts no deny rule; of allow and deny, deny is taken."),
    "3.4": Row("A stop hook may block eight times; from the second on it is told so."),
    "3.5": Row("`SubagentStop` is told the transcript, and may keep the agent going."),
    "3.6": Row("What `SubagentStart` adds is in a child's first request."),
    "3.7": Row("`TaskCompleted` and `TaskCreated` hooks refuse an item."),
    "3.8": Row("A `TeammateIdle` hook keeps a mate going or ends it."),
    "3.9": Row("A rewritten input replaces the whole, and the rules look at it again."),
    "3.10": Row("A long output becomes a file and a preview."),
    "4.1": Row("Positions of arguments count from zero; one that is missing stays."),
    "4.2": Row("Arguments without a place are appended."),
    "4.3": Row(
        "`allowed-tools` hold for the turn, and not behind the next message of a person.",
    ),
    "4.4": Row("A skill that forks sees nothing of the conversation."),
    "4.5": Row("A command that fails ends the skill, and the model never sees it."),
    "4.6": Row("A skill beats a command, the user's beats the project's."),
    "4.7": Row("A skill for users can be neither called by a model nor preloaded."),
    "5.1": Row("Each scope of memory has its folder."),
    "5.2": Row("200 lines count, and of these 25 KB."),
    "5.3": Row("Memory can be switched off, and with it its tools."),
    "5.4": Row("Worktrees share the main memory; `local` is each checkout's own."),
    "5.5": Row("The agents that search read no instructions."),
    "6.1": Row("A background agent is launched at once and told of once, under the same ids."),
    "6.2": Row("Who waits for a result by TaskOutput gets no notice besides."),
    "6.3": Row(
        "An interrupt leaves it alone; TaskStop kills it, its part is told once, and a second TaskStop is an error."
    ),
    "6.4": Row("A message reaches a running agent at its next step, and goes on with one that has ended."),
    "6.5": Row("After a restart an agent goes on by its id."),
    "6.6": Row("An error inside a child is `failed`, with the error; nothing stays running."),
    "6.7": Row("`sleep 300` is ended at its timeout; `make all` is moved to the background."),
    "6.8": Row("A headless run prints its result after its agents have ended, or the ceiling."),
    "6.9": Row("A slow clean-up of a worktree holds no TaskOutput up."),
    "6.10": Row("What is looked at is kept; then it is released."),
    "7.1": Row("A name only registers a name, unless teams are switched on: then it makes a mate."),
    "7.2": Row("Of two mates that claim one item, one wins and the other is told."),
    "7.3": Row("Completing an item frees those behind it; deleting one clears their lists; no id is used again."),
    "7.4": Row("A bad entry of a mailbox is reported and dropped, the others arrive."),
    "7.5": Row("A send that cannot be put on record fails, and nothing was sent."),
    "7.6": Row("The end of a mate's turn is one notice, without what it said."),
    "7.7": Row("A refused shutdown leaves a mate at work; an approved one ends it and frees its items."),
    "7.8": Row("A mate whose plan is awaited changes nothing before it is approved."),
    "7.9": Row("A mate that names an agent is refused; a definition for the background is an error."),
    "7.10": Row("An interrupted mate is alive and idle; a killed one is gone."),
    "8.1": Row("A coordinator has three tools, and delegates."),
    "8.2": Row("Every worker runs in the background, whatever the call says."),
    "8.3": Row("A coordinator never forks."),
    "8.4": Row("A worker can neither mail nor spawn teammates."),
    "8.5": Row("A resumed coordinator is one again, with a warning."),
    "8.6": Row("Workers write in the scratchpad unasked; elsewhere rules hold."),
    "8.7": Row("TaskStop, then SendMessage: the same agent with all it knew."),
    "9.1": Row("What the user says during a turn comes before a notice that waited already."),
    "9.2": Row("What is sent during a batch of tool calls is in the next model request of that turn."),
    "9.3": Row("An interrupt ends the turn; what waits is sent at once, and the background goes on."),
    "9.4": Row("The notice of a child's own shell reaches the child."),
    "9.5": Row("Two commands that wait are two turns."),
    "9.6": Row("A headless run waits for its agents in the background, hears them and answers."),
    "9.7": Row("A late permission answer after a restart runs the call once."),
    "10.1": Row("The folder of a session is found from the current folder, whatever that is called."),
    "10.2": Row("Every line of a child says so, with its id and the session's."),
    "10.3": Row("The main conversation never shows lines of a child."),
    "10.4": Row("Killed in a tool and resumed, the request is sound."),
    "10.5": Row("With an old run go its children's transcripts; memory stays."),
    "10.6": Row(
        "`--no-session-persistence` leaves no files; a run that is not there is refused in the words of the product.",
    ),
    "10.7": Row("A fork of a session leaves the original as it is."),
    "11.1": Row("A worktree without changes leaves neither folder nor branch."),
    "11.2": Row("A worktree with a commit stays, with path and branch; the main checkout is untouched."),
    "11.3": Row("`cd MAIN && git reset` is refused."),
    "11.4": Row("`head` sees commits that were not pushed, `fresh` does not."),
    "11.5": Row("A `WorktreeCreate` hook that fails makes no worktree; a path that it prints is used."),
    "11.6": Row("Without git and without a hook: one clear line."),
    "11.7": Row("Two at once edit the same file."),
    "12.1": Row("A required server that is ready after 3 s is waited for; after 31 s the start fails and names it."),
    "12.2": Row("A required server that fails ends the wait at once."),
    "12.3": Row("A required server without tools is missing."),
    "12.4": Row("An agent's own server is its own, and ends with it, also on an error or a cancel."),
    "12.5": Row("The entry of the nearest scope counts as a whole."),
    "12.6": Row("`mcp__gh` denied hides its tools; `mcp__*` disallowed hides all."),
    "12.7": Row("`${TOKEN:-x}` is put in; `${TOKEN}` that is not set stays, with a warning."),
    "13.1": Row("`json` is exactly one object, the result."),
    "13.2": Row("`stream-json` begins with `init` and ends with the result; lines of a child have its call's id."),
    "13.3": Row("`--max-turns 1` on two rounds is `error_max_turns`, and an exit code."),
    "13.4": Row("A denied call is listed, and the run goes on."),
    "13.5": Row("A background task that ends leads to a result with its origin."),
    "13.6": Row("An interrupt has a receipt, and leaves what is queued."),
    "13.7": Row("SIGTERM exits with 143, and `--resume` goes on with the turn."),
    "13.8": Row("After a compaction the model can name what runs."),
    "20.1": Row("The six example calls take the paths of the reference."),
    "20.2": Row("The sample files of the reference load as they are."),
    "20.3": Row("Where forks are open, every spawn runs in the background."),
    "20.4": Row("Where forks are closed, a call without a type runs the general agent, without a word."),
    "20.5": Row("A refused call leaves no worktree, branch, task or name behind."),
    "20.6": Row("A hook or a rule stops a spawn; without either nobody is asked."),
    "20.7": Row("A definition with `bypassPermissions` is as one without a mode where the user did not switch it on."),
    "20.8": Row("A foreground child has an output file and a transcript; in the background it goes on with both."),
    "20.9": Row("Who cannot read files gets no advice to read the output file."),
    "20.10": Row("A fork is refused a fork by either of two signs."),
    "20.11": Row("A fork's system prompt is its parent's; what makes it one is in the last text alone."),
    "20.12": Row("A message by name in the round after the launch reaches the child."),
    "20.13": Row("With `GREENROOM_SUBAGENT_MODEL` set, a fork shares its parent's prefix."),
    "20.14": Row("The list of agents says in words which tools each has."),
    "20.15": Row("Each symptom of the table can be read from events, states or error texts."),
}
