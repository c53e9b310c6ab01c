"""Recipes: the built-in ones, those of a file, and what is said of a mistake in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.cli import main
from greenroom.core import UsageError
from greenroom.supervisor import Restart, Strategy
from greenroom.swarm._swarm_plan import SwarmOptions, make_swarm_plan
from greenroom.swarm.recipes import BUILTINS, Recipe, Role, find_recipe
from greenroom.swarm.recipes._recipe import RecipeItem
from greenroom.teams import Conversations
from tests.swarm.small_repo import make_small_repo

WHOLE = """
name = "audit"
description = "Looks twice."
task = "Find what is odd."
prompt = "Do {task} in {folder} with {mates}.\\n\\n{items}"
closing = "Write it now."
strategy = "rest_for_one"
permission_mode = "plan"

[lead]
system_prompt = "You lead."
tools = ["Glob"]
model = "opus"
max_tokens = 1000

[[roles]]
name = "reader"
count = "agents"
system_prompt = "You read."
tools = ["Read", "Grep"]
restart = "permanent"

[[roles]]
name = "critic"
count = 1
definition = "Explore"
prompt = "Wait for a draft."

[[items]]
id = "a"
subject = "First"
description = "Look."

[[items]]
id = "b"
subject = "Second"
description = "Look again."
blocked_by = ["a"]
"""
ROLE = '[[roles]]\nname = "reader"\n'
PYTHON = """
from greenroom.swarm.recipes import Recipe, Role
from greenroom.swarm.recipes._recipe import RecipeItem
from greenroom.models import Call


def lead(request):
    said = "".join(message.text for message in request.messages)
    calls = [block.name for message in request.messages for block in message.content if hasattr(block, "input")]
    if "TaskCreate" not in calls:
        return Call("TaskCreate", {"subject": "Count", "description": "Count the files."})
    if "FOUND" not in said:
        return "A counter counts."
    if "WriteReport" not in calls:
        return Call("WriteReport", {"content": "# " + said[said.index("Sizes:") : said.index("Sizes:") + 8]})
    return "Written."


def counter(request):
    calls = [block.name for message in request.messages for block in message.content if hasattr(block, "input")]
    if "Task #1" not in "".join(message.text for message in request.messages):
        return "Ready."
    if "TaskUpdate" in calls:
        return "Done."
    return [
        Call("TaskUpdate", {"taskId": "1", "status": "completed"}),
        Call("SendMessage", {"to": "lead", "message": "FOUND all", "summary": "all"}),
    ]


