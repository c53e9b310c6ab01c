"""The documented examples, one row each; the id is the statement's number in the agents specification, or a regression's."""

from __future__ import annotations

from typing import Any, Final

import pytest

from greenroom.core.ports import InlineBlocking
from greenroom.permissions import (
    Effect,
    Mode,
    Policy,
    Request,
    Scope,
    check,
    decide,
    files_hidden_from,
    hidden_tools,
    traits_of,
)
from tests.permissions.policies import CWD, bash, call, effect_of, policy

ALLOW, ASK, DENY = "allow", "ask", "deny"
D, E, P, A, N, B, U = (
    Mode.DEFAULT,
    Mode.ACCEPT_EDITS,
    Mode.PLAN,
    Mode.AUTO,
    Mode.DONT_ASK,
    Mode.BYPASS,
    Mode.BUBBLE,
)

Rules = dict[str, Any]

ROWS: Final[list[tuple[str, str, Rules, Mode, str]]] = [
    # statement, call, rules, mode, effect
    ("0.4-5", "Bash: git push", {"deny": ["Bash(git push)"], "ask": ["Bash"], "allow": ["Bash"]}, D, DENY),
    ("0.4-5", "Bash: git push", {"ask": ["Bash(git push)"], "allow": ["Bash"]}, D, ASK),
    ("1.27", "Agent: reviewer", {}, D, ALLOW),
    ("1.27", "Agent: reviewer", {}, P, ALLOW),
    ("1.27", "Agent: Code Reviewer", {"deny": ["Agent(code-reviewer)"]}, B, DENY),
    ("1.27", "Agent: reviewer", {"ask": ["Task(reviewer)"]}, D, ASK),
    ("1.27", "Agent", {"deny": ["Agent(general-purpose)"]}, D, DENY),
    ("1.111-default", "Read: a.py", {}, D, ALLOW),
    ("1.111-default", "Read: ../other/a.py", {}, D, ASK),
    ("1.111-default", "Edit: a.py", {}, D, ASK),
    ("1.111-default", "Bash: npm test", {}, D, ASK),
    ("1.111-default", "WebFetch: https://example.com", {}, D, ASK),
    ("1.111-default", "Unknown", {}, D, ASK),
    ("1.111-acceptEdits", "Edit: a.py", {}, E, ALLOW),
    ("1.111-acceptEdits", "Write: /home/ann/project/src/a.py", {}, E, ALLOW),
    ("1.111-acceptEdits", "Edit: ../a.py", {}, E, ASK),
    ("1.111-acceptEdits", "NotebookEdit: a.ipynb", {}, E, ALLOW),
    ("1.111-acceptEdits", "Bash: mkdir -p src/new && touch src/new/a.py", {}, E, ALLOW),
    ("1.111-acceptEdits", "Bash: LANG=C timeout 5 rm src/a.py", {}, E, ALLOW),
    ("1.111-acceptEdits", "Bash: PATH=/tmp rm src/a.py", {}, E, ASK),
    ("1.111-acceptEdits", "Bash: sed -i 's/a/b/g' src/a.py", {}, E, ALLOW),
    ("1.111-acceptEdits", "Bash: sed -i 's/a/b/e' src/a.py", {}, E, ASK),
    ("1.111-acceptEdits", "Bash: cp /etc/hosts src/hosts", {}, E, ASK),
    ("1.111-acceptEdits", "Bash: mv a.py ../b.py", {}, E, ASK),
    ("1.111-acceptEdits", "Bash: rmdir src/*", {}, E, ALLOW),
    ("1.111-acceptEdits", "Bash: npm test", {}, E, ASK),
    ("1.111-plan", "Read: a.py", {}, P, ALLOW),
    ("1.111-plan", "Edit: a.py", {"allow": ["Edit"]}, P, ASK),
    ("1.111-plan", "Bash: npm test", {"allow": ["Bash"]}, P, ASK),
    ("1.111-plan", "WebFetch: https://example.com", {"allow": ["WebFetch"]}, P, ALLOW),
    ("1.111-auto", "Edit: a.py", {}, A, ALLOW),
    ("1.111-auto", "Bash: npm test", {}, A, ASK),
    ("1.111-auto", "Bash: npm test", {"allow": ["Bash(npm test)"]}, A, ALLOW),
    ("1.111-auto", "Bash: npm test", {"allow": ["Bash"]}, A, ASK),
    ("1.111-auto", "Bash: python3 x.py", {"allow": ["Bash(python*)"]}, A, ASK),
    ("1.111-auto", "Bash: python3 x.py", {"allow": ["Bash(python3 x.py)"]}, A, ALLOW),
    ("1.111-auto", "Read: a.py", {}, A, ALLOW),
    ("1.27-auto", "Agent: reviewer", {}, A, ASK),
    ("1.27-auto", "Agent: reviewer", {"allow": ["Agent(reviewer)"]}, A, ASK),
    ("1.27-auto", "Agent: reviewer", {"deny": ["Agent(reviewer)"]}, A, DENY),
    ("1.111-dontAsk", "Bash: npm test", {}, N, DENY),
    ("1.111-dontAsk", "Bash: npm test", {"allow": ["Bash(npm test)"]}, N, ALLOW),
    ("1.111-dontAsk", "Bash: npm test", {"ask": ["Bash(npm test)"]}, N, DENY),
    ("1.111-dontAsk", "AskUserQuestion", {}, N, DENY),
    ("1.111-dontAsk", "Read: a.py", {}, N, ALLOW),
    ("1.111-bypass", "Bash: npm test", {}, B, ALLOW),
    ("1.111-bypass", "Edit: ../a.py", {}, B, ALLOW),
    ("1.46", "Bash: npm test", {}, U, ASK),
    ("1.113", "Bash: npm test", {"ask": ["Bash(npm *)"]}, B, ASK),
    ("1.113", "AskUserQuestion", {}, B, ASK),
    ("1.113", "Bash: rm -rf /", {"allow": ["Bash"]}, B, ASK),
    ("1.113", "Bash: rm -rf /*", {}, B, ASK),
    ("1.113", "Bash: rm -rf /usr", {}, B, ASK),
    ("1.113", "Bash: sudo rm -rf ~", {}, B, ASK),
    ("1.113", "Bash: rm -rf $HOME/", {}, B, ASK),
    ("1.113", "Bash: rm -rf .", {}, B, ASK),
    ("1.113", "Bash: rm -rf ../..", {}, B, ASK),
    ("1.113", "Bash: rmdir /home/ann/project", {}, B, ASK),
    ("1.113", 'Bash: rm -rf "$DIR"/*', {}, B, ASK),
    ("1.113", "Bash: cd src && rm -rf ..", {}, B, ASK),
    ("1.113", "Bash: bash -c 'rm -rf /'", {}, B, ASK),
    ("1.113", "Bash: rm -rf build", {}, B, ALLOW),
    ("1.113", "Bash: rm -rf /usr/local/x", {}, B, ALLOW),
    ("1.114", "Write: .git/config", {"allow": ["Edit"]}, E, ASK),
    ("1.114", "Write: .git/config", {"allow": ["Edit"]}, N, DENY),
    ("1.114", "Write: .git/config", {}, B, ALLOW),
    ("1.114", "Write: .claude/worktrees/x/a.py", {}, E, ALLOW),
    ("1.114", "Write: .claude/settings.json", {}, E, ASK),
    ("1.114", "Write: .greenroom/settings.json", {}, E, ASK),
    ("1.114", "Write: .GIT/config", {}, E, ASK),
    ("1.114", "Edit: .mcp.json", {"allow": ["Edit"]}, D, ASK),
    ("1.114", "Bash: echo x > .git/hooks/pre-commit", {"allow": ["Bash"]}, D, ASK),
    ("1.114", "Bash: cp a .bashrc", {"allow": ["Bash"]}, D, ASK),
    ("1.114", "Read: .git/config", {}, D, ALLOW),
    ("1.121", "Bash: aws s3 ls", {"deny": ["Bash(aws *)"], "allow": ["Bash(aws s3 ls)"]}, D, DENY),
    ("1.122", "Bash: git push", {"deny": ["Bash(git push)"]}, B, DENY),
    ("1.123", "Bash: anything", {"allow": ["Bash(*)"]}, D, ALLOW),
    ("1.123", "Bash: anything", {"deny": ["Bash"]}, B, DENY),
    ("1.124", "mcp__github__get_issue", {"allow": ["mcp__github__get_*"]}, D, ALLOW),
    ("1.124", "mcp__github__get_issue", {"allow": ["mcp__*"]}, D, ASK),
    ("1.124", "mcp__github__get_issue", {"allow": ["mcp__git*__get_issue"]}, D, ASK),
    ("1.124", "mcp__github__get_issue", {"deny": ["mcp__*"]}, B, DENY),
    ("1.124", "Read: a.py", {"deny": ["*"]}, B, DENY),
    ("1.125", "Bash: npm run build", {"allow": ["Bash(npm run build)"]}, D, ALLOW),
    ("1.125", "Bash: npm run build x", {"allow": ["Bash(npm run build)"]}, D, ASK),
    ("1.125", "Bash: npm run test", {"allow": ["Bash(npm run test:*)"]}, D, ALLOW),
    ("1.125", "Bash: npm run test unit", {"allow": ["Bash(npm run test:*)"]}, D, ALLOW),
    ("1.125", "Bash: npm run testing", {"allow": ["Bash(npm run test:*)"]}, D, ASK),
    ("1.125", "Bash: npm run testing", {"allow": ["Bash(npm run test*)"]}, D, ALLOW),
    ("1.125", "Bash: git commit -m 'a b'", {"allow": ["Bash(git commit *)"]}, D, ALLOW),
    ("1.125", "Bash: git push origin main", {"allow": ["Bash(git * main)"]}, D, ALLOW),
    ("1.126", "Bash: npm test && npm run x", {"allow": ["Bash(npm test)"]}, D, ASK),
    ("1.126", "Bash: npm test | tail -5", {"allow": ["Bash(npm test)"]}, D, ALLOW),
    ("1.126", "Bash: npm test |& tee log", {"allow": ["Bash(npm test)", "Bash(tee *)"]}, D, ALLOW),
    ("1.126", "Bash: ls & npm test", {"deny": ["Bash(npm *)"]}, D, DENY),
    ("1.126", "Bash: ls\nnpm test", {"deny": ["Bash(npm *)"]}, D, DENY),
    ("1.126", "Bash: npm test $(rm -rf src)", {"allow": ["Bash(npm *)"]}, D, ASK),
    ("1.127", "Bash: timeout 30 npm test", {"allow": ["Bash(npm test)"]}, D, ALLOW),
    ("1.127", "Bash: time nice -n 5 nohup stdbuf -oL npm test", {"allow": ["Bash(npm test)"]}, D, ALLOW),
    ("1.127", "Bash: xargs grep foo", {"allow": ["Bash(grep *)"]}, D, ALLOW),
    ("1.127", "Bash: xargs -n1 npm test", {"allow": ["Bash(npm *)"]}, D, ASK),
    ("1.127", "Bash: NODE_ENV=test npm test", {"allow": ["Bash(npm test)"]}, D, ALLOW),
    ("1.127", "Bash: LD_PRELOAD=x npm test", {"allow": ["Bash(npm test)"]}, D, ASK),
    ("1.127", "Bash: LD_PRELOAD=x npm test", {"deny": ["Bash(npm test)"]}, D, DENY),
    ("1.127", "Bash: watch ls -l", {"allow": ["Bash(watch *)"]}, D, ASK),
    ("1.127", "Bash: watch ls -l", {"allow": ["Bash(watch ls -l)"]}, D, ALLOW),
    ("1.127", "Bash: find . -exec cat {} +", {"allow": ["Bash(find *)"]}, D, ASK),
    ("1.127", "Bash: find . -delete", {"allow": ["Bash(find *)"]}, D, ASK),
    ("1.127", "Bash: find . -name a.py", {}, D, ALLOW),
    ("1.127", f"Bash: echo {'a' * 10_000}", {"allow": ["Bash"]}, B, ASK),
    ("1.127", "Bash: echo 'a", {"allow": ["Bash"]}, B, ASK),
    ("1.128", "Bash: ls -la src && cat README.md | head -3", {}, P, ALLOW),
    ("1.128", "Bash: git status && git diff HEAD~1 | wc -l", {}, D, ALLOW),
    ("1.128", "Bash: git branch new", {}, D, ASK),
    ("1.128", "Bash: git diff --output=x", {}, D, ASK),
    ("1.128", "Bash: git -c core.pager=x log", {}, D, ASK),
    ("1.128", "Bash: cat /etc/passwd", {}, D, ASK),
    ("1.128", "Bash: cd /etc && cat passwd", {}, D, ASK),
    ("1.128", "Bash: cd src && ls", {}, D, ALLOW),
    ("1.128", "Bash: cd src && git status", {}, D, ASK),
    ("1.128", "Bash: cat $FILE", {}, D, ASK),
    ("1.128", "Bash: echo $FILE", {}, D, ASK),
    ("1.128", "Bash: echo $HOME", {}, D, ALLOW),
    ("1.128", "Bash: ls > out.txt", {}, D, ASK),
    ("1.128", "Bash: ls > out.txt", {}, E, ALLOW),
    ("1.128", "Bash: ls > ../out.txt", {}, E, ASK),
    ("1.128", "Bash: ls > out.txt", {"deny": ["Edit(out.txt)"], "allow": ["Bash"]}, E, DENY),
    ("1.128", "Bash: ls 2> /dev/null", {}, D, ALLOW),
    ("1.128", "Bash: cat < /etc/passwd", {}, D, ASK),
    ("1.128", "Bash: cat .env", {"deny": ["Read(.env)"]}, D, DENY),
    ("1.128", "Bash: cat .e*", {"deny": ["Read(.env)"]}, D, ASK),
    ("1.129", "Read: /etc/hosts", {"allow": ["Read(//etc/**)"]}, D, ALLOW),
    ("1.129", "Read: ~/notes/a.txt", {"allow": ["Read(~/notes/*.txt)"]}, D, ALLOW),
    ("1.129", "Edit: src/a/b.ts", {"allow": ["Edit(/src/**/*.ts)"]}, D, ALLOW),
    ("1.129", "Edit: lib/b.ts", {"allow": ["Edit(/src/**/*.ts)"]}, D, ASK),
    ("1.129", "Edit: src/a.py", {"allow": ["Edit(./src/**)"]}, D, ALLOW),
    ("1.129", "Write: src/a.py", {"allow": ["Edit(src/**)"]}, D, ALLOW),
    ("1.129", "NotebookEdit: src/a.ipynb", {"deny": ["Edit(src/**)"]}, B, DENY),
    ("1.129", "Edit: a/src/b.py", {"allow": ["Edit(src/**)"]}, D, ASK),
    ("1.129", "Edit: a/src/b.py", {"deny": ["Edit(src/**)"]}, E, DENY),
    ("1.129", "Edit: secret/key", {"deny": ["Read(secret/**)"]}, B, DENY),
    ("1.129", "Read: deep/down/.env", {"deny": ["Read(.env)"]}, B, DENY),
    ("1.129", "Read: src/../.env", {"deny": ["Read(./.env)"]}, B, DENY),
    ("1.129", "Grep: secret", {"deny": ["Read(./secret/**)"]}, B, DENY),
    ("1.130", "WebFetch: https://example.com/a", {"allow": ["WebFetch(domain:example.com)"]}, D, ALLOW),
    ("1.130", "WebFetch: https://EXAMPLE.com./a", {"deny": ["WebFetch(domain:example.com)"]}, B, DENY),
    ("1.130", "WebFetch: https://example.com@evil.com", {"allow": ["WebFetch(domain:example.com)"]}, D, ASK),
    ("1.130", "WebFetch: https://evil.com\\@example.com", {"allow": ["WebFetch"]}, B, ASK),
    ("1.130", "WebFetch: https://a.example.com", {"allow": ["WebFetch(domain:*.example.com)"]}, D, ALLOW),
    ("1.130", "Skill: deploy", {"allow": ["Skill(deploy)"]}, D, ALLOW),
    ("1.130", "Skill: deploy", {"deny": ["Skill(deploy *)"]}, B, DENY),
    ("1.130", "Agent: fork", {"deny": ["Agent(fork)"]}, B, DENY),
    ("1.130", "mcp__github__push", {"allow": ["mcp__github"]}, D, ALLOW),
    ("1.130", "mcp__github__push", {"allow": ["mcp__github__push"]}, D, ALLOW),
    ("1.130", "mcp__github__push", {"deny": ["mcp__github__*"]}, B, DENY),
    ("1.130", "mcp__githubs__push", {"allow": ["mcp__github"]}, D, ASK),
    ("1.130", "Bash: cd /etc", {"deny": ["Cd(//etc/**)"]}, B, DENY),
    ("check-1", "Bash: FOO=1 rm x && ls", {"deny": ["Bash(rm *)"], "allow": ["Bash"]}, B, DENY),
    ("check-1", "Bash: ls", {"deny": ["Bash(rm *)"], "allow": ["Bash"]}, B, ALLOW),
    ("CL-41", "Bash: ls && git push", {"deny": ["Bash(git push *)"]}, B, DENY),
    ("CL-41", "Bash: FOO=1 git push", {"deny": ["Bash(git push *)"]}, B, DENY),
    ("CL-41", "Bash: git -C x push", {"deny": ["Bash(git push *)"]}, B, DENY),
    ("CL-41", "Bash: git -c alias.p=push p", {"deny": ["Bash(git push *)"]}, B, ASK),
    ("CL-38", "mcp__a__b", {"deny": ["mcp__a"]}, B, DENY),
]


