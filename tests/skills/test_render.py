"""The text of a skill for a model; nothing typed becomes a command."""

from __future__ import annotations

import shlex
import subprocess

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.sources import Scope
from greenroom.skills import (
    Arguments,
    RenderPorts,
    ShellCommand,
    ShellOutcome,
    Skill,
    SkillFailed,
    parse_template,
    render_skill,
)
from greenroom.skills._skill_arguments import substitute
from greenroom.skills._template import Shell
from tests.skills.samples import HERE, Files, Shells, skill

HEAD = f"Base directory for this skill: {HERE}/.claude/skills/fix\n\n"
BARE = RenderPorts(cwd=HERE, project=HERE)


async def render(one: Skill, arguments: str = "", ports: RenderPorts = BARE) -> str:
    return (await render_skill(one, arguments, ports)).text.removeprefix(HEAD)


async def test_positions_count_from_zero_and_a_missing_one_stays() -> None:
    """Behaviours (4), line 1."""
    assert await render(skill("$0|$1|$2|$ARGUMENTS"), '12 "a b"') == '12|a b|$2|12 "a b"'


async def test_arguments_are_appended_where_they_have_no_place() -> None:
    """Behaviours (4), line 2."""
    assert await render(skill("Fix it."), "12 now") == "Fix it.\n\nARGUMENTS: 12 now"
    assert await render(skill("Fix it."), "") == "Fix it."
    assert await render(skill(r"Fix \$ARGUMENTS."), "12") == "Fix $ARGUMENTS.\n\nARGUMENTS: 12"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("$ARGUMENTS[1] $ARGUMENTS[7]", "b $ARGUMENTS[7]"),
        ("$issue $pull.", "a b."),
        ("$missing!", "!"),
        (r"\$0 \$issue \$ARGUMENTS \\$0 \$other", r"$0 $issue $ARGUMENTS \$0 \$other"),
        ("$5.00 $1st $ARGUMENTSX $HOME", "$5.00 $1st $ARGUMENTSX $HOME"),
        ("${CLAUDE_SESSION_ID} ${GREENROOM_SESSION_ID} ${CLAUDE_OTHER} ${x}", "s1 s1 ${CLAUDE_OTHER} ${x}"),
    ],
)
def test_placeholders(template: str, expected: str) -> None:
    given_ = Arguments("a b", ("issue", "pull", "missing"))
    variables = {"CLAUDE_SESSION_ID": "s1", "GREENROOM_SESSION_ID": "s1"}

    assert substitute(template, given_, variables) == expected


async def test_what_is_put_in_is_not_looked_at_again() -> None:
    shells = Shells()
    typed = "$1 !`rm` @secret ${CLAUDE_SESSION_ID}"

    text = await render(skill("<$ARGUMENTS>"), typed, attrs.evolve(shells.ports, files=Files({"secret": "x"})))

    assert text == f"<{typed}>"
    assert shells.asked == []


async def test_a_command_is_replaced_by_its_output_which_is_not_looked_at_again() -> None:
    shells = Shells(lambda _: ShellOutcome(exit_code=0, output="$0 !`two`\n"))

    text = await render(skill("Now: !`git status`\n```!\none\ntwo\n```\nend $ARGUMENTS"), "x", shells.ports)

    assert text == "Now: $0 !`two`\n$0 !`two`\nend x"
    assert [one.text for one in shells.ran] == ["git status", "one\ntwo"]
    assert [(one.shell, one.timeout_s, one.cwd) for one in shells.ran] == [("bash", 120.0, HERE)] * 2


