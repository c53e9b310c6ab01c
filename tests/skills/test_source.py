"""Where skills and commands come from, what they are called, which one counts, what is listed, what a user calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.core.ports import InlineBlocking
from greenroom.core.sources import Kind, Plugin, find_places
from greenroom.skills import InvokedSkills, RenderPorts, Skills, SkillSource, listing, read_command_line, render_skill
from greenroom.skills._command_line import STACKED
from greenroom.skills._skill import COMMAND_FIELDS, SKILL_FIELDS, read_skill
from greenroom.skills._skill_catalog import resolve_skills
from greenroom.skills._skill_source import load_skills
from tests.agents.definitions.samples import places_in, write
from tests.skills.samples import HERE, skill


def put(folder: Path, **files: str) -> None:
    write(folder, **{f"{name}__SKILL" if "skills" in folder.parts else name: text for name, text in files.items()})


def load(folder: Path) -> Skills:
    return load_skills(places_in(folder))


def test_the_samples_of_the_reference_load() -> None:
    content = "---\nname: audit-auth\ncontext: fork\nallowed-tools:\n  - Read\n  - Grep\n  - Glob\n---\n\nAudit it.\n"

    one, found = read_skill(content, name="audit-auth", path=HERE)

    assert found == []
    assert one is not None
    assert (one.is_fork, one.agent, one.allowed_tools) == (True, "general-purpose", ("Read", "Grep", "Glob"))
    assert (one.body, one.description, one.is_background) == ("Audit it.", "Audit it.", None)


def test_all_fields() -> None:
    content = (
        "---\nname: Fix\ndescription: d\nwhen_to_use: w\nargument-hint: [issue]\narguments: issue pull\n"
        "disable-model-invocation: yes\nuser-invocable: 'on'\nallowed-tools: Bash(git *) Read, Grep\n"
        "disallowed-tools: [Write]\nmodel: haiku\neffort: low\nagent: Explore\nbackground: off\nhooks: {}\n"
        "paths: '*.py, src/**'\nshell: powershell\nmetadata: {a: [b]}\nlicense: MIT\ncompatibility: x\n---\n"
    )

    one, found = read_skill(content, name="fix", path=HERE)

    assert found == []
    assert one is not None
    assert (one.name, one.title, one.argument_hint, one.arguments) == ("fix", "Fix", "[issue]", ("issue", "pull"))
    assert (one.for_models, one.for_users, one.is_background) == (False, True, False)
    assert one.allowed_tools == ("Bash(git *)", "Read", "Grep")
    assert (one.paths, one.shell) == (("*.py", "src/**"), "powershell")


@given(st.text(max_size=200) | st.text(max_size=200).map(lambda one: f"---\n{one}\n---\nbody"))
def test_no_text_makes_reading_raise(content: str) -> None:
    read_skill(content, name="x", path=HERE)


@given(st.lists(st.sampled_from([*SKILL_FIELDS, "x"]), unique=True), st.data())
def test_no_value_makes_reading_raise(keys: list[str], data: st.DataObject) -> None:
    values = st.sampled_from(["", "a", "[a, b]", "{a: b}", "3", "true", "[1]", "-", "'('", "~", "[[]]"])
    lines = "".join(f"{key}: {data.draw(values)}\n" for key in keys)

    read_skill(f"---\n{lines}---\nbody", name="x", path=HERE)


def test_a_command_has_neither_name_nor_paths() -> None:
    assert not {"name", "paths"} & set(COMMAND_FIELDS)
    assert read_skill("---\nname: x\n---\n", name="y", path=HERE, is_command=True)[1][0].kind is Kind.IGNORED


@pytest.mark.parametrize("line", ["disable-model-invocation: perhaps", "context: frok", "arguments: [1x]", "name: ["])
def test_a_malformed_one_takes_only_itself_out(tmp_path: Path, line: str) -> None:
    put(tmp_path / "project/.claude/skills", bad=f"---\n{line}\n---\n", good="x")

    found = load(tmp_path)

    assert ("bad" in found) is line.startswith(("arguments", "context"))
    assert "good" in found
    assert [diagnostic.kind for diagnostic in found.diagnostics if diagnostic.is_problem] != []


def test_names_come_from_folders_and_files(tmp_path: Path) -> None:
    put(tmp_path / "project/.claude/skills", fix="x", group__deep="y")
    put(tmp_path / "project/.claude/commands", go="x", front__end__go="y")

    assert set(load(tmp_path)) == {"fix", "group:deep", "go", "front:end:go"}


def test_a_skill_beats_a_command_and_the_users_beats_the_projects(tmp_path: Path) -> None:
    """Behaviours (4), line 6."""
    put(tmp_path / "home/.claude/commands", fix="user's command")
    put(tmp_path / "project/.claude/skills", fix="project's skill", two="project's")
    assert load(tmp_path)["fix"].body == "project's skill"
    put(tmp_path / "home/.claude/skills", fix="user's skill")
    put(tmp_path / "project/.greenroom/skills", two="ours")

    found = load(tmp_path)

    assert (found["fix"].body, found["two"].body) == ("user's skill", "ours")
    assert [diagnostic.kind for diagnostic in found.diagnostics] == [Kind.SHADOWED] * 3


def test_a_plugins_carry_its_name_and_are_found_without_it(tmp_path: Path) -> None:
    put(tmp_path / "p/skills", fix="---\nname: repair\n---\nx", other="y")
    put(tmp_path / "p/commands", go="z")
    found = load_skills(
        find_places(tmp_path, environ={"HOME": "/nowhere"}, managed=(), plugins=[Plugin("p", tmp_path / "p")])
    )

    assert set(found) == {"p:fix", "p:other", "p:go"}
    assert found["p:fix"].title == "repair", "for show"
    assert found.find("/fix") is found["p:fix"]
    assert found.find("nothing") is found.find("") is None


def test_a_skill_behind_a_link_counts_once(tmp_path: Path) -> None:
    put(tmp_path / "project/.claude/skills", fix="x")
    (tmp_path / "project/.claude/skills/again").symlink_to(tmp_path / "project/.claude/skills/fix")
    (tmp_path / "project/.claude/skills/outside").symlink_to(tmp_path / "shared")
    put(tmp_path / "shared/skills", far="y")

    assert len([name for name in load(tmp_path) if name in {"fix", "again"}]) == 1
    assert "outside:skills:far" in load(tmp_path)


async def test_folders_below_count_once_a_file_there_was_touched(tmp_path: Path) -> None:
    put(tmp_path / "project/.claude/skills", fix="x")
    put(tmp_path / "project/sub/dir/.claude/skills", fix="below", only="below")
    source = SkillSource(places_in(tmp_path), blocking=InlineBlocking())
    assert set(await source.refresh()) == {"fix"}

    assert source.touch(tmp_path / "project/sub/dir/a.py")
    assert not source.touch(tmp_path / "project/sub/dir/b.py")
    assert not source.touch(tmp_path / "elsewhere/b.py")

    assert set(await source.refresh()) == {"fix", "only", "sub/dir:fix"}


async def test_a_changed_skill_counts_at_the_next_refresh(tmp_path: Path) -> None:
    put(tmp_path / "project/.claude/skills", fix="old")
    source = SkillSource(places_in(tmp_path), blocking=InlineBlocking())
    held = (await source.refresh())["fix"]
    await source.refresh()
    assert source.parsed == 1

    put(tmp_path / "project/.claude/skills", fix="newer")

    assert (await source.refresh())["fix"].body == "newer"
    assert held.body == "old"


# --- what a model is told ---------------------------------------------------------------------------------------------


def test_only_what_a_model_may_call_is_listed() -> None:
    shown = [
        skill(name="a", description="does a", when_to_use="often"),
        skill(name="b", for_models=False),
        skill(name="c"),
    ]

    assert listing(shown) == "- a: does a often\n- c"
    assert listing([]) == ""


def test_a_long_description_is_cut() -> None:
    assert len(listing([skill(name="a", description="x" * 5_000)])) == len("- a: ") + 1_536


@given(st.lists(st.integers(0, 3_000), max_size=60), st.integers(30, 5_000))
def test_a_listing_keeps_to_its_budget_and_names_all_while_names_fit(lengths: list[int], most: int) -> None:
    skills = [skill(name=f"skill-{number}", description="x" * length) for number, length in enumerate(lengths)]

    text = listing(skills, most=most)

    assert len(text) <= most
    if len("\n".join(f"- {each_skill.name}" for each_skill in skills)) <= most:
        assert all(f"- {each_skill.name}" in text for each_skill in skills)
    elif skills:
        assert text.splitlines()[-1].endswith(" more")


# --- what a user calls ------------------------------------------------------------------------------------------------


def called(text: str, *names: str, forks: str = "") -> list[tuple[str, str]] | None:
    skills = resolve_skills(skill(name=name, path=HERE / name, is_fork=name == forks) for name in names)
    line = read_command_line(text, skills)
    return None if line is None else [(invocation.skill.name, invocation.arguments) for invocation in line.invocations]


def test_what_a_user_types() -> None:
    assert called('/fix 12 "a b"', "fix") == [("fix", '12 "a b"')]
    assert called("/fix", "fix") == [("fix", "")]
    assert called("/fix\nline two", "fix") == [("fix", "line two")]
    assert called("fix /fix", "fix") is None
    assert called("/usr/bin is full", "fix") is None
    assert called("/ fix", "fix") is None
    assert called("", "fix") is None


def test_skills_stack_up_to_six_and_share_what_comes_behind() -> None:
    names = [f"s{number}" for number in range(STACKED + 2)]
    line = " ".join(f"/{name}" for name in names)

    assert called("/a /b do it", "a", "b") == [("a", "do it"), ("b", "do it")]
    assert called("/a /b do it", "a", "b", forks="b") == [("a", "/b do it")]
    assert called("/a /b do it", "a", "b", forks="a") == [("a", "/b do it")]
    stacked = called(f"{line} x", *names)
    assert stacked is not None
    assert [name for name, _ in stacked] == names[: STACKED + 1]
    assert stacked[0][1] == f"/{names[-1]} x"


def test_what_is_for_models_is_refused_to_users() -> None:
    with pytest.raises(UsageError, match="for models only"):
        read_command_line("/fix", resolve_skills([skill(for_users=False)]))


@given(st.text(max_size=50) | st.text(st.sampled_from("/ab \n")))
def test_no_input_raises(text: str) -> None:
    called(text, "a", "b")


# --- what a conversation has taken up ---------------------------------------------------------------------------------


async def test_the_same_text_is_said_once_and_comes_back_after_a_compaction() -> None:
    ports = RenderPorts(cwd=HERE, project=HERE)
    invoked = InvokedSkills()
    big = await render_skill(skill("x" * 50_000, name="big", is_command=True), "", ports)
    small = await render_skill(skill("small $ARGUMENTS", is_command=True), "1", ports)

    assert invoked.say(big) == big.text
    assert invoked.say(small) == "small 1"
    assert invoked.say(small) != "small 1"
    assert invoked.say(await render_skill(small.skill, "2", ports)) == "small 2"

    assert invoked.texts_after_compaction() == ("small 2", "x" * 20_000)
    invoked.clear()
    assert invoked.texts_after_compaction() == ()
