"""Skills with `context: fork`, called by a model and by the user: who waits, what is shared, how the result comes back."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import Answer, Prompt, SkillTool
from greenroom.agents.events import AgentDefined
from greenroom.agents.subagents import SkillForkFailed, SkillForks, Subagent
from greenroom.core import Cause, ProviderError, TurnFailed, TurnKilled
from greenroom.inbox import AUTO_CONTINUATION, SCHEDULE, make_item
from greenroom.mailbox import Delivery
from greenroom.models import Call, Message, ModelRequest, Say, ScriptedModel, TextBlock, ToolResultBlock
from greenroom.models._scripted import ScriptStep
from greenroom.skills import Rendered, RenderPorts, Skill, render_skill
from greenroom.skills._skill_catalog import resolve_skills
from greenroom.tasks import EndReport, TaskBegan, TaskEnded, TaskState
from greenroom.testing import BareAgentPorts
from greenroom.tools import ToolContext
from tests.agents.crews import Crew, open_crew, told, violations
from tests.agents.pages import echo
from tests.skills.samples import HERE, skill
from tests.worktrees.repositories import make_repository

AUDIT = Call("Skill", {"skill": "audit-auth", "args": "login"})
LONG = ScriptStep(answer="Never heard.", wait_s=600.0)
WATCHED = {"skill_fork": "background", "interactive": True}
CHILD = "general-purpose"


PORTS = RenderPorts(cwd=HERE, project=HERE, is_trusted=True)


class SkillPorts:
    """Ports of a main agent whose skills run as agents of their own."""

    def __init__(self, forks: SkillForks) -> None:
        self.run_skill = forks.run_command
        self._bare = BareAgentPorts()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bare, name)


@attrs.frozen
class Scene:
    """A crew with a skill `audit-auth` that forks."""

    crew: Crew
    skill: Skill

    async def command(self, arguments: str) -> Answer:
        """Return the answer to a command of the user's."""
        rendered = await render_skill(self.skill, arguments, PORTS)
        prompt = Prompt(rendered.text, skills=(rendered,), typed=f"/audit-auth {arguments}")
        try:
            answer: Answer = await self.crew.main.ref.ask(prompt, timeout_s=math.inf)
        except TurnFailed as error:
            error.partial = "".join(prompt.said)
            raise
        return answer

    @property
    def members(self) -> list[Subagent]:
        return list(self.crew.pool.subagents.values())

    @property
    def results(self) -> list[ToolResultBlock]:
        conversation = self.crew.home.conversation
        assert conversation is not None
        blocks = [block for message in conversation.messages for block in message.content]
        return [block for block in blocks if isinstance(block, ToolResultBlock)]


@asynccontextmanager
async def opened(
    folder: Path,
    script: Mapping[str, Any],
    *,
    of_skill: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Scene, ScriptedModel]]:
    model = ScriptedModel(script, keeps_requests=True)
    audit = skill("Audit $ARGUMENTS.", name="audit-auth", **{"is_fork": True, "agent": CHILD, **(of_skill or {})})
    found, made = resolve_skills([audit]), list[SkillForks]()

    async def fork(rendered: Rendered, ctx: ToolContext) -> str:
        return await made[0](rendered, ctx)

    def hand_in(text: str) -> bool:
        item = make_item(text, uuid=f"hidden-{len(text)}", origin=AUTO_CONTINUATION)
        return crew.main.ref.tell(item, item.lane) is Delivery.ACCEPTED

    tools = (SkillTool(skills=lambda: found, ports=lambda _: PORTS, fork=fork),)
    options = {"mode": "default", "tools": tools, "rules": rules, **options}
    async with open_crew(folder, echo, around=lambda _: model, **options) as crew:
        made.append(SkillForks(pool=crew.pool, wait_durable=crew.wait_durable, hand_in=hand_in))
        ports: Any = SkillPorts(made[0])
        crew.home.ports = ports
        yield Scene(crew, audit), model
    assert violations(crew) == []


def asked(model: ScriptedModel, definition: str) -> list[ModelRequest]:
    return [request for request in model.requests if request.definition == definition]


def said(crew: Crew) -> list[Message]:
    assert crew.home.conversation is not None
    return list(crew.home.conversation.messages)


# --- who waits, and what comes back ------------------------------------------------------------------