async def test_a_command_gets_arguments_as_positions_and_is_allowed_with_them_put_in() -> None:
    shells = Shells()
    one = skill("!`show $0 ${CLAUDE_SKILL_DIR} $ARGUMENTS $issue`", arguments=("issue",))

    await render(one, "'a; rm' b", shells.ports)

    assert shells.asked == [
        f"show a; rm {one.folder} 'a; rm' b a; rm",
        f"show 'a; rm' {one.folder} ''\"'\"'a; rm'\"'\"' b' 'a; rm'",
    ]
    assert shells.ran[0].text == "show $0 ${CLAUDE_SKILL_DIR} ${10} ${0}"
    assert shells.ran[0].arguments == ("a; rm", "b", *[""] * 8, "'a; rm' b")
    assert shells.ran[0].environ["CLAUDE_SKILL_DIR"] == str(one.folder)


async def test_a_command_that_fails_ends_it() -> None:
    """Behaviours (4), line 5."""
    shells = Shells(lambda _: ShellOutcome(exit_code=2, output="no such thing"))

    with pytest.raises(SkillFailed) as caught:
        await render(skill("!`make it`"), "", shells.ports)

    assert str(caught.value) == 'Shell command failed for pattern "!`make it`": exit code 2\nno such thing'
    assert (caught.value.skill, caught.value.pattern) == ("fix", "!`make it`")


async def test_a_command_without_an_end_fails_it() -> None:
    shells = Shells(lambda _: ShellOutcome(exit_code=0, output="", timed_out=True))

    with pytest.raises(SkillFailed, match=r"Shell command failed for pattern .* no end within 120 s"):
        await render(skill("!`sleep 1000`"), "", shells.ports)


@pytest.mark.parametrize(
    ("command", "is_fine"),
    [
        ("grep x y", True),
        ("cat x | rg y", True),
        ("git diff --quiet", True),
        ("/usr/bin/diff a b", True),
        ("git push", False),
        ("grep x y && make", False),
        ("make", False),
        ("echo 'grep", False),
    ],
)
async def test_exit_code_1_is_an_answer_of_searches_and_comparisons(command: str, is_fine: bool) -> None:
    shells = Shells(lambda _: ShellOutcome(exit_code=1, output="none"))

    try:
        assert await render(skill(f"!`{command}`"), "", shells.ports) == "none"
    except SkillFailed:
        assert not is_fine
    else:
        assert is_fine


async def test_nothing_runs_where_one_command_is_not_allowed() -> None:
    shells = Shells(allows=lambda command: command != "two")

    with pytest.raises(SkillFailed, match="Shell command permission check failed for pattern \"!`two`\": 'two' is not"):
        await render(skill("!`one` !`two`", allowed_tools=("Bash(one)",)), "", shells.ports)

    assert shells.ran == []
    assert shells.rules == ("Bash(one)",)


@pytest.mark.parametrize(("fields", "arguments"), [({}, "a\nb"), ({"shell": "powershell"}, "a")])
async def test_arguments_that_cannot_be_data_of_a_command_end_it(fields: dict[str, str], arguments: str) -> None:
    shells = Shells()

    with pytest.raises(SkillFailed, match="permission check failed"):
        await render(skill("!`show $0`", **fields), arguments, shells.ports)

    assert (shells.asked, shells.ran) == ([], [])


async def test_a_session_without_a_shell_runs_none() -> None:
    with pytest.raises(SkillFailed, match="does not run commands of skills"):
        await render(skill("!`ls`"))


async def test_allowed_tools_have_folders_put_in() -> None:
    one = skill("x", allowed_tools=("Bash(${CLAUDE_SKILL_DIR}/run *)",))

    rendered = await render_skill(one, "", attrs.evolve(BARE, is_trusted=True))

    assert rendered.allowed_tools == (f"Bash({one.folder}/run *)",)


@pytest.mark.parametrize(("scope", "count"), [(Scope.PROJECT, 0), (Scope.USER, 1), (Scope.PLUGIN, 1)])
async def test_what_a_project_allows_itself_counts_once_it_is_trusted(scope: Scope, count: int) -> None:
    shells = Shells()
    one = skill("!`make`", scope=scope, allowed_tools=("Bash(make)",), hooks={"Stop": []})

    rendered = await render_skill(one, "", attrs.evolve(shells.ports, is_trusted=False))

    assert (len(shells.rules), len(rendered.allowed_tools), len(rendered.hooks)) == (count, count, count)