@pytest.mark.parametrize(
    ("subject", "rules", "mode", "effect"),
    [pytest.param(*row[1:], id=f"{row[0]}-{index}") for index, row in enumerate(ROWS)],
)
def test_the_documented_examples_are_decided_as_documented(subject: str, rules: Rules, mode: Mode, effect: str) -> None:
    """CL-38, CL-41; Behaviours (1), line 9, and Behaviours (12), line 6."""
    assert effect_of(subject, policy(**rules, mode=mode)) == effect


@pytest.mark.parametrize(
    "command",
    [
        "sudo -u bob rm x",
        "/bin/rm x",
        "r''m x",
        r"\rm x",
        '"rm" x',
        "bash -c 'rm x'",
        "sh -ec 'ls; rm x'",
        "eval rm x",
        "eval 'ls; rm' x",
        "find . -name a -exec rm {} ;",
        "xargs -0 -I{} rm {}",
        "env -i A=1 rm x",
        "env -S 'rm x'",
        "if true; then rm x; fi",
        "for f in a b; do rm $f; done",
        "f() { rm x; }; f",
        "(cd src; rm x)",
        "cat <(rm x)",
        "cat <<E\n$(rm x)\nE",
        "bash <<'E'\nrm x\nE",
        "echo `rm x`",
        'echo "a $(rm x) b"',
        "case a in *) rm x;; esac",
        "ssh host rm x",
        "trap 'rm x' EXIT",
        "while ! rm x; do :; done",
        "timeout -k 5 10 nice -n 3 rm x",
        "x=$(rm x)",
        "> out rm x",
        "setsid -f rm x",
        "ls |\n rm x",
        "time -p rm x",
        "${X:-$(rm x)}",
        "echo $((1 + $(rm x)))",
        "[[ -n $(rm x) ]]",
        "flock /tmp/lock -c 'rm x'",
        "bash rm x",
        "((rm x))",
    ],
)
def test_cl_41_what_is_denied_is_denied_however_it_is_wrapped(command: str) -> None:
    assert bash(command, policy(deny=["Bash(rm *)"], mode=Mode.BYPASS)).effect is Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        "$X x",
        "{rm,x}",
        "r? x",
        "echo rm x | sh",
        "bash < script",
        "eval $X",
        'bash -c "$X"',
        "$'\\x72m' x",
        "r$EMPTY'm' x",
    ],
)
def test_what_may_become_a_denied_command_is_asked_in_every_mode(command: str) -> None:
    assert bash(command, policy(deny=["Bash(rm *)"], allow=["Bash"], mode=Mode.BYPASS)).effect is Effect.ASK
    assert bash(command, policy(mode=Mode.BYPASS)).effect is Effect.ALLOW


