"""The promises of the kernel that tests hold: id, sentence, source. Tests name the ids with `@pytest.mark.promise`.

`tests/test_promises.py` holds both directions: every promise has a test, every id that a test names is a promise. Most
promises can be seen in a journal, where `greenroom replay --check` looks for them, or in two of them (`COMPARED` of
greenroom.trace); `NOT_IN_A_JOURNAL` says of the others why not, and which modules of tests hold them.
"""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen
class Promise:
    """Something that always holds, or that always comes to pass."""

    sentence: str
    source: str = "kernel 11"


PROMISES: Final = {
    # lifecycle
    "I-1": Promise("Every machine's event sequence is a path of the five legal edges, starting at pending."),
    "I-2": Promise("An incarnation, and a turn, has exactly one terminal event."),
    "I-3": Promise("Nothing of an incarnation follows its end, save what the exit path writes, which names the end."),
    "I-4": Promise("A turn begins only while its incarnation is running and no other turn of it is."),
    "I-5": Promise("A turn's terminal event precedes its actor's."),
    "I-6": Promise("The turns of an incarnation are numbered 1, 2, 3 ... without gaps."),
    "I-7": Promise("A child that went from pending to killed ran no user code."),
    "I-8": Promise("Folding the record yields the live state at every moment."),
    "I-9": Promise("Nothing is pending or running after shutdown."),
    # mailbox
    "I-10": Promise(
        "In one lane, messages are leased in the order in which they were put, requeues and what was postponed apart."
    ),
    "I-11": Promise("A lease from next or later happens only if now was empty."),
    "I-12": Promise("Every accepted message is acknowledged, a dead letter or still queued: exactly one of them."),
    "I-13": Promise("A message is leased by at most one turn at a time, and acknowledged at most once."),
    "I-14": Promise(
        "next and later never hold more than the capacity, leased ones included; now is taken all the same."
    ),
    "I-15": Promise("A put that was refused or cancelled leaves no trace of its message."),
    "I-16": Promise("A cancelled get or drain changes neither contents nor order."),
    "I-17": Promise("A restart keeps queued mail, and the message in hand where its policy says so."),
    "I-18": Promise("A later message is leased after at most 16 next ones."),
    "I-19": Promise(
        "Postponed messages come back only with another state, in their order, before newer ones of their lane."
    ),
    "I-20": Promise("A producer that waits goes on within one step of space, close or the owner's end."),
    # abort and kill
    "I-21": Promise("An abort of an idle actor changes nothing, then or later."),
    "I-22": Promise("A turn is killed by its own scope only if a request named it."),
    "I-23": Promise("When a turn has ended, every Trio task that it started has, and every actor linked to it."),
    "I-24": Promise("After any end of a turn the next message is handled, if the actor is running."),
    "I-25": Promise("Aborting a turn changes nothing about other actors, save the messages between them."),
    "I-26": Promise("From a kill, the end comes within the grace, plus the same for each level linked below."),
    "I-27": Promise("The rungs of the ladder come in order, none before its deadline."),
    "I-28": Promise("A request after the end is stale, idle or too late, and puts nothing on record."),
    "I-29": Promise("A turn with a request before its commit is killed, failed, or completed with late_cancel."),
    "I-30": Promise("A cancel before any scheduler step whatever breaks none of these promises."),
    # supervision, watch, registry
    "I-31": Promise("At the first Down about an actor its name is free, its mailbox closed, its asks settled."),
    "I-32": Promise("There is exactly one Down for each watch, none after it was cancelled, and at once for the dead."),
    "I-33": Promise("Every ask settles exactly once; what comes later is a late reply."),
    "I-34": Promise("If the target replied before it died, the asker hears the reply first."),
    "I-35": Promise("No two incarnations of one actor run at once; their numbers rise by one."),
    "I-36": Promise("Restarts follow the table; an actor whose end was requested is never restarted."),
    "I-37": Promise("The number of restarts in a window is limited; the next one escalates."),
    "I-38": Promise("one_for_all and rest_for_one stop exactly their set in reverse order, and start it in order."),
    "I-39": Promise("A child's end precedes that of the children started before it, save in pools."),
    "I-40": Promise("An end that the supervisor decided on triggers no restart of its own."),
    "I-41": Promise("A supervisor ends with its significant children exactly when these have ended by themselves."),
    "I-42": Promise("A name leads to at most one running incarnation, and to none once the actor is gone."),
    "I-43": Promise("A pinned send never reaches another incarnation; no id is used twice."),
    "I-44": Promise("A crash of a supervisor, of its loop or of its stop routine, still ends all its children."),
    "I-45": Promise("An ask that would close a circle of waits is refused before it is queued, and no other is."),
    # determinism, trace, resources
    "I-46": Promise("The same code, scenario and choices give byte-equal records."),
    "I-47": Promise("seq is gapless and total, and every parent refers to an earlier one."),
    "I-48": Promise("Replay and both exports keep the turns, their outcomes, their durations and what led to what."),
    "I-49": Promise("After shutdown there are no tasks, names, asks, waiting producers or deadlines left."),
    "I-50": Promise("The recorder's level changes no outcome and no order of tasks."),
    "I-51": Promise("Restart and back-off times use only the run's clock and its seeded chance."),
    "I-52": Promise("Under any plan of faults that ends, everything comes to rest or to a declared escalation."),
    # teams
    "I-53": Promise(
        "The owner of an item that it was handed has a turn or mail, or somebody was told of the item.",
        "boards of teams",
    ),
    "I-54": Promise(
        "A teammate that is idle or has ended owns no item in progress that nobody was told of.", "boards of teams"
    ),
    # schedules
    "R11-a": Promise(
        "A time of day that the clock skips comes at the first moment after the gap, one that it repeats comes once; intervals go on.",
        "schedules",
    ),
    "R11-b": Promise(
        "Whenever a process is killed, each time of a schedule is one item; several that were missed are one, which names them.",
        "schedules",
    ),
    "RM-03": Promise(
        "A message for a node that was started anew does not vanish: its reference is closed.", "delivery"
    ),
    "RM-08": Promise("Of what is sent while a connection is broken nothing is lost when it comes back.", "delivery"),
    "RM-11": Promise("A connection that is silent is given up, and one that has ended is opened again.", "delivery"),
    "RM-12": Promise("An acknowledgement of a lease that has ended does not count.", "delivery"),
    "RM-04": Promise(
        "A durable schedule outlives the process or is refused; what is missed, replaced or ended is recorded.",
        "schedules",
    ),
    "RM-05": Promise(
        "A time of a schedule fires once, whatever is killed; after a night, all missed times are one prompt.",
        "schedules",
    ),
    # monitors
    "R12-b": Promise("A command that is monitored never keeps the user's next message from the agent.", "monitors"),
    "R12-c": Promise(
        "Each line of a monitored command is reported in order, or counted; at most 20 reports come in a minute.",
        "monitors",
    ),
    "R12-d": Promise(
        "The end of a monitor is told once, wherever a process is killed; none is started again.", "monitors"
    ),
    # channels
    "R12-a": Promise(
        "What a channel pushes is bounded, its rest is counted and told; nothing in it closes or forges a tag, or is anybody's consent.",
        "channels",
    ),
    # records
    "I-55": Promise("A state, reason or other word of an event is one of those that its class declares."),
    # delivery
    "I-56": Promise(
        "An item is accepted before it is taken and ends once; journal, transcript and store agree about it.",
        "delivery",
    ),
    "R6-b": Promise(
        "Of two writers and a taker that are killed at random, no acknowledged item is lost and none is taken twice.",
        "delivery",
    ),
    "R6-a": Promise("A letter that was acknowledged is read once, though its reader was killed before.", "delivery"),
    "R6-c": Promise("A letter that is sent five times is one item, and gets five equal answers.", "delivery"),
    "R6-d": Promise(
        "A store in memory and one on disk keep the same rules, and the kit fails a store that breaks one.", "delivery"
    ),
    "R6-e": Promise(
        "Of a session with three senders that is killed at any event, each accepted item is read once.", "delivery"
    ),
    "R10-a": Promise("In each state of a receiver, a letter has its answer, and is where the answer says.", "delivery"),
    "R10-b": Promise(
        "A socket of another user, a link in its place, a folder that others can write, too long a path: each is refused.",
        "delivery",
    ),
    # links
    "R2-a": Promise("Over any cuts and resumptions, every frame of a link comes once, and in order.", "delivery"),
    "R2-b": Promise(
        "Of messages that are repeated, lost or swapped, what is delivered is a prefix; a gap ends the connection.",
        "delivery",
    ),
    "R2-c": Promise(
        "Of messages over a link that is cut at random places, each is handled once, in order.", "delivery"
    ),
    "R2-d": Promise(
        "A node that is silent is noticed after three ticks, and its link is lost after the time to resume.", "delivery"
    ),
    "R2-e": Promise(
        "Of two versions the higher common one counts; without one, both are named and nothing is done.", "delivery"
    ),
    "R2-f": Promise(
        "A value of registered classes comes back equal; any bytes at all do no more than end their connection.",
        "delivery",
    ),
    "R2-g": Promise("An abort takes effect before the messages that were sent before it and wait.", "delivery"),
    "R3-a": Promise(
        "A reference to a remote actor does what a local one does, but for what one table says.", "delivery"
    ),
    "R3-b": Promise(
        "A message to another node that was accepted is handled, waits, or is a dead letter here.", "delivery"
    ),
    "R3-c": Promise("An ask that a lost link ends says whether its request may have been run.", "delivery"),
    "R3-d": Promise(
        "A reference to a node that was started anew is closed, and its watchers are told at once.", "delivery"
    ),
    "R3-e": Promise(
        "The ask of a cancelled asker is withdrawn over there; with cascade, its turn is aborted.", "delivery"
    ),
    "R3-f": Promise(
        "A reference in a message reaches the same actor from the other node, while the link lasts.", "delivery"
    ),
    "R4-d": Promise(
        "A message from another node leads back to the turn that sent it, if the journals of both nodes are at hand.",
        "observability",
    ),
    "R4-a": Promise(
        "A watch of an actor of another node is told once: of its end, or of the loss of the link.", "delivery"
    ),
    "R5-a": Promise(
        "The output of a remote agent is byte for byte what its host has, and its end is one notice; also if the run is killed and resumed.",
        "delivery",
    ),
    "R5-b": Promise(
        "Of a remote agent whose host was killed the run is told once that it is lost, when the host is back.",
        "delivery",
    ),
    "R5-c": Promise(
        "An order for a remote agent that is sent again starts no other one; a stop is sent until its host has it.",
        "delivery",
    ),
    "R5-d": Promise(
        "A result that comes after its host was unreachable for too long is one more message, and the task stays failed.",
        "delivery",
    ),
    "R5-questions": Promise(
        "Permissions that an agent on a host needs are asked of its run, once each, also over broken connections.",
        "delivery",
    ),
    "R5-budget": Promise(
        "The usage of an agent on a host counts in the budget of its run, and one over it is stopped.", "delivery"
    ),
    "R5-owner": Promise("An agent of a host exists for the run that launched it, and for nobody else.", "delivery"),
    "R7-c": Promise(
        "Each death of a run or of its host, and each loss of their link, has the end that the table says.", "delivery"
    ),
    "R13-a": Promise(
        "A peer that breaks the rules, or plays a connection back, ends its own connection only, and is recorded.",
        "delivery",
    ),
    "R13-b": Promise(
        "A token never crosses; its proof is good for one role, connection, link and pair of nodes.", "delivery"
    ),
    "R13-c": Promise(
        "A peer does only what it is permitted; what it tries beyond that is refused, told and recorded.", "delivery"
    ),
    "R13-d": Promise(
        "Nothing crosses to another machine without TLS; a certificate that is not accepted, or missing where one is demanded, is refused.",
        "delivery",
    ),
    "R8-a": Promise(
        "The agents of a host whose placement says that it has died are lost at once, and no others.", "delivery"
    ),
    "R8-b": Promise("A survey on hosts has the report of one without them, also when a host dies.", "delivery"),
    "R8-c": Promise(
        "A host that Ray cannot reach is waited for; only one whose process has ended counts as dead.", "delivery"
    ),
    "R9-a": Promise(
        "Of processes that share a box on a redis server, killed as the server is, no acknowledged item is lost and none is taken twice.",
        "delivery",
    ),
    "R9-b": Promise(
        "A box on a redis server has one taker at a time; what an earlier one acknowledges later is refused.",
        "delivery",
    ),
    "R9-c": Promise("No text about a redis server holds its password.", "delivery"),
    "R9-d": Promise("What a redis server can lose is said when it is opened.", "delivery"),
    "R9-e": Promise(
        "A job is acknowledged behind the commit of the turn that did it, and by the consumer alone that has it.",
        "delivery",
    ),
    "R9-f": Promise(
        "A job whose turn fails, is cut or ends with its process is taken again, three times at most; then it is a dead letter.",
        "delivery",
    ),
    "R15-a": Promise(
        "Under any plan of cuts, silence, deaths and restarts, nodes keep each promise of their links, and come to rest.",
        "delivery",
    ),
    "RM-01": Promise("A message is reported as delivered only once it is in the store of its receiver.", "delivery"),
    "RM-02": Promise("A message never comes back to its sender as somebody else's.", "delivery"),
    "I-57": Promise("Every store of boxes keeps the rules of the conformance kit.", "delivery"),
    "I-59": Promise(
        "What was accepted and stored is read once, or ends in another way that is on record, wherever the process is killed.",
        "delivery",
    ),
    "I-61": Promise("A sender of letters is told where each of them is, and nothing is sent in a circle.", "delivery"),
    "R7-turn": Promise("A turn in which a process ended is resumed before its agent takes anything new.", "recovery"),
    "R7-leave": Promise(
        "A cut turn that is left to the program waits for it, and so does all that is new.", "recovery"
    ),
    "R7-agents": Promise(
        "Each loss of an agent is told once, or made good by a run of the same id, at most three times.", "recovery"
    ),
    "R7-closing": Promise(
        "A session that is closing begins no turn; an end that comes late is told once, by the next process.",
        "recovery",
    ),
    "R7-d": Promise(
        "A command that refuses a run asks no model, tells nobody anything and writes nothing.", "recovery"
    ),
    "R7-last": Promise(
        "A run that is resumed without a prompt prints what its last turn said, and ends with the code of that turn.",
        "recovery",
    ),
    "RM-10": Promise(
        "Recovery strands nothing and runs nothing twice: at most one request is made again per cut turn.", "recovery"
    ),
    "R7-a": Promise("A swarm that is killed or stopped anywhere, and resumed, comes to the same findings.", "recovery"),
    "R7-b": Promise("A resumed swarm asks its models for what was cut once more, and prompts nobody else.", "recovery"),
    "RR-1": Promise(
        "A re-run starts no process, opens no connection and writes nothing outside its run folder.", "re-run"
    ),
    "RR-2": Promise("A recorded run is equal each time that it is done again, if nothing has changed.", "re-run"),
    "RR-3": Promise(
        "In a re-run each message enters its mailbox at the recorded place, and the owner's next step waits for it.",
        "re-run",
    ),
    "RR-4": Promise("A run that was killed is equal up to every event that was on disk.", "re-run"),
    "RR-5": Promise("The first cause of a difference is what was changed.", "re-run"),
    "RR-6": Promise("Secrets are masked in the inputs and the results that are on record.", "re-run"),
    "RR-7": Promise(
        "Arguments, tasks in the background and servers of a run are on record, and a re-run has them from there.",
        "re-run",
    ),
    "RR-8": Promise("The ids of an owner depend on the seed, the owner and how many it has drawn.", "re-run"),
    "RR-9": Promise(
        "A changed request is shown before it is accepted, and only if nothing but requests differs.", "re-run"
    ),
    "SV-1": Promise(
        "The survey finds secrets in each form that its report names; placeholders, hashes and names of fields are none.",
        "swarm",
    ),
    "SV-2": Promise("The text of a secret that a survey finds is in no answer of its tools.", "swarm"),
    "SV-3": Promise("A ring of imports is told from one within functions, and from one for type checkers.", "swarm"),
    "SV-4": Promise("What a linter finds too is one finding with its rule as the source; it changes nothing.", "swarm"),
    "SV-5": Promise(
        "The survey reports each planted fault of each of its kinds at its line, and nothing that only looks like one.",
        "swarm",
    ),
    "R7-stop": Promise(
        "What a teammate completes and sends in its last turn is kept: the board ends after it, mail waits.", "recovery"
    ),
    "R7-order": Promise(
        "A killed process leaves no line of a transcript without the events before it, and no event without the lines before it.",
        "recovery",
    ),
    "R7-money": Promise(
        "Cost and budget of a resumed run count what its earlier processes spent, killed ones too.", "recovery"
    ),
    "R7-leaving": Promise(
        "A signal that comes once a command's work is done takes neither its last line nor its exit code.", "recovery"
    ),
    "I-60": Promise("Words count as the user's only if the process that holds the run accepted them.", "delivery"),
    # serving
    "A25-a": Promise(
        "Only a request with the right host, an allowed origin or none, and the right credential reaches an application.",
        "serving",
    ),
    "A25-h": Promise(
        "A right credential gets in within a second, however many wrong ones and silent connections there are.",
        "serving",
    ),
    "A25-f": Promise(
        "A page of another origin reads and changes nothing, and a text that the own page shows is never markup.",
        "serving",
    ),
    # gateway
    "A8-a": Promise("A sub-agent is offered none of the session tools.", "gateway"),
    "A8-b": Promise("A sub-agent that calls a tool that starts others anyway is refused.", "gateway"),
    "A8-c": Promise("A denial of a tool wins over its permission.", "gateway"),
    "A8-d": Promise("A pattern takes away every tool that it fits.", "gateway"),
    "A8-e": Promise("A list of permitted tools brings back none that was taken away.", "gateway"),
    "A8-f": Promise("What is denied to an agent is denied to its sub-agents.", "gateway"),
    "A8-g": Promise("No session is offered both vocabularies, and no sub-agent either.", "gateway"),
    "A8-h": Promise("The shell is taken away by each of its names.", "gateway"),
    "A1-b": Promise("The key of a sub-agent holds the id of the agent that runs, in its one form.", "gateway"),
    "A1-d": Promise("Ten thousand sub-agents have ten thousand keys.", "gateway"),
    "A1-f": Promise("A list of sessions never shows unknown, and global only where all share one session.", "gateway"),
    "A24-a": Promise(
        "A session key and its parts stand for each other, and keys of different peers never coincide.", "gateway"
    ),
    "A19-a": Promise(
        "An empty configuration has a width of 8, archives after 60 minutes, and lets agents start themselves only.",
        "gateway",
    ),
    "A19-b": Promise("An unknown key is refused with its full path.", "gateway"),
    "A19-c": Promise(
        "A width that cannot be used is replaced, and the replacement is reported with its place.", "gateway"
    ),
    "A19-d": Promise("An archive time of 0 means never.", "gateway"),
    "A21-a": Promise("The sample configuration loads unchanged, and decides what a sub-agent is offered.", "gateway"),
    "A23-a": Promise(
        "A file that is not JSON5, is too large, too deep or says a key twice is refused in one line.", "gateway"
    ),
    "A23-b": Promise("Every problem of a configuration is reported, each with its path.", "gateway"),
    "A23-c": Promise("The configuration file is never written.", "gateway"),
    "A23-d": Promise("No output about a configuration holds a secret.", "gateway"),
    "A5-a": Promise(
        "Every run of the gateway ends once and has one completion, whatever ends it and whenever it crashes.",
        "gateway",
    ),
    "A5-b": Promise(
        "The end of a run is announced from one event, so two ways of noticing it announce it once.", "gateway"
    ),
    "A5-c": Promise("A stopped run, a failed one and one that ran out of time are told apart.", "gateway"),
    "A5-d": Promise("A run is restored after a restart from the gateway's journal alone, unchanged.", "gateway"),
    "A5-e": Promise("An event that the gateway's tables do not allow raises and is not recorded.", "gateway"),
    "A5-f": Promise(
        "A torn last line of the gateway's journal is as if it had never been; a damaged journal is put aside, and the rest of it is kept.",
        "gateway",
    ),
    "A6-b": Promise(
        "A sub-agent whose whole reply is ANNOUNCE_SKIP announces nothing; any other reply is announced.", "gateway"
    ),
    "A6-c": Promise("The status of an announcement is that of the run, whatever a model says.", "gateway"),
    "A6-d": Promise("An announcement without a reply says that the result is not available.", "gateway"),
    "A6-e": Promise("The announcement of a failed run has its error in the notes, and no result.", "gateway"),
    "A6-g": Promise("What waits for a session is never merged across routes, reordered or lost.", "gateway"),
    "A6-j": Promise(
        "Only the last part of a long text has its last line, and a retry sends only what was not taken.", "gateway"
    ),
    "A6-l": Promise("No text of a model passes for a line of the gateway's own.", "gateway"),
    "A7-a": Promise("Durations have at most two units, rounded to the second.", "gateway"),
    "A7-b": Promise("Without a price an announcement names no cost.", "gateway"),
    "A7-c": Promise("Numbers of tokens have one decimal from a thousand up.", "gateway"),
    "A7-d": Promise("A cost counts all four kinds of tokens.", "gateway"),
    "A7-e": Promise("Figures without those of a cut request are marked, and unknown ones are not numbers.", "gateway"),
    "A25-b": Promise(
        "A call with a wrong field is refused with its path, and a wrong frame ends at most its own connection.",
        "gateway",
    ),
    "A25-c": Promise(
        "The same change again, side by side or after a restart, is made once and has one answer; with other parameters it is refused.",
        "gateway",
    ),
    "A25-d": Promise("A client that does not read is told what it lost, or closed, and makes nobody wait.", "gateway"),
    "A25-e": Promise("A reply that a client puts together over breaks and gaps is the whole reply.", "gateway"),
    "A26-a": Promise(
        "A channel hands messages in once and in order, acknowledges what is stored, and is reconnected later and later.",
        "gateway",
    ),
    "A26-b": Promise("What a real chat server says about a text is the result of the try to send it.", "gateway"),
    "A26-c": Promise(
        "A server that is killed while a text is sent shows it at most once, and what may be missing is unknown.",
        "gateway",
    ),
    "A26-e": Promise("Messages of programs are known as such, and the agent's are known to others.", "gateway"),
    "A26-d": Promise("The parts of a text are the text, and none is over the limit of its channel.", "gateway"),
    "A12-f": Promise("An archived transcript never replaces another file.", "gateway"),
    "A2-a": Promise("A spawn is answered at once, while its run works.", "gateway"),
    "A2-b": Promise("A spawn without a task is an error of its input.", "gateway"),
    "A2-c": Promise("A model that nobody has is skipped, with a warning.", "gateway"),
    "A2-d": Promise(
        "The first check of a spawn that fails decides, and an unknown level of thinking is an error.", "gateway"
    ),
    "A2-e": Promise("Any cleanup but delete is keep.", "gateway"),
    "A2-f": Promise("A limit of time is floored to whole seconds.", "gateway"),
    "A2-g": Promise("A spawn that the disk refuses leaves no run and no session.", "gateway"),
    "A2-h": Promise("A run that was accepted is known after a kill.", "gateway"),
    "A2-i": Promise("A spawn names the parameter that it does not know.", "gateway"),
    "A3-a": Promise("By default an agent starts only itself.", "gateway"),
    "A3-b": Promise("Allowed agents are compared in their one form.", "gateway"),
    "A3-c": Promise("A star allows every agent.", "gateway"),
    "A3-d": Promise("The agents that may be started are the requester and then the others, sorted.", "gateway"),
    "A4-a": Promise("The first step that names a model, or a level of thinking, decides.", "gateway"),
    "A4-e": Promise("A model that nobody has falls through to the next step.", "gateway"),
    "A4-g": Promise("A model written as an object is the model written as a text.", "gateway"),
    "A6-a": Promise("The announce step is in the sub-agent's session.", "gateway"),
    "A6-f": Promise(
        "Results beyond the cap of a queue are posted whole, and named to their requester in one line.", "gateway"
    ),
    "A6-h": Promise("Every try of a part has the same key and bytes.", "gateway"),
    "A6-i": Promise("A result that is not delivered stays, whatever its cleanup says.", "gateway"),
    "A6-k": Promise("A requester that is to tell a result does so once, or the template is posted.", "gateway"),
    "A10-h": Promise("A turn that waits for another session lends it its place.", "gateway"),
    "A11-a": Promise("A run is ended at the limit of its time, and announced.", "gateway"),
    "A11-c": Promise("Waiting for a place does not count as working time.", "gateway"),
    "A11-d": Promise("A run without a limit is not ended.", "gateway"),
    "A12-a": Promise("The archive time of a session counts from the end of its run.", "gateway"),
    "A12-b": Promise("A session that goes with its result goes behind the delivery.", "gateway"),
    "A12-c": Promise("A session that works is not archived.", "gateway"),
    "A12-d": Promise("The archive time of a session outlives a restart.", "gateway"),
    "A12-g": Promise("A main session is not archived.", "gateway"),
    "A13-a": Promise("A stop of a session ends all of its sub-agents, waiting ones too, and counts them.", "gateway"),
    "A13-e": Promise("A second stop stops nothing.", "gateway"),
    "A13-f": Promise("A sub-agent that ignores its stop counts as failed until it has ended.", "gateway"),
    "A14-h": Promise("A wait for what has ended returns at once.", "gateway"),
    "A15-a": Promise("Sessions are listed by kind, and an unknown kind is none.", "gateway"),
    "A15-d": Promise("A session that others than owners write to sees at most what descends from it.", "gateway"),
    "A15-e": Promise("Sessions of other agents need a policy that names both.", "gateway"),
    "A15-g": Promise("The count of a list is that of its rows, each of which can be found.", "gateway"),
    "A16-a": Promise("A history is the same by key and by session id.", "gateway"),
    "A16-b": Promise("The history of an unknown session is an error that names it.", "gateway"),
    "A16-c": Promise("Results of tools are recalled only on request.", "gateway"),
    "A16-d": Promise("A history that is not visible is forbidden.", "gateway"),
    "A16-e": Promise("A history is bounded, and its pages reach every message.", "gateway"),
    "A16-f": Promise("A history is masked, and the file is not changed.", "gateway"),
    "A17-a": Promise("A message to nobody is an error.", "gateway"),
    "A17-b": Promise("A message has one address.", "gateway"),
    "A17-c": Promise("A wait for a reply that runs out ends nothing.", "gateway"),
    "A17-e": Promise("Sessions that would wait for each other are refused at once.", "gateway"),
    "A17-f": Promise("A label reaches no session that its key does not.", "gateway"),
    "A17-g": Promise("The words of another session are another agent's, never a person's.", "gateway"),
    "GW-04": Promise("A part whose result is unknown is not repeated, unless its channel takes keys.", "gateway"),
    "A18-a": Promise("No result of a sub-agent is lost by a kill of the gateway.", "gateway"),
    "A18-b": Promise("No result of a sub-agent is told twice, whenever the gateway is killed.", "gateway"),
    "A22-a": Promise("A gateway that is stopped leaves no process, port, held lock or temporary file.", "gateway"),
    "A22-b": Promise(
        "A second gateway on a state folder is refused and named the first; a killed one holds up nobody, and its port gets no token.",
        "gateway",
    ),
    "A22-d": Promise(
        "A broken configuration starts no gateway and changes none that runs, and every problem is told.", "gateway"
    ),
    "A22-e": Promise("A reload takes effect without aborting anything, and says what needs a new start.", "gateway"),
    "A22-g": Promise("The stages of a stop come in order, and none takes longer than its time.", "gateway"),
    "A28-a": Promise(
        "A kill of the gateway at an event of a day changes nothing that people see in the end.", "gateway"
    ),
    "A28-d": Promise("A disk that is full for a while loses no message, reply or job of a gateway.", "gateway"),
    "A28-f": Promise("A gateway's journal can be replayed and checked.", "gateway"),
    "A30-a": Promise("Each time of a job comes once, in any zone and over changes of the clock.", "gateway"),
    "A30-b": Promise("A job has one run for each time, whenever it is killed and however long it was down.", "gateway"),
    "A14-a": Promise(
        "The list of sub-agents has the newest first, with the state, the name, the times and the ids of each.",
        "gateway",
    ),
    "A14-b": Promise(
        "A sub-agent is meant by number, `last`, session key or beginning of its id; the five ways to mean none are told apart.",
        "gateway",
    ),
    "A14-c": Promise("A run of another session cannot be seen, read, stopped or written to.", "gateway"),
    "A14-d": Promise("A log shows at most 200 messages, and tools only if asked.", "gateway"),
    "A14-e": Promise(
        "A message to a sub-agent is delivered once; its reply is printed, or its run is named if that takes long.",
        "gateway",
    ),
    "A24-b": Promise(
        "With the default scope no two people share a session, and an owner has one on all channels.", "gateway"
    ),
    "A24-c": Promise("A result is told in the thread of the message that led to it.", "gateway"),
    "A27-a": Promise(
        "Decisions about messages are those of a second statement of the rules; being in two lists gains nothing.",
        "gateway",
    ),
    "A27-b": Promise(
        "A stranger's messages lead to at most one code an hour, and to no session, no request and no file.", "gateway"
    ),
    "A27-c": Promise(
        "Whatever a group member writes, under whatever name, is that person's text: no command, no answer to a question, no frame.",
        "gateway",
    ),
    "A27-d": Promise("A result is told in the chat of its requester, quoted, whatever it says.", "gateway"),
    "A27-f": Promise(
        "Of two answers to a question about a call the first counts, and the other is told that it was late.", "gateway"
    ),
    "A29-a": Promise("A chat beyond its limits is told once; the others do not notice.", "gateway"),
    "A31-a": Promise("No command in a chat can do what its caller's methods cannot.", "gateway"),
    "A31-b": Promise("A command in a chat is answered while all lanes are full.", "gateway"),
    "A31-c": Promise(
        "A text that begins with an exclamation mark is text, except in an owner's direct messages where the configuration says so.",
        "gateway",
    ),
    "A1-a": Promise("A spawn without an agent id gives a sub-agent of the caller's agent.", "gateway"),
    "A1-c": Promise("Two spawns of one moment share no key, no session and no run.", "gateway"),
    "A1-e": Promise("A sub-agent reads nothing of its requester's conversation.", "gateway"),
    "A3-e": Promise("An allowed agent that is not configured is said to be so.", "gateway"),
    "A3-f": Promise("A sub-agent may look at the agents unless that is denied.", "gateway"),
    "A4-b": Promise("The target agent's own model for sub-agents comes behind that of the call.", "gateway"),
    "A4-c": Promise("The defaults' model for sub-agents comes behind that of the target agent.", "gateway"),
    "A4-d": Promise("Where nothing names a model, a sub-agent has its caller's.", "gateway"),
    "A4-f": Promise("A later change of the requester's model does not change a sub-agent.", "gateway"),
    "A7-f": Promise("Each request of a turn is counted once.", "gateway"),
    "A9-a": Promise("A sub-agent is given two of the seven context files.", "gateway"),
    "A9-c": Promise("The brief of a sub-agent names its label, its requester and its own key.", "gateway"),
    "A9-d": Promise("Prompts of two sub-agents differ only in their last lines.", "gateway"),
    "A10-a": Promise("A lane never runs more turns than its width, and all of them in the end.", "gateway"),
    "A10-b": Promise("Turns of a lane begin in the order in which they asked.", "gateway"),
    "A10-c": Promise("A full lane delays no other.", "gateway"),
    "A10-d": Promise(
        "A narrower lane ends nothing and begins nothing until it is below its width; a wider one begins at once.",
        "gateway",
    ),
    "A10-e": Promise("Two turns of a session never run together.", "gateway"),
    "A10-f": Promise("A wait for a place that is cancelled takes none.", "gateway"),
    "A10-g": Promise("A turn that fails in any way returns its place.", "gateway"),
    "A10-i": Promise("A turn that waits for its place is ended at once by a stop.", "gateway"),
    "A11-b": Promise("A session stays after its run has timed out, until its archive time.", "gateway"),
    "A11-e": Promise("A timeout in a call cancels it, and leaves a valid conversation.", "gateway"),
    "A14-f": Promise("A message to a sub-agent that has finished begins a further turn of its session.", "gateway"),
    "A15-b": Promise("A list shows at most twenty messages of a session, and no results of tools.", "gateway"),
    "A15-c": Promise("A list can leave out sessions that were not used lately.", "gateway"),
    "A15-f": Promise("Sub-agents that were archived are not listed again.", "gateway"),
    "A16-g": Promise("Reading a history settles no completion.", "gateway"),
    "A19-e": Promise("A value of an agent beats the default, and a parameter beats both.", "gateway"),
    "A19-f": Promise(
        "A change of the configuration counts for the next spawn, not for a sub-agent that runs.", "gateway"
    ),
    "A21-b": Promise(
        "The key and the path of the line of statistics lead to the conversation, archived or not.", "gateway"
    ),
    "A21-c": Promise("A requester answers at once while its sub-agent works.", "gateway"),
    "A21-e": Promise("A session has the same kind of name in the archive, whatever archived it.", "gateway"),
    "A21-f": Promise("Sub-agents of all requesters share the width of one lane.", "gateway"),
    "A24-d": Promise("Sub-agents of a session that is reset announce to its successor, each once.", "gateway"),
    "A17-h": Promise("A letter reaches no session of a gateway.", "gateway"),
    "A9-b": Promise("An agent's own credentials come before those of the main agent.", "gateway"),
    "A9-e": Promise("No program of a session has a variable that holds a secret of the gateway.", "gateway"),
    "A9-f": Promise("A confined command sees neither the state folder nor another agent's workspace.", "gateway"),
    "A21-d": Promise("The kind of a session plays no part in its credentials.", "gateway"),
    "A28-c": Promise("A snapshot of the gateway and the later events give the same state as all events.", "gateway"),
    # the gateway as a whole
    "A12-e": Promise("What a session has started is stopped before the session is archived.", "gateway"),
    "A13-b": Promise("A stop of one run leaves the others and the requester alone.", "gateway"),
    "A13-c": Promise("The end of a requester's turn does not end its sub-agents.", "gateway"),
    "A13-d": Promise("A stop leaves all of an announcement or nothing.", "gateway"),
    "A13-g": Promise("A stop reaches sub-agents of sub-agents, and what they start meanwhile.", "gateway"),
    "A18-c": Promise("After a kill and a restart no place of a lane is left taken.", "gateway"),
    "A18-d": Promise(
        "After a kill and a restart every transcript of a gateway is as a provider accepts it.", "gateway"
    ),
    "A18-g": Promise("The bill of a sub-agent is in its own figure, and in no figure of its requester.", "gateway"),
    "A18-e": Promise("After a kill the model is not asked again for what a transcript holds.", "gateway"),
    "A18-f": Promise("After a kill a session is archived at the time that was on record.", "gateway"),
    "A22-c": Promise("A keeper that ends in any state of its session harms no other session.", "gateway"),
    "A22-f": Promise("Known sessions are listed, those used last first, and none is opened for that.", "gateway"),
    "A25-g": Promise("An abort ends one message or one turn, and no sub-agent.", "gateway"),
    "A27-e": Promise("No secret is in anything that a gateway writes or sends.", "gateway"),
    "A29-b": Promise("Nothing is kept of a session that is closed but its row.", "gateway"),
    "A29-c": Promise("A chat that floods, and a session that works without end, delay no other chat.", "gateway"),
    # a run in other tools, compared, watched
    "X-otlp": Promise(
        "Each line of an OTLP export is a whole request within a collector's limits, and each span is in exactly one.",
        "exports",
    ),
    "X-perfetto": Promise(
        "In a Perfetto export slices nest on each track, every flow has both ends, and nothing refers to what comes later.",
        "exports",
    ),
    "X-words": Promise(
        "An export without content holds no word of a person, a model, a tool or a file, in events of any kind.",
        "exports",
    ),
    "X-secrets": Promise("No secret of a known form is in an export of any kind.", "exports"),
    "X-whole": Promise(
        "An export takes the place of a file only once it is whole; a journal that changes meanwhile leaves none.",
        "exports",
    ),
    "X-watch": Promise(
        "The state that a watch shows after each item is the fold of the journal up to it, however slow its reader is.",
        "session",
    ),
    "X-kept": Promise(
        "The run folder that a failing explored test leaves is the run of the choices in its message.", "testing"
    ),
    "X-diff": Promise(
        "What is told of two conversations makes one of the other; a message that only moved is told as moved.",
        "replay",
    ),
    # the swarm: its price, its screen, a run that is played
    "W-cut": Promise(
        "A branch keeps no event without those that it depends on: no receipt without what was sent.", "branches"
    ),
    "W-said": Promise(
        "Each conversation of a branch is one that its provider accepts, and ends where its agent is cut.", "branches"
    ),
    "W-once": Promise(
        "Each agent of a branch is cut at its last request: nothing before that is done again.", "branches"
    ),
    "W-same": Promise("The first request of a branch without changes is the recorded one.", "branches"),
    "W-change": Promise("A change stands in its place in a branch, and what it replaces is gone.", "branches"),
    "W-files": Promise(
        "Calls of a branch that may change files or run commands are refused unless it was told otherwise.", "branches"
    ),
    "W-origin": Promise("The run that a branch comes from is only read, and the branch names it.", "branches"),
    "W-foreign": Promise(
        "A run of somebody else's cannot make a branch start a program, allow a call or copy a file from elsewhere.",
        "branches",
    ),
    "W-agents": Promise("Agents of a branch continue where they were cut, and their ends are told once.", "branches"),
    "S-item": Promise(
        "Each item of a survey is a conversation of its own: nothing of another one is sent again.", "swarm"
    ),
    "S-findings": Promise(
        "A call that completes an item with its findings ends the turn without another request.", "swarm"
    ),
    "S-woken": Promise(
        "The lead is woken at quarters of the board and when all is done, never for one item alone.", "swarm"
    ),
    "S-ask": Promise(
        "A run that may cost more than the settings allow begins only when somebody has said so.", "swarm"
    ),
    "S-partial": Promise(
        "A swarm that reaches its budget stops in order, and its partial report says so on top.", "swarm"
    ),
    "S-question": Promise(
        "What waits for a person is on top of the screen at any size, with as much of its call as three lines hold.",
        "swarm",
    ),
    "S-keys": Promise(
        "A key does on the terminal what its table says, and ends nothing without a second one.", "swarm"
    ),
    "S-seen": Promise(
        "A kill, a crash and a hang are seen, and nothing is said to be safe that nobody has and nobody can take.",
        "swarm",
    ),
    "S-screen": Promise("A screen that fails, hangs or goes away neither stops nor delays its run.", "swarm"),
    "S-resize": Promise("After a change of size the terminal shows what the panes give for that size.", "swarm"),
    "S-resumed": Promise(
        "The screen of a resumed run shows what was done before, and time goes on from there.", "swarm"
    ),
    "S-fold": Promise("Every place of a run that is played shows the fold of the events up to there.", "swarm"),
    "S-jump": Promise("Keys move a run that is played by events, by failures and to a written place.", "swarm"),
    "S-follow": Promise("A run that grows is followed at its end until somebody moves.", "swarm"),
    # the page of a run
    "V-token": Promise(
        "Without its whole token, which is new each time, the page of a run gives no data and no rows.", "page"
    ),
    "V-host": Promise("The page of a run answers its own exact hosts and origins alone.", "page"),
    "V-reads": Promise("The page of a run only reads: a viewer that asks for more is closed.", "page"),
    "V-runs": Promise("A page shows only runs of the folder that was named.", "page"),
    "V-rows": Promise("A viewer gets each row once and in order, also after a lost connection.", "page"),
    "V-moment": Promise("The state that a page shows of a moment is the fold of the events up to there.", "page"),
    "V-told": Promise("If a run is cut, resumed, removed or replaced, its viewers are told within a second.", "page"),
    "V-ends": Promise("Viewers of a page get the last rows of the run before it is closed.", "page"),
    "V-viewer": Promise("No connection and no viewer changes anything for the run or for other viewers.", "page"),
    "V-fails": Promise("A page that fails ends itself and nothing else.", "page"),
    "V-left": Promise("When a page is left, cancelled or not, no task, socket or file of it is left.", "page"),
    "V-port": Promise("A port that cannot be had is told before anything of the run begins.", "page"),
    "V-content": Promise("A file of a run holds no words without the choice to have them.", "page"),
    "V-masked": Promise("Secrets are masked in a file of a run, and counted.", "page"),
}