async def test_a_model_waits_for_the_skill_and_its_result_is_that_of_the_call(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (4), line 4; Behaviours (20), line 1, the sixth call.

    The child is told the skill's text and nothing of the conversation; main's next request has the report.
    """
    script = {"main": [AUDIT, "done"], CHILD: [ScriptStep(answer="All is well.", wait_s=5.0)]}
    async with opened(tmp_path, script) as (scene, model):
        answer = await scene.crew.run("A secret of mine.")
        (member,) = scene.members
        assert member.task.report is not EndReport.NONE
    assert answer.text == "done"
    (first,) = asked(model, CHILD)
    (message,) = first.messages
    text = f"Base directory for this skill: {scene.skill.folder}\n\nAudit login."
    assert message.content[0] == TextBlock(text)
    assert "secret" not in str(first)
    assert scene.results[0].content == ('Skill "audit-auth" completed (forked execution).\n\nResult:\nAll is well.')
    (defined,) = [event for event in told(scene.crew, AgentDefined) if event.skill]
    assert (defined.skill, defined.depth, defined.call) == ("audit-auth", 1, scene.results[0].tool_use_id)
    assert [event.task for event in told(scene.crew, TaskBegan)] == [member.id]
    assert "<task-notification>" not in str(said(scene.crew))


async def test_a_user_gets_what_the_skill_says_as_the_output_of_the_command(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """No model of main is asked; it reads of the command with the next prompt."""
    script: dict[str, Any] = {"main": ["I see."], CHILD: [ScriptStep(answer="Use <b>.", wait_s=5.0)]}
    async with opened(tmp_path, script) as (scene, model):
        answer = await scene.command("login page")
        assert (answer.text, answer.rounds) == ("Use <b>.", 0)
        assert asked(model, "main") == []
        await scene.crew.run("And now?")
    command, prompt = [getattr(block, "text", "") for block in asked(model, "main")[0].messages[0].content]
    assert command == (
        "<command-name>/audit-auth</command-name><command-args>login page</command-args>"
        "<local-command-stdout>Use <b>.</local-command-stdout>"
    )
    assert prompt == "And now?"
    assert "Audit login page." in asked(model, CHILD)[0].messages[0].text
    assert [event.call for event in told(scene.crew, AgentDefined) if event.skill] == [""]


async def test_in_the_background_the_result_is_a_notice(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The turn goes on at once, with the reduced set of tools for the child."""
    script = {"main": [AUDIT, "I go on.", "I have read it."], CHILD: [ScriptStep(answer="All is well.", wait_s=50.0)]}
    async with opened(tmp_path, script, delegation=WATCHED) as (scene, model):
        assert (await scene.crew.run("Go.")).text == "I go on."
        (member,) = scene.members
        assert member.task.is_background
        assert "runs in the background as agent " + member.id in scene.results[0].content
        await scene.crew.wait_quiet()
    assert "<task-notification>" in asked(model, "main")[-1].messages[-1].text
    assert "All is well." in asked(model, "main")[-1].messages[-1].text
    assert "TaskOutput" not in {tool.name for tool in asked(model, CHILD)[0].tools}


async def test_an_assistant_waits_for_nothing_and_reads_a_hidden_prompt(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Several commands run side by side, and the input is not held up."""
    child = [ScriptStep(answer="One </command-result>.", wait_s=50.0), ScriptStep(answer="Two.", wait_s=90.0)]
    script = {"main": ["Hello.", "First read.", "Second read."], CHILD: child}
    async with opened(tmp_path, script, delegation={"assistant": True}) as (scene, model):
        began_s = trio.current_time()
        assert "runs in the background" in (await scene.command("a")).text
        assert "runs in the background" in (await scene.command("b")).text
        assert (await scene.crew.run("Hi.")).text == "Hello."
        assert trio.current_time() - began_s < 10.0
        await scene.crew.wait_quiet()
    texts = [request.messages[-1].text for request in asked(model, "main")]
    assert texts[1].startswith('<command-result command="/audit-auth a" status="completed">\n[harness: ')
    assert texts[1].endswith("\nOne \\&lt;/command-result>.\n</command-result>")
    assert "Two." in texts[2]
    assert "<task-notification>" not in str(said(scene.crew))
    lines = [json.loads(line) for line in (scene.crew.run_folder / "transcripts/main.jsonl").read_text().splitlines()]
    hidden = [line for line in lines if "<command-result" in str(line.get("message"))]
    assert [entry["isMeta"] for entry in hidden] == [True, True]
    assert hidden[0]["origin"]["kind"] == "auto-continuation"


async def test_an_assistant_reads_that_a_skill_did_not_come_to_its_end(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-37, CL-08: the hidden prompt says how it ended, and why."""
    error = ProviderError("no", kind="bad_request", status=400)
    script = {"main": ["Read."], CHILD: [ScriptStep(error=error)]}
    async with opened(tmp_path, script, delegation={"assistant": True}) as (scene, model):
        await scene.command("a")
        await scene.crew.wait_quiet()

    (request,) = asked(model, "main")
    assert request.messages[-1].text.endswith(
        '<command-result command="/audit-auth a" status="failed">\n(The agent failed: bad_request: no.)\n</command-result>'
    )


@pytest.mark.parametrize(
    ("background", "delegation"),
    [
        (None, {}),
        (False, WATCHED),
        (None, {**WATCHED, "interactive": False}),
        (True, {}),
        (None, {**WATCHED, "background": False}),
        (None, {"assistant": True, "background": False}),
    ],
    ids=[
        "by default",
        "the skill says so",
        "nobody watches",
        "it says otherwise",
        "no background",
        "nor an assistant's",
    ],
)
async def test_where_a_skill_is_waited_for(
    tmp_path: Path, autojump_clock: MockClock, background: bool | None, delegation: dict[str, Any]
) -> None:
    """Behaviours (4), line 4: with `background: false` the turn waits."""
    script = {"main": [AUDIT, "done"], CHILD: [ScriptStep(answer="All is well.", wait_s=5.0)]}
    async with opened(tmp_path, script, of_skill={"is_background": background}, delegation=delegation) as (scene, _):
        await scene.crew.run("Go.")
        assert "All is well." in scene.results[0].content


async def test_a_skill_that_runs_already_is_waited_for(tmp_path: Path, autojump_clock: MockClock) -> None:
    child = [ScriptStep(answer="slow", wait_s=500.0), ScriptStep(answer="quick", wait_s=1.0)]
    script = {"main": [AUDIT, AUDIT, "done", "told"], CHILD: child}
    async with opened(tmp_path, script, delegation=WATCHED) as (scene, _):
        await scene.crew.run("Go.")
        assert "runs in the background" in scene.results[0].content
        assert "quick" in scene.results[1].content
        await scene.crew.wait_quiet()


async def test_what_a_schedule_begins_waits(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The next turn is the user's, and waits for nothing."""
    child = [ScriptStep(answer="quick", wait_s=1.0)] * 2
    script = {"main": [AUDIT, "done", AUDIT, "done", "told"], CHILD: child}
    async with opened(tmp_path, script, delegation=WATCHED) as (scene, _):
        scene.crew.send("It is nine.", origin=SCHEDULE)
        await scene.crew.wait_quiet()
        assert "quick" in scene.results[0].content
        await scene.crew.run("Go.")
        assert "runs in the background" in scene.results[1].content
        await scene.crew.wait_quiet()


async def test_one_that_is_waited_for_can_be_let_go_on_alone(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Of a command: it does not notice, and its end is a notice."""
    script = {"main": ["told"], CHILD: [ScriptStep(answer="All is well.", wait_s=50.0)]}
    async with opened(tmp_path, script) as (scene, model), trio.open_nursery() as nursery:
        nursery.start_soon(release, scene.crew)
        assert "runs in the background" in (await scene.command("it")).text
        assert trio.current_time() < 20.0
        await scene.crew.wait_quiet()
        assert len(asked(model, CHILD)) == 1
        assert "All is well." in asked(model, "main")[-1].messages[-1].text


async def release(crew: Crew) -> None:
    await trio.sleep(10)
    assert len(crew.background_all()) == 1


# --- what the child is ------------------------------------------------------------------------------------------------


async def test_what_the_skill_allows_is_the_childs_for_all_of_its_run_and_not_its_callers(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    agents = {"auditor": {"description": "x", "prompt": "x", "permissionMode": "dontAsk"}}
    note = Call("Write", {"file_path": "a.txt", "content": "a"})
    mine = Call("Write", {"file_path": "b.txt", "content": "b"})
    script = {"main": [AUDIT, mine, "done"], "auditor": [note, note, "All is well."]}
    async with opened(tmp_path, script, agents=agents, of_skill={"agent": "auditor", "allowed_tools": ("Write",)}) as (
        scene,
        _,
    ):
        await scene.crew.run("Go.")
    assert (tmp_path / "project" / "a.txt").exists()
    assert not (tmp_path / "project" / "b.txt").exists()
    assert scene.results[1].is_error


async def test_a_worktree_that_is_kept_is_named_with_the_result(tmp_path: Path) -> None:
    """The definition asks for it, and the main checkout is untouched."""
    make_repository(tmp_path / "project")
    agents = {"apart": {"description": "x", "prompt": "x", "isolation": "worktree"}}
    note = Call("Write", {"file_path": "a.txt", "content": "a"})
    async with opened(
        tmp_path, {"main": [], "apart": [note, "Written."]}, agents=agents, of_skill={"agent": "apart"}
    ) as (scene, _):
        answer = await scene.command("it")
        (member,) = scene.members
    text, _, worktree = answer.text.partition("\n\nworktreePath: ")
    assert text == "Written."
    assert member.task.worktree is not None
    assert worktree.startswith(member.task.worktree.path)
    assert (Path(member.task.worktree.path) / "a.txt").exists()
    assert not (tmp_path / "project" / "a.txt").exists()


async def test_without_a_model_of_its_own_it_has_its_callers(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The caller may be a child."""
    agents = {"quick": {"description": "x", "prompt": "x", "model": "haiku"}}
    spawn = Call("Agent", {"description": "quick", "prompt": "quick", "subagent_type": "quick"})
    async with opened(tmp_path, {"main": [spawn, "done"], "quick": [AUDIT, "end"], CHILD: ["ok"]}, agents=agents) as (
        scene,
        model,
    ):
        await scene.crew.run("Go.")
    (request,) = asked(model, CHILD)
    assert "haiku" in request.model


async def test_a_skill_that_forks_does_not_run_itself(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-51. Below itself it is refused through any other agent, too."""
    agents = {"below": {"description": "x", "prompt": "x"}}
    spawn = Call("Agent", {"description": "below", "prompt": "below", "subagent_type": "below"})
    script = {"main": [AUDIT, "done"], CHILD: [AUDIT, spawn, "end"], "below": [AUDIT, "over"]}
    async with opened(tmp_path, script, agents=agents) as (scene, model):
        await scene.crew.run("Go.")
        assert len(scene.members) == 2
    for definition in (CHILD, "below"):
        (result,) = asked(model, definition)[1].messages[-1].content
        assert isinstance(result, ToolResultBlock)
        assert result.is_error
        assert "audit-auth > audit-auth" in result.content


@pytest.mark.parametrize("release_s", [1.0, 300.0], ids=["from disk", "from memory"])
async def test_the_guard_holds_for_one_that_is_resumed(
    tmp_path: Path, autojump_clock: MockClock, release_s: float
) -> None:
    """CL-51: what ran above it is part of what is kept of it. The end of its second run is a notice, also for an assistant."""
    script: dict[str, Any] = {"main": ["read", "told"], CHILD: ["once", AUDIT, "twice"]}
    async with opened(tmp_path, script, delegation={"assistant": True, "release_s": release_s}) as (scene, model):
        await scene.command("it")
        (member,) = scene.members
        await scene.crew.wait_quiet()
        await trio.sleep(5)
        assert len(scene.members) == (release_s > 5)
        await scene.crew.post.send(member.id, "Once more.", sender=scene.crew.main.ref.id)
        await scene.crew.wait_quiet()
    (result,) = asked(model, CHILD)[-1].messages[-1].content
    assert "audit-auth > audit-auth" in getattr(result, "content", "")
    first, second = [request.messages[-1].text for request in asked(model, "main")]
    assert ("<command-result" in first, "<command-result" in second) == (True, False)
    assert "<task-notification>" in second


# --- what refuses it --------------------------------------------------------------------------------------------------


async def test_a_skill_of_an_agent_that_there_is_not_is_one_line(tmp_path: Path, autojump_clock: MockClock) -> None:
    """For the user an error of the call, for a model an error result; nothing is started."""
    async with opened(tmp_path, {"main": [AUDIT, "done"]}, of_skill={"agent": "nobody"}) as (scene, _):
        with pytest.raises(TurnFailed, match=r"/audit-auth: .*'nobody'"):
            await scene.command("it")
        await scene.crew.run("Go.")
        assert scene.members == []
    (result,) = scene.results
    assert result.is_error
    assert "\n" not in result.content
    assert "the skill 'audit-auth' cannot run as an agent 'nobody'" in result.content


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"delegation": {"max_depth": 0}}, "depth limit"),
        ({"delegation": {"max_total": 0}}, "limit of this session"),
        ({"rules": {"deny": ["Agent(general-purpose)"]}}, "denied by the rule"),
    ],
)
async def test_the_rules_and_limits_of_all_agents_hold(
    tmp_path: Path, autojump_clock: MockClock, settings: dict[str, Any], words: str
) -> None:
    """CL-39, CL-52: one gate for every way to spawn. The user's command fails with the same words."""
    async with opened(tmp_path, {"main": [AUDIT, "done"]}, **settings) as (scene, _):
        await scene.crew.run("Go.")
        with pytest.raises(TurnFailed) as failed:
            await scene.command("it")
        assert scene.members == []
    assert words in scene.results[0].content
    assert words in str(failed.value.__cause__)


# --- how it can end ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["Go.", "/audit-auth it"])
async def test_the_end_of_the_turn_that_waits_is_that_of_the_child(
    tmp_path: Path, autojump_clock: MockClock, prompt: str
) -> None:
    """RC-01, RC-04: by either way in. The end is recorded once and told once."""
    script: dict[str, Any] = {"main": [AUDIT] if prompt == "Go." else [], CHILD: [LONG]}
    script["main"].append("I see.")
    async with opened(tmp_path, script) as (scene, model):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(interrupt, scene.crew)
            with pytest.raises(TurnKilled):
                await (scene.crew.run(prompt) if prompt == "Go." else scene.command("it"))
        (member,) = scene.members
        assert member.task.state is TaskState.KILLED
        assert trio.current_time() < 60.0
        await scene.crew.wait_quiet()
        await scene.crew.run("What happened?")
    heard = str(asked(model, "main")[-1].messages)
    assert (heard.count("<task-notification>"), heard.count("local-command-stderr>it was inter")) == (
        (1, 0) if prompt == "Go." else (0, 1)
    )
    assert len(told(scene.crew, TaskEnded)) == 1


async def interrupt(crew: Crew) -> None:
    await trio.sleep(10)
    crew.interrupt()


async def test_an_error_of_the_provider_is_told_to_whoever_waits(tmp_path: Path, autojump_clock: MockClock) -> None:
    broken = ProviderError("try later", kind="overloaded_error")
    looks = [Say("I have looked."), Call("Glob", {"pattern": "*"})]
    script = {"main": [AUDIT, "done"], CHILD: [broken, looks, broken]}
    async with opened(tmp_path, script) as (scene, _):
        await scene.crew.run("Go.")
        with pytest.raises(TurnFailed) as failed:
            await scene.command("it")
    assert scene.results[0].is_error
    assert "overloaded" in scene.results[0].content
    cause = failed.value.__cause__
    assert isinstance(cause, SkillForkFailed)
    assert (cause.skill, cause.state, cause.partial) == ("audit-auth", "failed", "I have looked.")
    assert failed.value.partial == "I have looked."
    assert (
        "<local-command-stdout>I have looked.</local-command-stdout><local-command-stderr>" in said(scene.crew)[-1].text
    )


async def test_a_command_of_a_killed_child_fails_and_the_session_goes_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    script: dict[str, Any] = {"main": ["Hello."], CHILD: [LONG]}
    async with opened(tmp_path, script) as (scene, _):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_all, scene)
            with pytest.raises(TurnFailed) as failed:
                await scene.command("it")
        assert "was stopped by host: enough" in str(failed.value.__cause__)
        assert (await scene.crew.run("Hi.")).text == "Hello."


async def kill_all(scene: Scene) -> None:
    await trio.sleep(10)
    (member,) = scene.members
    assert member.task.kill(Cause("host", "enough"))