@pytest.mark.parametrize(
    ("rule", "values", "effect"),
    [
        ("Agent(model:opus)", {"model": "opus"}, DENY),
        ("Agent(model:opus)", {"model": "sonnet"}, ALLOW),
        ("Agent(model:opus)", {}, ALLOW),
        ("Agent(model:op*)", {"model": "opus"}, DENY),
        ("Bash(run_in_background:true)", {"command": "ls", "run_in_background": True}, DENY),
        ("Bash(run_in_background:true)", {"command": "ls"}, ALLOW),
        ("mcp__a__b(force:true)", {"force": True}, DENY),
        ("mcp__a__b(force:true)", {"force": {"true": 1}}, ALLOW),
    ],
)
def test_a_parameter_rule_looks_at_one_scalar_input(rule: str, values: dict[str, Any], effect: str) -> None:
    assert call(rule.partition("(")[0], values, policy(deny=[rule], mode=Mode.BYPASS)).effect.value == effect


def test_a_bare_deny_hides_the_tool_and_a_scoped_one_does_not() -> None:
    held = policy(deny=["WebFetch", "Bash(rm *)", "mcp__a"])

    assert hidden_tools(held, ["WebFetch", "Bash", "Read", "mcp__a__b"]) == {"WebFetch", "mcp__a__b"}


