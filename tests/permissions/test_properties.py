"""Properties of every command, rule and call."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import assume, example, given
from hypothesis import strategies as st

from greenroom.permissions import (
    Effect,
    Mode,
    Request,
    Scope,
    Source,
    Unparsable,
    apply_updates,
    decide,
    parse_rule,
    parse_script,
    traits_of,
)
from greenroom.permissions._decide import paths_of
from greenroom.permissions._text_patterns import TextPattern
from tests.permissions.policies import CWD, bash, call, policy

WRAPPERS: Final = st.sampled_from(
    [
        "{}",
        "ls && {}",
        "{}; ls",
        "ls | {}",
        "{} &",
        "ls\n{}",
        "({})",
        "{{ {}; }}",
        "if ls; then {}; fi",
        "while ls; do {}; break; done",
        "for i in 1 2; do {}; done",
        "case x in x) {};; esac",
        "f() {{ {}; }}; f",
        "echo $({})",
        'echo "$({})"',
        "cat <({})",
        "! {}",
        "x=$({}) ls",
        "cat <<E\n$({})\nE\n",
        "[[ -n $({}) ]] || ls",
        "echo $(( $({}) + 1 ))",
        "echo ${{x:-$({})}}",
    ]
)
PREFIXES: Final = st.sampled_from([
    "FOO=1 ", "timeout 5 ", "nice -n 3 ", "nohup ", "env A=b ", "sudo -u bob ", "xargs ", "command ", "exec ", "setsid ",
    "stdbuf -oL ", "doas ", "env -i ", ">out ", "2>&1 ", "builtin ", "watch ", "flock /tmp/l ", "find . -exec ", "/usr/bin/",
])  # fmt: skip
SHELL_TEXT: Final = st.text(alphabet=st.sampled_from("ab1 \n\t;&|<>(){}[]$`'\"\\*?~#!=:-/rm.,EOF"), max_size=40)


@st.composite
def disguised(draw: st.DrawFn, command: str) -> str:
    """A script that runs `command`, which itself has no quotes, wrapped and combined."""
    text = "".join(draw(st.lists(PREFIXES.filter(lambda one: one != "/usr/bin/"), max_size=3)))
    text += draw(st.sampled_from(["", "/usr/bin/", "\\"])) + command
    for _ in range(draw(st.integers(0, 3))):
        wrapper = draw(WRAPPERS)
        # `$((...))` would be arithmetic, in which bash runs no command.
        text = wrapper.format(f" {text}" if "$({}" in wrapper and text.startswith("(") else text)
    return text


@given(disguised("danger --now"))
def test_a_denied_command_is_denied_however_it_is_wrapped_and_combined(script: str) -> None:
    verdict = bash(script, policy(deny=["Bash(danger *)"], allow=["Bash"], mode=Mode.BYPASS))

    try:
        parse_script(script)
    except Unparsable:
        assert verdict.effect is not Effect.ALLOW, script  # a here-document in a here-document, for example
    else:
        assert verdict.effect is Effect.DENY, script


@given(disguised("danger --now"), st.sampled_from(list(Mode)))
def test_a_command_is_allowed_only_if_every_part_is(script: str, mode: Mode) -> None:
    assume(mode is not Mode.BYPASS)

    verdict = bash(script, policy(allow=["Bash(ls *)", "Bash(f)", "Bash(echo *)", "Edit"], mode=mode))

    assert verdict.effect is not Effect.ALLOW, script


@given(SHELL_TEXT, st.sampled_from(list(Mode)))
@example("a" * 10_001, Mode.BYPASS)
@example("(" * 5_000, Mode.BYPASS)
@example("$(" * 5_000, Mode.BYPASS)
@example("`" * 5_000, Mode.BYPASS)
@example("{" * 9_999, Mode.BYPASS)
@example("[[ " * 3_000, Mode.BYPASS)
@example("sudo " * 2_000, Mode.BYPASS)
@example("a<<E\n" * 1_500, Mode.BYPASS)
@example("${" * 4_000, Mode.BYPASS)
@example('"$(' * 3_000, Mode.BYPASS)
@example("case x in " * 900, Mode.BYPASS)
def test_what_cannot_be_read_is_asked_and_nothing_raises(script: str, mode: Mode) -> None:
    try:
        parse_script(script)
    except Unparsable:
        expected = Effect.DENY if mode is Mode.DONT_ASK else Effect.ASK
        assert bash(script, policy(allow=["Bash"], mode=mode)).effect is expected
    else:
        bash(script, policy(allow=["Bash"], deny=["Bash(rm *)"], mode=mode))


JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES: Final = st.sampled_from(
    ["Bash", "Read", "Edit", "Grep", "Glob", "WebFetch", "Agent", "Skill", "mcp__a__b", "Task", "Cd", "Odd", "*"]
)
RULES: Final = st.one_of(JSON, NAMES, st.builds("{}({})".format, NAMES, st.text(max_size=12)))
KEYS: Final = st.sampled_from(
    ["command", "file_path", "path", "pattern", "url", "subagent_type", "skill", "args", "model"]
)


@given(
    NAMES, st.dictionaries(KEYS, JSON | st.text(max_size=20)), st.lists(RULES, max_size=3), st.lists(RULES, max_size=3),
    st.sampled_from(list(Mode)),
)  # fmt: skip
def test_deciding_never_raises_and_is_pure(
    tool: str, values: dict[str, Any], allow: list[Any], deny: list[Any], mode: Mode
) -> None:
    request = Request(tool=tool, input=values, cwd=CWD, policy=policy(allow=allow, deny=deny, mode=mode))

    assert decide(request) == decide(request)
    paths_of(request)


@given(
    NAMES, st.dictionaries(KEYS, JSON | st.text(max_size=20)), st.lists(RULES, max_size=2), st.lists(RULES, max_size=2),
    st.lists(RULES, max_size=1), st.sampled_from(list(Mode)), st.booleans(), st.sampled_from([None, Effect.ALLOW]),
)  # fmt: skip
@example("deploy", {}, [], [], [], Mode.DEFAULT, False, None)
@example("deploy", {"mode": "now"}, [], [], ["deploy(mode:now)"], Mode.BYPASS, False, None)
@example("deploy", {}, [], [], ["dep*"], Mode.BYPASS, True, None)
@example("mcp__a__b", {}, [], ["mcp__a"], [], Mode.DEFAULT, False, None)
@example("Task", {"subagent_type": "x"}, [], [], ["Agent(x)"], Mode.DEFAULT, False, None)
@example("WebFetch", {"url": "a b"}, [], [], [], Mode.BYPASS, False, None)
@example("Read", {"file_path": "~bob/x"}, [], [], [], Mode.BYPASS, False, None)
@example("Write", {"file_path": ".git/config"}, [], [], [], Mode.ACCEPT_EDITS, False, None)
@example("Bash", {"command": "rm -rf /"}, [], [], [], Mode.BYPASS, False, Effect.ALLOW)
@example("AskUserQuestion", {}, [], [], [], Mode.BYPASS, False, Effect.ALLOW)
@example("deploy", {}, [], [], [], Mode.PLAN, False, None)
def test_what_a_policy_always_allows_runs_whatever_the_call_and_no_path_counts(
    tool: str, values: dict[str, Any], allow: list[Any], ask: list[Any], deny: list[Any], mode: Mode, is_read_only: bool,
    hook: Effect | None,
) -> None:  # fmt: skip
    held = policy(allow=[*allow, tool], ask=ask, deny=deny, mode=mode)
    traits = traits_of(tool, is_read_only=is_read_only)
    request = Request(tool=tool, input=values, cwd=CWD, policy=held, traits=traits, hook=hook)

    if held.always_allows(tool, traits):
        assert decide(request).effect is Effect.ALLOW
        assert paths_of(request) == ()


@given(
    NAMES, st.dictionaries(KEYS, JSON | st.text(max_size=20)), st.lists(RULES, max_size=3), RULES,
    st.sampled_from(["ask", "deny"]), st.sampled_from(list(Mode)),
)  # fmt: skip
def test_one_more_deny_or_ask_rule_however_bad_never_opens_anything(
    tool: str, values: dict[str, Any], allow: list[Any], more: Any, effect: str, mode: Mode
) -> None:
    before = call(tool, values, policy(allow=allow, mode=mode)).effect
    ask, deny = ([more], []) if effect == "ask" else ([], [more])
    after = call(tool, values, policy(allow=allow, ask=ask, deny=deny, mode=mode)).effect

    order = [Effect.ALLOW, Effect.ASK, Effect.DENY]
    assert order.index(after) >= order.index(before)


@given(RULES, st.sampled_from(list(Effect)))
def test_a_rule_is_read_or_has_one_diagnostic(text: Any, effect: Effect) -> None:
    rule, problem = parse_rule(text, effect, Source(scope=Scope.USER), where="permissions.x[0]")

    assert (problem is None) or ("permissions.x[0]" in str(problem) and "\n" not in str(problem))
    if effect is Effect.ALLOW:
        assert (rule is None) == (problem is not None)
    else:
        assert rule is not None
        assert problem is None or rule.effect is Effect.ASK


@given(
    st.sampled_from(["Bash", "Read", "Edit", "WebFetch", "Grep", "Odd", "mcp__a__b", "Skill"]),
    st.sampled_from([
        "npm test", "npm run x && git push origin main | make all", "a 'b c' > out.txt", "cat /etc/hosts", "timeout 5 cargo build",
        "a; b; c; d; e; f", "X=1 y", "ls *.py | frob *.c", "frob a:*", "rm a", "/etc/hosts", "../x/y.py", "src/a.py",
        "https://example.com/x", "~/a/b", "frob (a)", "cd .. && ls", "echo x > ../y",
    ]),
)  # fmt: skip
def test_after_its_suggestions_the_same_call_runs(tool: str, subject: str) -> None:
    keys = {"Bash": "command", "WebFetch": "url", "Grep": "path", "Skill": "skill"}
    values = {keys.get(tool, "file_path"): subject}
    held = policy()
    verdict = call(tool, values, held)
    assume(verdict.effect is Effect.ASK and verdict.suggestions)

    answered = apply_updates(held, verdict.suggestions, cwd=CWD)

    assert call(tool, values, answered).effect is Effect.ALLOW
    assert all(len(suggestion.rules) <= 5 for suggestion in verdict.suggestions)


@given(st.text(alphabet="ab* ", max_size=8), st.text(alphabet="ab ", max_size=8), st.booleans())
def test_a_text_without_gaps_may_match_exactly_when_it_matches(pattern: str, text: str, has_tail: bool) -> None:
    one = TextPattern(pattern, has_tail=has_tail)

    assert one.matches(text) == one.may_match((text,))


@given(st.text(alphabet="ab* ", max_size=6), st.text(alphabet="ab ", max_size=4), st.text(alphabet="ab ", max_size=4))
def test_what_matches_with_a_gap_filled_may_match(pattern: str, filled: str, rest: str) -> None:
    one = TextPattern(pattern)

    assert one.may_match((None, rest)) or not one.matches(filled + rest)