CHECKS_OF_THE_GATEWAY: Final = {
    "A1": "abcdef",
    "A2": "abcdefghi",
    "A3": "abcdef",
    "A4": "abcdefg",
    "A5": "abcdef",
    "A6": "abcdefghijkl",
    "A7": "abcdef",
    "A8": "abcdefgh",
    "A9": "abcdef",
    "A10": "abcdefghi",
    "A11": "abcde",
    "A12": "abcdefg",
    "A13": "abcdefg",
    "A14": "abcdef",
    "A15": "abcdefg",
    "A16": "abcdefg",
    "A17": "abcdefgh",
    "A18": "abcdefg",
    "A19": "abcdef",
    "A21": "abcdef",
    "A22": "abcdefg",
    "A23": "abcd",
    "A24": "abcd",
    "A25": "abcdefgh",
    "A26": "abcde",
    "A27": "abcdef",
    "A28": "abcdef",
    "A29": "abc",
    "A30": "abc",
    "A31": "abc",
}
"""The acceptance checks of the gateway: for each of its parts, the letters of its checks. `A4-a` stands for four of them."""

UNHELD_CHECKS: Final = {
    "A17-d": "messages go back and forth once, whatever the limit",
    "A28-b": "it takes ten minutes: `make chaos-gateway`",
    "A28-e": "it is a figure: `make bench-gateway`",
    "A30-c": "a heartbeat is not built",
}
"""Checks of the gateway that no test names, and why. One that gets a promise leaves this table."""