@pytest.mark.parametrize("mode", list(Mode))
def test_cl_36_a_hook_cannot_lift_what_a_rule_denies_or_asks(mode: Mode) -> None:
    denies, asks = policy(deny=["Bash(ls)"], mode=mode), policy(ask=["Bash(ls)"], mode=mode)

    assert call("Bash", {"command": "ls"}, denies, hook=Effect.ALLOW).effect is Effect.DENY
    assert call("Bash", {"command": "ls"}, asks, hook=Effect.ALLOW).effect is not Effect.ALLOW
    assert call("Bash", {"command": "ls"}, denies, hook=Effect.ASK).effect is Effect.DENY
    assert call("Bash", {"command": "ls"}, policy(mode=mode), hook=Effect.DENY).effect is Effect.DENY


def test_a_hook_that_allows_spares_the_question() -> None:
    assert call("Bash", {"command": "npm test"}, policy(), hook=Effect.ALLOW).effect is Effect.ALLOW
    assert call("Bash", {"command": "rm -rf /"}, policy(), hook=Effect.ALLOW).effect is Effect.ASK


def test_a_link_is_allowed_by_both_its_names_and_denied_by_either() -> None:
    links = {f"{CWD}/link": "/etc/shadow"}

    assert call("Read", {"file_path": "link"}, policy(), links=links).effect is Effect.ASK
    assert call("Read", {"file_path": "link"}, policy(allow=["Read(link)"]), links=links).effect is Effect.ASK
    both = policy(allow=["Read(link)", "Read(//etc/shadow)"])
    assert call("Read", {"file_path": "link"}, both, links=links).effect is Effect.ALLOW
    denies = policy(deny=["Read(//etc/**)"], mode=Mode.BYPASS)
    assert call("Read", {"file_path": "link"}, denies, links=links).effect is Effect.DENY
    assert call("Bash", {"command": "cat link"}, denies, links=links).effect is Effect.DENY