RECIPE = Recipe(
    name="sizes",
    task="count",
    lead=Role(name="lead"),
    roles=[Role(name="counter", count=2)],
    look=lambda folder: f"Sizes: {len(list(folder.iterdir()))}",
    playbook={"lead": lead, "counter": counter},
)
"""


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("GREENROOM_RUNS", str(tmp_path / "runs"))


def write(folder: Path, text: str, name: str = "audit.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_file_says_who_works_on_what(tmp_path: Path) -> None:
    recipe = find_recipe(write(tmp_path, WHOLE))

    assert (recipe.name, recipe.task, recipe.closing) == ("audit", "Find what is odd.", "Write it now.")
    assert recipe.lead == Role(name="lead", system_prompt="You lead.", tools=("Glob",), model="opus", max_tokens=1000)
    assert [name for name, _ in recipe.mates(2)] == ["reader-1", "reader-2", "critic"]
    reader, critic = recipe.roles
    assert reader.child_spec.restart is Restart.PERMANENT
    assert (critic.definition, critic.prompt) == ("Explore", "Wait for a draft.")
    assert recipe.supervisor_spec.strategy is Strategy.REST_FOR_ONE
    assert recipe.permission_mode == "plan"
    assert recipe.items[1] == RecipeItem(id="b", subject="Second", description="Look again.", blocked_by=("a",))
    assert not recipe.playbook


def test_the_lead_is_told_the_task_the_mates_and_the_items(tmp_path: Path) -> None:
    recipe = find_recipe(write(tmp_path, WHOLE))

    told = recipe.lead_prompt(task="X {mates} {odd}", folder="shop", mates=["a", "b"])

    assert told.startswith("Do X {mates} {odd} in shop with a, b.\n\nPut these items on the board first")
    assert "\n1. Subject: First\n   Description: Look.\n\n2. Subject: Second\n" in told
    assert told.endswith("Blocked by: 1 (say so with TaskUpdate, addBlockedBy)")


def test_what_a_file_leaves_out_has_a_default(tmp_path: Path) -> None:
    recipe = find_recipe(write(tmp_path, ROLE))

    assert recipe.name == "audit"
    assert recipe.lead.tools == ("Read", "Glob", "Grep")
    assert recipe.strategy is Strategy.ONE_FOR_ONE
    made = recipe.roles[0].made(lambda _: pytest.fail("it names no definition"))
    assert recipe.conversations is Conversations.FRESH
    assert made.tools == (
        "Read",
        "Glob",
        "Grep",
        "CodeFacts",
        "TreeFacts",
        "TaskGet",
        "TaskList",
        "TaskUpdate",
        "SendMessage",
    )
    assert "one of several mates" in made.system_prompt


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("roles = [", "is no TOML: "),
        ("", "roles is missing"),
        ("roles = []", "roles: at least one is required"),
        ("roles = [3]", "roles[0] must be a table, got 3"),
        ('role = "x"\n' + ROLE, "role is not a known key: did you mean 'roles'?"),
        (ROLE + "count = 0", "roles[0].count must be between 1 and 1000, got 0"),
        (ROLE + 'count = "many"', "roles[0].count must be a whole number or \"agents\", got 'many'"),
        (ROLE + "count = true", 'roles[0].count must be a whole number or "agents", got True'),
        (ROLE + 'promt = "x"', "roles[0].promt is not a known key: did you mean 'prompt'?"),
        (ROLE + 'tools = ["Raed"]', "roles[0].tools: unknown tool 'Raed'; expected one of: Read, "),
        (ROLE + "tools = [1]", "roles[0].tools[0] must be text, got 1"),
        (ROLE + 'tools = ["Bash"]', "roles[0].system_prompt is missing: with tools of its own"),
        (
            ROLE + 'restart = "always"',
            "roles[0].restart: must be one of 'permanent', 'transient', 'temporary', got 'always'",
        ),
        (ROLE + 'definition = "x"\nsystem_prompt = "y"', "roles[0].definition and system_prompt exclude each other"),
        ("[[roles]]\ncount = 1", "roles[0].name is missing"),
        (
            '[[roles]]\nname = "A b"',
            "roles[0].name must be at most 40 lowercase letters, digits and '-', got 'A b'",
        ),
        ('[[roles]]\nname = "lead"', "roles[0].name: 'lead' is taken"),
        (ROLE + ROLE, "roles[1].name: 'reader' is taken"),
        (
            'strategy = "all"\n' + ROLE,
            "strategy: must be one of 'one_for_one', 'one_for_all', 'rest_for_one', got 'all'",
        ),
        ('permission_mode = "yolo"\n' + ROLE, "permission_mode: unknown permission mode 'yolo'; expected one of"),
        ("task = 3\n" + ROLE, "task must be text, got 3"),
        ('[lead]\nname = "boss"\n' + ROLE, "lead: there is one, and it is called 'lead'"),
        (ROLE + "[[items]]\nid = 'a'", "items[0].subject is missing"),
        (
            ROLE + "[[items]]\nid='a'\nsubject='s'\ndescription='d'\nblocked_by=['z']",
            "items[0].blocked_by: no item before",
        ),
        ('rules = "chess"\n' + ROLE, "rules: no rules are called 'chess'; expected one of: survey, review"),
        ('rules = "survey"\nprompt = "x"\n' + ROLE, "rules: they know no items and no prompt but their own"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, text)

    assert main(["swarm", str(tmp_path), "--recipe", path]) == 2

    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"greenroom: the recipe {path!r}")
    assert said in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (", "fails in line 1: '(' was never closed"),
        ("x = 1\ny = z", "fails in line 2: NameError: name 'z' is not defined"),
        ("x = 1", "has to define RECIPE = Recipe(...); it is not there"),
        ("RECIPE = 1", "has to define RECIPE = Recipe(...); it is 1"),
        ("from greenroom.swarm.recipes import *\nRECIPE = Role(name='A')", "name must be at most 40 lowercase letters"),
    ],
)
def test_a_mistake_in_a_python_recipe_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = write(tmp_path, text, "own.py")

    with pytest.raises(UsageError) as caught:
        find_recipe(path)

    assert str(caught.value).startswith(f"the recipe {path!r}")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--recipe", "reviw"], "unknown recipe 'reviw': did you mean 'review'?"),
        (["--recipe", "chess"], "unknown recipe 'chess': expected one of: survey, review, research"),
        (["--recipe", "no/such.toml"], "the recipe 'no/such.toml' cannot be read: no such file or directory"),
        (
            ["--recipe", "research", "--task", "x"],
            "the recipe 'research' has no rules and needs a model: set ANTHROPIC_API",
        ),
        (["--recipe", "review"], "git cannot say what changed in "),
    ],
)
def test_a_recipe_that_cannot_be_used_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["swarm", str(tmp_path), *arguments]) == 2

    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err
    assert not (tmp_path / "runs").exists()


def test_a_question_has_to_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")

    assert main(["swarm", str(tmp_path), "--recipe", "research"]) == 2

    assert "the recipe 'research' needs a task: say with --task what is to be done" in capsys.readouterr().err


def test_a_definition_that_is_not_there_is_said_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    path = write(tmp_path, ROLE + 'definition = "no-such-agent"')

    assert main(["swarm", str(tmp_path), "--task", "x", "--recipe", path]) == 2

    err = capsys.readouterr().err
    assert err.startswith("greenroom: the role 'reader': ")
    assert "'no-such-agent'" in err
    assert not (tmp_path / "runs").exists()


def test_a_definition_is_looked_up_and_gets_the_tools_of_the_team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    text = "---\nname: checker\ndescription: Checks.\ntools: Read, Bash\n---\nYou check.\n"
    (tmp_path / ".claude" / "agents" / "checker.md").write_text(text, encoding="utf-8")
    recipe = find_recipe(write(tmp_path, '[[roles]]\nname = "x"\ncount = 1\ndefinition = "checker"\nmodel = "haiku"\n'))

    plan = make_swarm_plan(SwarmOptions(path=tmp_path, task="Check."), recipe, tmp_path)

    (mate,) = plan.mates
    made = mate.definition
    assert (mate.name, made.system_prompt, made.model, mate.prompt) == ("x", "You check.", "haiku", "")
    assert made.tools == ("Read", "Bash", "TaskGet", "TaskList", "TaskUpdate", "SendMessage")
    assert [tool.name for tool in plan.tools] == ["Read", "Glob", "Grep", "Bash"]


def test_two_mates_of_one_name_are_refused() -> None:
    roles = (Role(name="a", count=2), Role(name="a-1", count=1))
    recipe = Recipe(name="twins", lead=Role(name="lead"), roles=roles)

    with pytest.raises(UsageError, match="two mates called 'a-1'"):
        list(recipe.mates(4))


# --- running ----------------------------------------------------------------------------------------------------------


def test_recipes_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["swarm", "--recipes"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(BUILTINS)
    assert all(len(line) <= 80 for line in lines)
    assert all(line.startswith(" " * 10) for line in lines if line.startswith(" "))
    said = [" ".join(line.split()) for line in "\n".join(lines).replace("\n ", " ").splitlines()]
    assert [text.endswith("Needs a model.") for text in said] == [False, False, True]
    assert not (tmp_path / "runs").exists()


def test_a_recipe_of_a_file_runs_by_the_rules_of_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_small_repo(tmp_path / "small")
    text = 'rules = "survey"\n[[roles]]\nname = "reader"\ncount = 2\n'

    assert main(["swarm", str(folder), "--recipe", write(tmp_path, text)]) == 0

    out = capsys.readouterr().out
    assert "5 of 5 items by 2 mates" in out
    assert "reader-2 completed item" in out
    (report,) = (tmp_path / "runs").glob("2*/report.md")
    assert report.read_text(encoding="utf-8").startswith("# Code health survey: small")


def test_the_rules_of_a_review_come_with_what_it_looks_up(tmp_path: Path) -> None:
    recipe = find_recipe(write(tmp_path, 'rules = "review"\ntask = "Judge."\n' + ROLE))

    assert (recipe.look, recipe.task) == (BUILTINS["review"].look, "Judge.")
    assert recipe.playbook.keys() == {"lead", "reader"}


def test_a_recipe_in_python_brings_its_own_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_small_repo(tmp_path / "small")

    assert main(["swarm", str(folder), "--recipe", write(tmp_path, PYTHON, "own.py")]) == 0

    assert "1 of 1 items by 2 mates" in capsys.readouterr().out
    (report,) = (tmp_path / "runs").glob("2*/report.md")
    assert report.read_text(encoding="utf-8") == "# Sizes: 4"
