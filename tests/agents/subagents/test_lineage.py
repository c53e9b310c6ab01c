"""The line from main to its agents: commands that outlive an agent, notices to those above, names, switches."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.agents.subagents import FORK, DelegationSettings, delegation_from_environment
from greenroom.models import AnswerLike, Call, ModelRequest, Say
from greenroom.tasks import SHELL
from tests.agents.crews import main_messages, notices, open_crew, structured, violations
from tests.agents.pages import Page, agent, answers_in, asked, in_order, last_texts, linger, make_build

MIDDLE = {"description": "Starts others.", "prompt": "You delegate."}


@pytest.mark.parametrize(("is_background", "lives_s"), [(False, 0), (True, 40)])
async def test_a_command_of_a_child_ends_with_it_or_a_while_after_it(
    tmp_path: Path, autojump_clock: MockClock, is_background: bool, lives_s: int
) -> None:
    """RC-73. Mechanism: `_end_shells` ends those of a child that was waited for, and limits others."""
    main = in_order(agent("build", run_in_background=is_background), "It runs.")
    pages = {"general-purpose": in_order(Call("Build", {}), "I am done.")}
    delegation = {"shell_max_s": 40}
    async with open_crew(tmp_path, main, pages=pages, tools=(make_build(tmp_path),), delegation=delegation) as crew:
        tasks = crew.tasks
        await crew.run("go")
        (child,) = [task for task in tasks.all() if task.info.kind != SHELL]
        await child.wait_finished()
        (shell,) = [task for task in tasks.all() if task.info.kind == SHELL]
        with trio.fail_after(1_000):
            await shell.wait_finished()

        assert shell.state == "killed"
        assert shell.ended_s - child.ended_s == pytest.approx(lives_s, abs=0.1)
        await crew.wait_quiet()
    assert violations(crew) == []


async def test_end_of_agent_without_parent_is_told_to_nearest_ancestor(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-32. Mechanism: `Telling` goes up the lineage; main is the last that is tried."""
    heard: list[str] = []

    lines: dict[str, list[AnswerLike]] = {
        "top": [agent("middle", run_in_background=True), Call("Linger", {"seconds": 90}), "seen"],  # outlives them all
        "middle": [agent("lowest", run_in_background=True), "middle is done"],
        "lowest": [Call("Linger", {"seconds": 30}), "lowest is done"],
    }

    def child(request: ModelRequest) -> AnswerLike:
        who = asked(request).split()[0]
        if who == "top":
            heard.append(last_texts(request))
        said = answers_in(request)
        return lines[who][min(said, len(lines[who]) - 1)]

    main = in_order(agent("top", run_in_background=True), "It runs.")
    async with open_crew(tmp_path, main, pages={"general-purpose": child}, tools=(linger,)) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    told = "\n".join(heard)
    assert told.count("<result>middle is done</result>") == 1
    assert told.count("<result>lowest is done</result>") == 1
    assert [notice.count("<result>seen</result>") for notice in notices(crew)] == [1]
    assert violations(crew) == []