@pytest.mark.parametrize(
    ("tool", "held", "always"),
    [
        ("deploy", policy(allow=["deploy"]), True),
        ("deploy", policy(allow=["deploy(staging)"]), False),
        ("deploy", policy(), False),
        ("deploy", policy(mode=Mode.BYPASS), True),
        ("deploy", policy(allow=["deploy"], ask=["deploy(production)"]), False),
        ("deploy", policy(allow=["deploy"], mode=Mode.PLAN), False),
        ("WebSearch", policy(allow=["WebSearch"], mode=Mode.PLAN), True),
        ("TodoWrite", policy(), True),
        ("mcp__git__log", policy(allow=["mcp__git"]), True),
        ("Read", policy(allow=["Read"]), False),
        ("Bash", policy(allow=["Bash"]), False),
    ],
)
def test_a_policy_knows_which_tools_it_always_allows(tool: str, held: Policy, always: bool) -> None:
    assert held.always_allows(tool, traits_of(tool)) is always
    assert held.with_mode(Mode.DEFAULT).always_allows("TodoWrite", traits_of("TodoWrite"))


@pytest.mark.parametrize(
    ("held", "path", "is_hidden"),
    [
        (policy(deny=["Read(.env)"]), f"{CWD}/deep/.env", True),
        (policy(deny=["Read(.env)"]), f"{CWD}/deep/env", False),
        (policy(ask=["Read(secret/**)"]), f"{CWD}/a/secret/key", True),
        (policy(deny=["Grep(*.pem)"]), f"{CWD}/x.pem", True),
        (policy(deny=["Read(//etc/shadow)"]), "/etc/shadow", True),
    ],
)
def test_a_search_leaves_out_what_rules_keep_from_being_read(held: Policy, path: str, *, is_hidden: bool) -> None:
    hides = files_hidden_from("Grep", held, CWD)
    assert hides is not None
    assert hides(path) is is_hidden