async def test_files_that_are_named_go_with_it() -> None:
    ports = attrs.evolve(BARE, files=Files({"src/a.py": "code", "b": "other"}))

    text = await render(skill("Look at @src/a.py. Not a@b, `@b`, @gone, @src/a.py"), "", ports)

    assert text == 'Look at @src/a.py. Not a@b, `@b`, @gone, @src/a.py\n\n<file path="src/a.py">\ncode\n</file>'


async def test_too_long_a_text_ends_it() -> None:
    with pytest.raises(SkillFailed, match="must have at most 400,000 characters"):
        await render(skill("$ARGUMENTS" * 50), "x" * 10_000)


async def test_a_plugins_root_can_be_named() -> None:
    one = skill(
        "${CLAUDE_PLUGIN_ROOT} ${CLAUDE_PLUGIN_DATA}",
        name="p:fix",
        scope=Scope.PLUGIN,
        path=HERE / "p/skills/fix/SKILL.md",
    )

    text = (await render_skill(one, "", attrs.evolve(BARE, plugin_data=HERE / "data"))).text

    assert text.endswith(f"{HERE}/p {HERE}/data/p")


def test_code_holds_no_commands() -> None:
    text = "```\n!`a` @b\n```\n`` !`c` `` ~~~ !`d`\n~~~!\ne\n~~~\nx!`f` ![i](j) !!`g`\n```!\nnever ended"

    assert [shell.command for shell in parse_template(text) if isinstance(shell, Shell)] == ["d", "e"]


# --- for anything that somebody may write or type ---------------------------------------------------------------------

TRICKY = st.text(st.sampled_from("$!`@\\\"' \n01{}[]ARGUMENTSname~-;|&()#")) | st.text(max_size=40)
MARKED = st.lists(
    st.sampled_from(["$ARGUMENTS", "$0", "$1", "$name", "\\", "!`c`", "`", "```!\n", "```\n", "\n", "@f", "x"])
)


@given(MARKED.map("".join) | TRICKY)
def test_the_pieces_are_the_text(text: str) -> None:
    assert "".join(one.text for one in parse_template(text)) == text


@given(MARKED.map("".join) | TRICKY, TRICKY)
def test_what_is_typed_never_becomes_a_command(body: str, typed: str) -> None:
    """The commands that run are the author's, word for word, and what is typed never raises anything else."""
    shells = Shells()
    authors = [shell.command for shell in parse_template(body) if isinstance(shell, Shell)]

    async def go() -> None:
        try:
            await render_skill(skill(body, arguments=("name",)), typed, attrs.evolve(shells.ports, files=Files({})))
        except SkillFailed:
            assert not shells.ran
        else:
            assert len(shells.ran) == len(authors)

    trio.run(go)

    for one, author in zip(shells.ran, authors, strict=False):
        assert one.text == author or "$" in author


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=12), max_size=3)
)
def test_a_real_shell_takes_arguments_as_data(words: list[str]) -> None:
    typed = shlex.join(words)
    ran: list[str] = []

    def really(command: ShellCommand) -> ShellOutcome:
        line = ["bash", "-c", command.text, *command.arguments]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=20)
        ran.append(done.stdout)
        return ShellOutcome(exit_code=done.returncode, output=done.stdout)

    body = '!`printf \'%s\\n\' "$0" "$1" "$ARGUMENTS" "$name" "$ARGUMENTS[1]"`'
    trio.run(render_skill, skill(body, arguments=("name",)), typed, Shells(really).ports)

    padded = [*words, "", ""]
    assert ran == ["\n".join([padded[0], padded[1], typed, padded[0], padded[1]]) + "\n"]


@given(TRICKY, TRICKY)
def test_putting_in_never_raises(text: str, typed: str) -> None:
    substitute(text, Arguments(typed, ("name", "x")))