async def test_what_an_agent_had_not_read_when_it_was_killed_is_told_to_the_next_one(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-04, RC-43. Mechanism: `pass_on`, in the step in which the reader's run ends."""
    lines: dict[str, list[AnswerLike]] = {
        "top": [agent("lowest", run_in_background=True), Call("Linger", {"seconds": 90})],
        "lowest": ["lowest is done"],
    }

    def child(request: ModelRequest) -> AnswerLike:
        mine = lines[asked(request).split()[0]]
        return mine[min(answers_in(request), len(mine) - 1)]

    main = in_order(agent("top", run_in_background=True, name="top"), "It runs.")
    async with open_crew(tmp_path, main, pages={"general-purpose": child}, tools=(linger,)) as crew:
        await crew.run("go")
        await trio.sleep(30)
        crew.kill("top")
        await crew.wait_quiet()

    told = sorted(notice.split("<status>")[1].split("<")[0] for notice in notices(crew))
    assert told == ["completed", "killed"]
    assert "\n".join(notices(crew)).count("<result>lowest is done</result>") == 1
    assert violations(crew) == []


async def test_an_agent_whose_rounds_are_used_up_ends_with_what_it_has(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Its own definition says how many, and it is no error."""
    agents = {"short": {"description": "Is short.", "prompt": "Work.", "maxTurns": 2}}
    page = in_order([Say("I looked."), Call("Linger", {"seconds": 1})], [Say("I dug."), Call("Linger", {"seconds": 1})])
    main = in_order(agent("dig", subagent_type="short"), "Noted.")
    async with open_crew(tmp_path, main, pages={"short": page}, agents=agents, tools=(linger,)) as crew:
        await crew.run("go")
        (task,) = crew.tasks.all()

    (found,) = structured(crew)
    assert task.state == found["status"] == "completed"
    assert found["content"][0]["text"].startswith("I dug.\n\n(")
    assert found["totalToolUseCount"] == 2


async def test_an_agent_reads_whom_it_can_write_to(tmp_path: Path, autojump_clock: MockClock) -> None:
    """`main` and those that have names, as it is when it starts."""
    read: dict[str, str] = {}

    def page(request: ModelRequest) -> AnswerLike:
        read[asked(request).split()[0]] = str(request.messages[0].content)
        return Call("Linger", {"seconds": 60}) if len(request.messages) == 1 else "Done."

    main = in_order(
        agent("first", run_in_background=True, name="ann"), agent("second", run_in_background=True), "They run."
    )
    async with open_crew(tmp_path, main, pages={"general-purpose": page}, tools=(linger,)) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    assert "other agents of this session: `main`." in read["first"]
    assert "other agents of this session: `main`, `ann`." in read["second"]


async def test_a_name_is_one_agents_as_long_as_that_runs(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-25: a second one of that name is refused, and leaves nothing; later the name is free."""
    page = in_order(Call("Linger", {"seconds": 60}), "Done.")
    named = {"run_in_background": True, "name": "ann"}
    main = in_order([agent("first", **named), agent("second", **named)], "They run.", "Noted.", agent("third", **named))
    async with open_crew(tmp_path, main, pages={"general-purpose": page}, tools=(linger,)) as crew:
        await crew.run("go")
        refused = main_messages(crew)[2]
        begun = len(crew.pool.subagents)
        await crew.wait_quiet()
        await crew.run("again")
        await crew.wait_quiet()

    assert "is called 'ann' and runs" in refused
    assert begun == 1
    assert len(crew.pool.names["ann"]) == 2


async def test_what_an_agent_did_is_counted_by_the_kind_of_its_calls(tmp_path: Path, autojump_clock: MockClock) -> None:
    """`toolStats`; what failed has changed no lines."""
    page = in_order(
        Call("Write", {"file_path": "a.txt", "content": "one\ntwo\n"}),
        Call("Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "2\n3"}),
        [Call("Read", {"file_path": "a.txt"}), Call("Glob", {"pattern": "*"}), Call("Linger", {"seconds": 1})],
        Call("Edit", {"file_path": "a.txt", "old_string": "nothing like it", "new_string": "x"}),
        "Done.",
    )
    main = in_order(agent("write"), "Noted.")
    async with open_crew(tmp_path, main, pages={"general-purpose": page}, tools=(linger,)) as crew:
        await crew.run("go")

    (found,) = structured(crew)
    assert found["totalToolUseCount"] == 6
    assert found["toolStats"] == {
        "readCount": 1,
        "searchCount": 1,
        "bashCount": 0,
        "editFileCount": 3,
        "linesAdded": 4,
        "linesRemoved": 1,
        "otherToolCount": 1,
    }


async def test_the_tool_is_called_by_its_former_name_too(tmp_path: Path, autojump_clock: MockClock) -> None:
    main = in_order(Call("Task", {"description": "look", "prompt": "look"}), "Noted.")
    async with open_crew(tmp_path, main) as crew:
        await crew.run("go")

    assert "Report on: look" in main_messages(crew)[2]


@pytest.mark.parametrize("listed", ["Agent(Explore)", "Task(Explore, Plan)"])
async def test_a_list_of_types_is_for_the_sessions_own_agent_alone(
    tmp_path: Path, autojump_clock: MockClock, listed: str
) -> None:
    """Mechanism: the tool is there by its name, and the router looks at the types only for main."""
    definition = AgentDefinition(name="main", system_prompt="You lead.", tools=(listed, "Read"))
    calls = [agent("look", subagent_type="Explore"), agent("other"), agent("deep", subagent_type="middle")]
    async with open_crew(
        tmp_path, in_order(calls[:2], "Noted."), definition=definition, agents={"middle": {**MIDDLE, "tools": [listed]}}
    ) as crew:
        await crew.run("go")
        found = structured(crew)
        told = main_messages(crew)[2]

    assert [result["agentType"] for results in found for result in results.values()] == ["Explore"]
    assert "the general-purpose agent is not available in this session. Available agents: Explore" in told

    below = in_order(agent("other"), "Done.")
    async with open_crew(
        tmp_path,
        in_order(calls[2], "Noted."),
        pages={"middle": below},
        agents={"middle": {**MIDDLE, "tools": [listed]}},
    ) as crew:
        await crew.run("go")
        started = sorted(task.info.agent_type for task in crew.tasks.all())

    assert started == ["general-purpose", "middle"]


# --- switches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_interactive", "ran"), [(True, FORK), (False, "general-purpose")])
async def test_the_variable_for_forks_opens_them_where_a_person_watches(
    tmp_path: Path, autojump_clock: MockClock, is_interactive: bool, ran: str
) -> None:
    """Behaviours (20), line 4."""
    played: list[str] = []

    def page(name: str) -> Page:
        def play(_: ModelRequest) -> AnswerLike:
            played.append(name)
            return "Done."

        return play

    pages = {one: page(one) for one in (FORK, "general-purpose")}
    own = DelegationSettings(interactive=is_interactive)
    delegation = delegation_from_environment({"GREENROOM_FORK_SUBAGENT": "1"}, own)
    async with open_crew(tmp_path, in_order(agent("dig"), "Noted."), pages=pages, delegation=delegation) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    assert played == [ran]


async def test_a_loop_that_goes_on_by_itself_waits_for_no_agent(tmp_path: Path, autojump_clock: MockClock) -> None:
    delegation = {"proactive": True}
    async with open_crew(tmp_path, in_order(agent("look"), "It runs."), delegation=delegation) as crew:
        await crew.run("go")
        await crew.wait_quiet()

    assert [result["status"] for result in structured(crew)] == ["async_launched"]
    assert len(notices(crew)) == 1