@pytest.mark.parametrize("held", [policy(), policy(deny=["Bash(rm *)", "Edit(a)"], allow=["Read(b)"])])
def test_without_such_rules_nothing_is_left_out(held: Policy) -> None:
    assert files_hidden_from("Grep", held, CWD) is None


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("grep -r key .", "ask"),
        ("grep -rn key src", "ask"),
        ("grep --recursive key", "ask"),
        ("grep -d recurse key .", "ask"),
        ("diff -r --no-dereference a b", "ask"),
        ("git grep key", "ask"),
        ("cd src && grep -ri key .", "ask"),
        ("grep key a.txt", "allow"),
        ("diff a b", "allow"),
        ("git log", "allow"),
    ],
)
def test_a_command_that_searches_folders_is_asked_about_where_files_may_not_be_read(command: str, effect: str) -> None:
    """It cannot be told to leave them out; without such a rule it runs as what only reads."""
    assert bash(command, policy(deny=["Read(.env)"])).effect.value == effect
    assert bash(command, policy(deny=["Edit(.env)"])).effect.value == "allow"
    assert bash(command, policy(deny=["Read(.env)"], allow=["Bash(grep *)", "Bash(cd *)"])).effect.value == (
        "allow" if "grep -" in command or effect == "allow" else effect
    )