NOT_YET: Final[dict[str, str]] = {}
"""Invariants without a test, and why."""


@attrs.frozen
class Unseen:
    """Why no journal shows a promise, and the modules of tests that hold it."""

    why: str
    tests: tuple[str, ...]


_CONFIGURED: Final = "what a configuration means is decided before anything is recorded"
_CHATS: Final = "what a chat shows is known to its service alone"
_GATEWAY: Final = "it is about the gateway's journal, of which the checks of sessions know nothing"
_EXPORTED: Final = "an export is made from a journal and leaves nothing in it"
_BRANCHES: Final = "it is about two runs, and what stands in their conversations"
_SCREENS: Final = "what a terminal shows is not on record"
_PAGES: Final = "what a page sends is not on record"
_FRAMES: Final = "what crosses a link is not on record"
_RERUN: Final = "it is about a run, its record and its re-run together"
NOT_IN_A_JOURNAL: Final = {
    "I-16": Unseen(
        "a cancelled wait leaves no event",
        ("mailbox/test_waiting.py", "mailbox/test_drain.py", "mailbox/test_machine.py"),
    ),
    "I-20": Unseen(
        "producers that wait are no actors, and not on record",
        ("mailbox/test_waiting.py", "mailbox/test_sweep.py", "mailbox/test_machine.py", "actors/test_ends.py"),
    ),
    "I-30": Unseen(
        "it is about every run that there could be",
        ("actors/test_sweep.py", "mailbox/test_sweep.py", "supervisor/test_sweep.py"),
    ),
    "I-32": Unseen(
        "watches are not on record, only the Down that reaches a mailbox is",
        ("actors/test_watch.py", "actors/test_watch_ends.py", "actors/test_machine.py"),
    ),
    "I-33": Unseen(
        "how an ask settled is not on record",
        ("actors/test_asks.py", "actors/test_sweep.py", "actors/test_machine.py"),
    ),
    "I-34": Unseen("what an asker heard is not on record", ("actors/test_asks.py",)),
    "I-41": Unseen("which children are significant is not on record", ("supervisor/test_significant.py",)),
    "R11-a": Unseen("the clock's changes are not on record", ("inbox/test_cron_times.py",)),
    "R11-b": Unseen("a killed process records nothing", ("inbox/test_schedules.py", "session/test_schedules.py")),
    "A1-b": Unseen(_CONFIGURED, ("gateway/routing/test_session_key.py",)),
    "A1-d": Unseen(_CONFIGURED, ("gateway/routing/test_session_key.py",)),
    "A1-f": Unseen(_CONFIGURED, ("gateway/routing/test_session_key.py",)),
    "A24-a": Unseen(_CONFIGURED, ("gateway/routing/test_session_key.py",)),
    "A8-a": Unseen(_CONFIGURED, ("gateway/policy/test_tool_policy.py",)),
    "A8-b": Unseen(_CONFIGURED, ("gateway/policy/test_tool_policy.py",)),
    "A8-c": Unseen(_CONFIGURED, ("gateway/policy/test_tool_policy.py",)),
    "A8-d": Unseen(_CONFIGURED, ("gateway/policy/test_tool_policy.py",)),
    "A8-e": Unseen(_CONFIGURED, ("gateway/policy/test_tool_policy.py",)),
    "A8-f": Unseen(_CONFIGURED, ("gateway/policy/test_tool_policy.py",)),
    "A8-g": Unseen(_CONFIGURED, ("gateway/policy/test_tool_policy.py",)),
    "A8-h": Unseen(_CONFIGURED, ("gateway/policy/test_tool_policy.py",)),
    "A19-a": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "A19-b": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "A19-c": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "A19-d": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "A21-a": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "A23-a": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "A23-b": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "A23-c": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "A23-d": Unseen(_CONFIGURED, ("gateway/config/test_read_config.py",)),
    "R6-b": Unseen("a store is not an actor, and its processes keep no journal", ("store/test_killed_processes.py",)),
    "R6-a": Unseen("a killed process records nothing", ("session/test_peers.py",)),
    "R6-c": Unseen("what a sender is told is not on record", ("session/test_peers.py",)),
    "R6-d": Unseen("a store keeps a record of its own", ("store/test_inbox_stores.py",)),
    "R6-e": Unseen("a killed process records nothing", ("session/test_stored_inbox.py",)),
    "R10-a": Unseen("what a sender is told is not on record", ("session/test_peer_matrix.py",)),
    "R10-b": Unseen("what is refused is not on record", ("remote/test_letters.py", "session/test_peers.py")),
    "R2-a": Unseen(_FRAMES, ("remote/wire/test_wire.py",)),
    "R2-b": Unseen(_FRAMES, ("remote/wire/test_wire.py",)),
    "R2-c": Unseen(_FRAMES, ("remote/links/test_link.py", "remote/links/test_node.py")),
    "R2-d": Unseen(_FRAMES, ("remote/links/test_link.py",)),
    "R2-e": Unseen(_FRAMES, ("remote/wire/test_hello.py",)),
    "R2-f": Unseen(_FRAMES, ("remote/wire/test_codec.py", "remote/wire/test_wire.py")),
    "R2-g": Unseen(_FRAMES, ("remote/links/test_link.py", "remote/wire/test_wire.py")),
    "R3-a": Unseen(_FRAMES, ("remote/links/test_ref_conformance.py",)),
    "R3-b": Unseen(_FRAMES, ("remote/links/test_link.py",)),
    "R3-c": Unseen(_FRAMES, ("remote/links/test_link.py",)),
    "R3-d": Unseen(_FRAMES, ("remote/links/test_node.py",)),
    "R3-e": Unseen(_FRAMES, ("remote/links/test_link.py",)),
    "R3-f": Unseen(_FRAMES, ("remote/links/test_references.py",)),
    "R4-d": Unseen("it is about two journals together", ("remote/links/test_causes.py",)),
    "R4-a": Unseen(_FRAMES, ("remote/links/test_dying_process.py", "remote/links/test_link.py")),
    "R5-a": Unseen(_FRAMES, ("hosting/test_host_actors.py", "hosting/test_remote_agents.py", "hosting/test_deaths.py")),
    "R5-b": Unseen("a killed process records nothing", ("hosting/test_host_actors.py", "hosting/test_host_command.py")),
    "R5-c": Unseen(_FRAMES, ("hosting/test_host_actors.py", "hosting/test_deaths.py")),
    "R5-d": Unseen(_FRAMES, ("hosting/test_deaths.py",)),
    "R5-questions": Unseen(_FRAMES, ("hosting/test_remote_agents.py", "hosting/test_remote_questions.py")),
    "R5-budget": Unseen(_FRAMES, ("hosting/test_remote_agents.py",)),
    "R5-owner": Unseen(_FRAMES, ("hosting/test_host_actors.py",)),
    "R7-c": Unseen(_FRAMES, ("hosting/test_deaths.py",)),
    "R13-a": Unseen(_FRAMES, ("remote/links/test_hostile_peers.py", "remote/links/test_node.py")),
    "R13-b": Unseen(_FRAMES, ("remote/wire/test_hello.py",)),
    "R13-c": Unseen(_FRAMES, ("remote/links/test_permits.py",)),
    "R13-d": Unseen(
        "a connection that cannot be opened is an error of the side that connects", ("remote/links/test_tls.py",)
    ),
    "R8-a": Unseen(
        "a killed process records nothing", ("hosting/test_remote_agents.py", "remote/ray/test_ray_hosts.py")
    ),
    "R8-b": Unseen("it is about two runs and their reports", ("swarm/test_swarm_hosts.py",)),
    "R8-c": Unseen("what Ray says is not on record", ("remote/ray/test_ray_guest.py",)),
    "R9-a": Unseen(
        "a store is not an actor, and its processes keep no journal", ("remote/redis/test_struck_takers.py",)
    ),
    "R9-b": Unseen("a store is not an actor, and its processes keep no journal", ("remote/redis/test_box_leases.py",)),
    "R9-c": Unseen("what is refused is not on record", ("remote/redis/test_redis_address.py",)),
    "R9-d": Unseen("it is decided before anything is recorded", ("remote/redis/test_redis_address.py",)),
    "R9-e": Unseen("a queue is not an actor, and keeps no journal", ("patterns/test_job_queue.py",)),
    "R9-f": Unseen("a queue is not an actor, and keeps no journal", ("patterns/test_job_queue.py",)),
    "R15-a": Unseen("it takes the journals of all nodes", ("remote/network/test_network.py",)),
    "RM-01": Unseen("what a sender is told is not on record", ("session/test_peers.py", "session/test_peer_matrix.py")),
    "RM-02": Unseen("what is refused is not on record", ("session/test_peers.py",)),
    "RM-03": Unseen(_FRAMES, ("remote/links/test_node.py",)),
    "RM-08": Unseen(_FRAMES, ("remote/links/test_link.py",)),
    "RM-11": Unseen(_FRAMES, ("remote/links/test_link.py",)),
    "RM-12": Unseen("a store keeps a record of its own", ("remote/redis/test_box_leases.py",)),
    "RM-04": Unseen("a killed process records nothing", ("inbox/test_schedules.py", "session/test_schedules.py")),
    "RM-05": Unseen(
        "a killed process records nothing",
        ("inbox/test_schedules.py", "session/test_schedules.py", "session/test_killed_schedules.py"),
    ),
    "R12-b": Unseen("what waits, and for how long, is not on record", ("session/test_monitors.py",)),
    "R12-c": Unseen(
        "lines are not on record, only their reports are",
        ("tools/builtin/test_line_batches.py", "tools/builtin/test_monitor.py", "session/test_monitors.py"),
    ),
    "R12-d": Unseen("a killed process records nothing", ("session/test_killed_monitors.py",)),
    "R12-a": Unseen(
        "what a model reads is not on record",
        ("inbox/test_channel_pushes.py", "mcp/test_channels.py", "session/test_channels.py"),
    ),
    "I-57": Unseen("a store is not an actor, and keeps a record of its own", ("store/test_inbox_stores.py",)),
    "I-59": Unseen("it is about the store, the journal and the transcript together", ("session/test_stored_inbox.py",)),
    "I-61": Unseen("what a sender is told is not on record", ("session/test_peers.py",)),
    **dict.fromkeys(
        ("R7-turn", "R7-leave", "R7-agents", "R7-closing", "RM-10"),
        Unseen(
            "it is about two processes, and what the killed one did not record", ("session/test_self_resumption.py",)
        ),
    ),
    "R7-d": Unseen("what is refused is not on record", ("headless/test_run_resumed.py", "headless/test_run_killed.py")),
    "R7-last": Unseen("what is printed is not on record", ("headless/test_run_resumed.py",)),
    "I-60": Unseen("what another process put is not on record before it is read", ("session/test_stored_inbox.py",)),
    **dict.fromkeys(
        ("R7-a", "R7-b"),
        Unseen("it is about two processes, and what they leave together", ("swarm/test_swarm_cut.py",)),
    ),
    "RR-1": Unseen(_RERUN, ("reruns/test_nothing_outside.py", "reruns/test_one_agent.py")),
    "RR-2": Unseen(_RERUN, ("reruns/test_hard_times.py", "reruns/test_team_order.py", "reruns/test_sub_agents.py")),
    "RR-3": Unseen(_RERUN, ("effects/test_place_order.py",)),
    "RR-4": Unseen(_RERUN, ("reruns/test_cut_records.py",)),
    "RR-5": Unseen(
        _RERUN, ("reruns/test_planted_changes.py", "reruns/test_planted_outcomes.py", "reruns/test_first_cause.py")
    ),
    "RR-6": Unseen("texts of calls are not in the journal", ("effects/test_effect_file.py",)),
    "RR-7": Unseen(_RERUN, ("headless/test_run_again.py",)),
    "RR-8": Unseen("it is about draws of several runs", ("effects/test_effect_file.py",)),
    "RR-9": Unseen(_RERUN, ("reruns/test_updates.py",)),
    "SV-1": Unseen("texts of files are not on record", ("containment/test_secret_forms.py",)),
    "SV-2": Unseen(
        "texts of files are not on record",
        ("containment/test_secret_forms.py", "session/test_masked_forms.py", "swarm/test_tree_facts.py"),
    ),
    "SV-3": Unseen("imports are not on record", ("swarm/test_tree_facts.py",)),
    "SV-4": Unseen("reports are not on record", ("swarm/test_linter.py",)),
    "SV-5": Unseen("reports are not on record", ("swarm/test_survey_report.py",)),
    "R7-order": Unseen("it is about the journal and the transcripts together", ("trace/test_write_order.py",)),
    "R7-money": Unseen("prices are not on record, only tokens are", ("swarm/test_claude.py",)),
    "R7-leaving": Unseen("what comes after the work is not on record", ("cli/test_late_signals.py",)),
    "R7-stop": Unseen("it is about what could not be sent", ("supervisor/test_stop_order.py",)),
    **dict.fromkeys(("A18-a", "A18-b", "A28-a", "A28-f"), Unseen(_GATEWAY, ("gateway/process/test_day.py",))),
    "A28-d": Unseen(_GATEWAY, ("gateway/process/test_full_disk.py",)),
    "A22-a": Unseen(_GATEWAY, ("gateway/process/test_running.py",)),
    "A22-b": Unseen(_GATEWAY, ("gateway/process/test_running.py", "gateway/process/test_state_folder.py")),
    "A22-d": Unseen(_GATEWAY, ("gateway/process/test_running.py", "gateway/process/test_config_in_force.py")),
    "A22-e": Unseen(_GATEWAY, ("gateway/process/test_config_in_force.py",)),
    "A22-g": Unseen(_GATEWAY, ("gateway/process/test_stop_stages.py",)),
    "A30-a": Unseen(_GATEWAY, ("gateway/clock/test_job_plan.py",)),
    "A30-b": Unseen(_GATEWAY, ("gateway/clock/test_job_plan.py", "gateway/clock/test_clock_jobs.py")),
    "A5-a": Unseen(_GATEWAY, ("gateway/record/test_registry.py", "gateway/record/test_recovery_plan.py")),
    "A5-b": Unseen(_GATEWAY, ("gateway/record/test_registry.py",)),
    "A5-c": Unseen(_GATEWAY, ("gateway/record/test_registry.py",)),
    "A5-d": Unseen(_GATEWAY, ("gateway/record/test_registry.py",)),
    "A5-e": Unseen(_GATEWAY, ("gateway/record/test_registry.py", "gateway/record/test_gateway_journal.py")),
    "A5-f": Unseen(_GATEWAY, ("gateway/record/test_gateway_journal.py",)),
    "A6-b": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A6-c": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A6-d": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A6-e": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A6-l": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A7-a": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A7-b": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A7-c": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A7-d": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A7-e": Unseen(_GATEWAY, ("gateway/announce/test_announcement.py",)),
    "A6-g": Unseen(_GATEWAY, ("gateway/announce/test_queue_plan.py",)),
    "A6-j": Unseen(_GATEWAY, ("gateway/announce/test_parts.py", "gateway/announce/test_retry_plan.py")),
    "A26-a": Unseen(_CHATS, ("gateway/channels/test_accounts.py", "gateway/channels/test_irc_conformance.py")),
    "A26-b": Unseen(_CHATS, ("gateway/channels/test_irc.py", "gateway/channels/test_irc_ngircd.py")),
    "A26-c": Unseen(_CHATS, ("gateway/channels/test_irc_ngircd.py", "gateway/channels/test_matrix_conformance.py")),
    "A26-d": Unseen(_GATEWAY, ("gateway/announce/test_parts.py",)),
    "A26-e": Unseen(_CHATS, ("gateway/channels/test_irc.py", "gateway/channels/test_matrix.py")),
    "A12-f": Unseen(_GATEWAY, ("gateway/record/test_gateway_journal.py",)),
    **dict.fromkeys(("A14-a", "A14-b", "A14-d"), Unseen(_GATEWAY, ("gateway/commands/test_subagent_texts.py",))),
    "A24-b": Unseen(_GATEWAY, ("gateway/routing/test_message_routing.py",)),
    "A27-a": Unseen(_GATEWAY, ("gateway/trust/test_chat_admission.py",)),
    "A27-b": Unseen(_GATEWAY, ("gateway/trust/test_pairing.py", "gateway/trust/test_reception.py")),
    "A27-c": Unseen(_GATEWAY, ("gateway/trust/test_chat_admission.py", "gateway/trust/test_reception.py")),
    "A27-f": Unseen(_GATEWAY, ("gateway/trust/test_approval_desk.py",)),
    "A31-a": Unseen(_GATEWAY, ("gateway/commands/test_chat_commands.py",)),
    **dict.fromkeys(
        ("A14-e", "A24-c", "A27-d", "A31-b"), Unseen(_GATEWAY, ("gateway/trust/test_people_of_a_gateway.py",))
    ),
    "A31-c": Unseen(_GATEWAY, ("gateway/trust/test_chat_admission.py",)),
    "A2-a": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A2-b": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A2-c": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A2-d": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A2-e": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A2-f": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A2-g": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A2-h": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A2-i": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A3-a": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A3-b": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A3-c": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A3-d": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A4-a": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A4-e": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A4-g": Unseen(_CONFIGURED, ("gateway/runs/test_spawn_plan.py",)),
    "A6-a": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A6-f": Unseen(_GATEWAY, ("gateway/runs/test_runs_end_to_end.py",)),
    "A6-h": Unseen(_GATEWAY, ("gateway/runs/test_deliveries.py",)),
    "A6-i": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A6-k": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A10-h": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A11-a": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A11-c": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A11-d": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A12-a": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A12-b": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A12-c": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A12-d": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A12-g": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A13-a": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A13-e": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A13-f": Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    "A14-c": Unseen(_GATEWAY, ("gateway/commands/test_subagent_texts.py", "gateway/tools/test_session_tools.py")),
    "A14-h": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A15-a": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A15-d": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A15-e": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A15-g": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A16-a": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A16-b": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A16-c": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A16-d": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A16-e": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A16-f": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A17-a": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A17-b": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A17-c": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A17-e": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A17-f": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A17-g": Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    "A29-a": Unseen(
        _GATEWAY,
        (
            "gateway/trust/test_reception.py",
            "gateway/keepers/test_keepers.py",
            "gateway/process/test_whole_gateway.py",
        ),
    ),
    "GW-04": Unseen(_GATEWAY, ("gateway/runs/test_deliveries.py",)),
    **dict.fromkeys(
        ("A14-a", "A14-b", "A14-c", "A14-d"), Unseen(_GATEWAY, ("gateway/commands/test_subagent_texts.py",))
    ),
    **dict.fromkeys(
        ("A14-e", "A24-c", "A27-d", "A31-b"), Unseen(_GATEWAY, ("gateway/trust/test_people_of_a_gateway.py",))
    ),
    **dict.fromkeys(
        (
            "A1-a",
            "A1-c",
            "A11-b",
            "A21-c",
            "A21-f",
        ),
        Unseen(_GATEWAY, ("gateway/runs/test_spawned_runs.py",)),
    ),
    **dict.fromkeys(
        (
            "A1-e",
            "A14-f",
            "A21-b",
            "A21-e",
            "A24-d",
        ),
        Unseen(_GATEWAY, ("gateway/process/test_sessions_and_children.py",)),
    ),
    **dict.fromkeys(
        (
            "A3-e",
            "A3-f",
            "A15-b",
            "A15-c",
            "A15-f",
            "A16-g",
        ),
        Unseen(_GATEWAY, ("gateway/tools/test_session_tools.py",)),
    ),
    **dict.fromkeys(
        (
            "A4-b",
            "A4-c",
            "A4-d",
            "A4-f",
            "A19-e",
            "A19-f",
        ),
        Unseen(_GATEWAY, ("gateway/runs/test_spawn_plan.py",)),
    ),
    **dict.fromkeys(
        (
            "A7-f",
            "A10-e",
            "A11-e",
            "A17-h",
        ),
        Unseen(_GATEWAY, ("gateway/keepers/test_session_changes.py",)),
    ),
    **dict.fromkeys(
        (
            "A9-a",
            "A9-c",
            "A9-d",
        ),
        Unseen(_GATEWAY, ("gateway/keepers/test_agent_setup.py",)),
    ),
    **dict.fromkeys(
        (
            "A10-a",
            "A10-b",
            "A10-f",
            "A10-g",
        ),
        Unseen(_GATEWAY, ("gateway/lanes/test_lanes.py",)),
    ),
    **dict.fromkeys(
        (
            "A10-c",
            "A10-d",
        ),
        Unseen(_GATEWAY, ("gateway/lanes/test_places.py",)),
    ),
    **dict.fromkeys(("A10-i",), Unseen(_GATEWAY, ("gateway/keepers/test_keepers.py",))),
    **dict.fromkeys(("A9-b", "A9-e", "A9-f", "A21-d"), Unseen(_CONFIGURED, ("gateway/keepers/test_agent_setup.py",))),
    "A28-c": Unseen(_GATEWAY, ("gateway/record/test_registry.py",)),
    "A25-a": Unseen(
        "a request that was refused leaves no event in a journal",
        ("serving/test_hostile.py", "gateway/rpc/test_connect.py"),
    ),
    "A25-b": Unseen(
        "a request that was refused leaves no event in a journal",
        ("gateway/rpc/test_params.py", "gateway/rpc/test_requests.py", "gateway/rpc/test_fuzz.py"),
    ),
    "A25-c": Unseen(_GATEWAY, ("gateway/rpc/test_answered_calls.py",)),
    "A25-d": Unseen("events of clients are not on record", ("gateway/rpc/test_events.py",)),
    "A25-e": Unseen(
        "events of clients are not on record", ("gateway/rpc/test_events.py", "gateway/rpc/test_outbox.py")
    ),
    "A25-f": Unseen("pages in a browser are not on record", ("web/test_page_files.py", "web/test_gateway_page.py")),
    "A25-h": Unseen("a server keeps no journal", ("serving/test_hostile.py",)),
    "I-52": Unseen("it is about every plan of faults that there could be", ("soak/test_soak.py",)),
    **dict.fromkeys(
        ("A12-e", "A13-b", "A13-c", "A13-d", "A13-g"), Unseen(_GATEWAY, ("gateway/runs/test_run_trees.py",))
    ),
    **dict.fromkeys(("A18-c", "A18-d", "A18-e", "A18-f"), Unseen(_GATEWAY, ("gateway/process/test_fault_points.py",))),
    "A22-c": Unseen(_GATEWAY, ("gateway/keepers/test_keeper_properties.py",)),
    "A29-b": Unseen(_GATEWAY, ("gateway/keepers/test_open_sessions.py",)),
    **dict.fromkeys(
        ("A18-g", "A22-f", "A25-g", "A27-e", "A29-c"), Unseen(_GATEWAY, ("gateway/process/test_whole_gateway.py",))
    ),
    "X-otlp": Unseen(_EXPORTED, ("trace/test_otlp_lines.py",)),
    "X-perfetto": Unseen(_EXPORTED, ("trace/test_perfetto.py",)),
    **dict.fromkeys(("X-words", "X-secrets"), Unseen(_EXPORTED, ("replay/test_export_words.py",))),
    "X-whole": Unseen(_EXPORTED, ("replay/test_export_words.py", "replay/test_replacement.py")),
    "X-watch": Unseen("a reader leaves no event", ("session/test_session_watch.py",)),
    "X-kept": Unseen("it is about a folder that a test leaves", ("testing/test_kept_failures.py",)),
    "X-diff": Unseen("it is about conversations, which are beside the journal", ("replay/test_run_comparison.py",)),
    **dict.fromkeys(("W-once", "W-same", "W-origin"), Unseen(_BRANCHES, ("branches/test_one_agent.py",))),
    **dict.fromkeys(("W-cut", "W-said"), Unseen(_BRANCHES, ("branches/test_one_agent.py", "branches/test_teams.py"))),
    **dict.fromkeys(("W-change", "W-files", "W-foreign"), Unseen(_BRANCHES, ("branches/test_changes.py",))),
    "W-agents": Unseen(_BRANCHES, ("branches/test_teams.py",)),
    "S-item": Unseen("what a model is sent is not on record", ("session/test_item_conversations.py",)),
    "S-findings": Unseen("what a call is to end is not on record", ("session/test_item_conversations.py",)),
    "S-woken": Unseen("what is worth a turn of the lead is not on record", ("session/test_item_conversations.py",)),
    "S-ask": Unseen("a run that does not begin has no journal", ("swarm/test_swarm_cost.py",)),
    "S-partial": Unseen(
        "reports are files beside the journal", ("swarm/test_swarm_cost.py", "swarm/test_swarm_budget.py")
    ),
    "S-question": Unseen(_SCREENS, ("terminal/test_screen_panes.py",)),
    "S-keys": Unseen(_SCREENS, ("terminal/test_screen_loop.py", "terminal/test_screen_controls.py")),
    "S-seen": Unseen(_SCREENS, ("terminal/test_screen_story.py",)),
    "S-screen": Unseen(_SCREENS, ("terminal/test_screen_loop.py", "swarm/test_swarm_screen.py")),
    "S-resize": Unseen(_SCREENS, ("terminal/test_screen_loop.py",)),
    "S-resumed": Unseen(_SCREENS, ("swarm/test_swarm_screen.py",)),
    "S-fold": Unseen(_SCREENS, ("replay/test_played_run.py",)),
    "S-jump": Unseen(_SCREENS, ("replay/test_playhead.py", "replay/test_played_run.py")),
    "S-follow": Unseen(_SCREENS, ("replay/test_playhead.py", "replay/test_played_run.py")),
    **dict.fromkeys(("V-token", "V-reads", "V-runs", "V-rows", "V-moment"), Unseen(_PAGES, ("web/test_run_page.py",))),
    **dict.fromkeys(("V-host", "V-viewer"), Unseen(_PAGES, ("web/test_run_doors.py",))),
    "V-told": Unseen(_PAGES, ("web/test_shown_run.py",)),
    **dict.fromkeys(("V-fails", "V-left", "V-ends"), Unseen(_PAGES, ("web/test_opened_page.py",))),
    "V-port": Unseen(_PAGES, ("web/test_page_of_commands.py",)),
    **dict.fromkeys(("V-content", "V-masked"), Unseen(_PAGES, ("web/test_run_file.py",))),
}