async def test_no_thread_is_asked_where_no_path_counts() -> None:
    class NoThreads:
        async def run(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError(f"{function} was to run in a thread")

    held = policy(ask=["deploy(production)"])
    request = Request(tool="deploy", input={"place": "staging"}, cwd=CWD, policy=held)

    assert (await check(request, NoThreads())).effect is Effect.ASK


async def test_the_disk_is_asked_where_links_lead(tmp_path: Any) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "project" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "project" / "plain").write_text("x")
    cwd = str(tmp_path / "project")

    def reading(name: str) -> Request:
        return Request(tool="Read", input={"file_path": name}, cwd=cwd, policy=policy())

    assert (await check(reading("link"), InlineBlocking())).effect is Effect.ASK
    assert (await check(reading("plain"), InlineBlocking())).effect is Effect.ALLOW
    assert decide(reading("link")).effect is Effect.ALLOW  # without looking, a link is what it says
    assert (await check(reading("link"), InlineBlocking())).paths == (str(tmp_path / "secret"),)
    assert (await check(reading("../project/./plain"), InlineBlocking())).paths == (f"{cwd}/plain",)


def test_in_auto_a_classifier_is_asked_and_for_ask_rules_a_person() -> None:
    assert bash("npm test", policy(mode=Mode.AUTO)).reviewer == "classifier"
    assert bash("npm test", policy(ask=["Bash(npm *)"], mode=Mode.AUTO)).reviewer == "person"
    assert bash("rm -rf /", policy(mode=Mode.AUTO)).reviewer == "person"


def test_in_auto_what_goes_to_another_session_is_reviewed_and_mail_inside_is_not() -> None:
    far, near = {"to": "session:20261120-225103-k3f9qz", "message": "x"}, {"to": "main", "message": "x"}
    held = policy(mode=Mode.AUTO)

    assert (call("SendMessage", far, held).effect, call("SendMessage", far, held).reviewer) == (ASK, "classifier")
    assert call("SendMessage", near, held).effect is Effect.ALLOW
    assert call("SendMessage", far, policy()).effect is Effect.ALLOW
    assert not held.always_allows("Agent", traits_of("Agent"))
    assert policy().always_allows("Agent", traits_of("Agent"))


BROAD = [
    "Bash",
    "Bash(*)",
    "Bash(* --version)",
    "Bash(python*)",
    "Bash(python3.12:*)",
    "Bash(/usr/bin/node *)",
    "Agent",
]
BROAD += ["Bash(npm run *)", "Bash(npm run:*)", "Bash(bash -c *)", "Bash(sudo *)", "Agent(Explore)", "Task"]
BROAD += [
    "Bash(pyth*)",
    "Bash(pytho*:*)",
    "Bash(bas*)",
    "Bash(npm r*)",
    "Bash(npm *)",
    "Bash(uv:*)",
    "Bash(/usr/bin/*)",
]
BROAD += ["Bash(sudo -u bob *)", "Bash(env A=1 *)", "Bash(timeout 5 *)", "Bash(nohup *)", "Bash(nice -n 5 *)"]
BROAD += [
    "Bash(python3 -X dev *)",
    "Bash(python -W error -X dev:*)",
    "Bash(node --require ./x.js *)",
    "Bash(bash -o pipefail *)",
]
BROAD += [
    "Bash(node --input-type=module *)",
    "Bash(python3 -Wignore::UserWarning *)",
    "Bash(ssh -p 22 *)",
    "Bash(awk -F : *)",
]
BROAD += [
    "Bash(sudo python3 *)",
    "Bash(env A=1 python3 -X dev *)",
    "Bash(timeout -k 5 9 bash -c *)",
    "Bash(nohup npm run *)",
]
BROAD += ["Bash(sudo -n /usr/bin/node *)"]
BROAD += [
    "Bash(sudo pyth*)",
    "Bash(/usr/bin/sudo -u bob /usr/bin/pyth*)",
    "Bash(env A=1 timeout 5 bas*)",
    "Bash(nohup npm r*)",
    "Bash(sudo /usr/bin/*)",
    "Bash(sudo s*:*)",
]
NARROW = [
    "Bash(npm test)",
    "Bash(npm test *)",
    "Bash(python3 tool.py)",
    "Bash(python -m pytest *)",
    "Bash(npm run build *)",
]
NARROW += [
    "Bash(pytest*)",
    "Bash(./scripts/*)",
    "Bash(sudo systemctl status *)",
    "Bash(timeout 5 make *)",
    "Bash(git p*)",
]
NARROW += ["Bash(python3 -X dev tool.py *)", "Bash(python3 -X dev -m pytest *)", "Bash(node --inspect tool.js *)"]
NARROW += [
    "Bash(env A=1 make *)",
    "Bash(awk -f tool.awk *)",
    "Bash(bash -o pipefail tool.sh *)",
    "Bash(sudo -u bob systemctl status *)",
]
NARROW += ["Bash(sudo systemctl*)", "Bash(env A=1 pytest*)", "Bash(sudo ./scripts/*)", "Bash(timeout 5 git p*)"]
NARROW += ["Bash(git *)", "Edit", "Read(../other/**)", "mcp__github__*", "WebFetch(domain:example.com)"]


@pytest.mark.parametrize(("rule", "counts"), [*((one, False) for one in BROAD), *((one, True) for one in NARROW)])
def test_in_auto_broad_allow_rules_do_not_count_and_count_again_elsewhere(rule: str, *, counts: bool) -> None:
    """What would let any program run or any agent start is reviewed; narrow rules carry over."""
    held = policy(allow=[rule], mode=Mode.AUTO)

    assert bool(list(held.of(Effect.ALLOW))) is counts
    assert list(held.with_mode(Mode.DEFAULT).of(Effect.ALLOW))


def test_a_verdict_names_the_rule_and_where_it_stands() -> None:
    verdict = bash("ls && git push", policy(deny=["Bash(git push *)"]))

    assert str(verdict.rule) == "Bash(git push *)"
    assert verdict.rule is not None
    assert verdict.rule.source.scope is Scope.PROJECT
    assert "git push" in verdict.reason
