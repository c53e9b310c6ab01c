"""`greenroom rerun` of runs of `greenroom run`: from the arguments, answers and results on their record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest

from greenroom.cli import main
from greenroom.cli._run_flags import AS_BY_DEFAULT, invocation_of, read_invocation
from greenroom.models import Call, WrittenAnswer
from greenroom.testing import ReceivedRequest
from greenroom.testing._messages_script import ReplyLike
from tests.cli.place import Place
from tests.mcp.real import EVERYTHING
from tests.mcp.warm import warm_command
from tests.reruns.outside import watched_outside

pytestmark = pytest.mark.promise("RR-7")


def calls(*wanted: Call) -> WrittenAnswer:
    return WrittenAnswer(list(wanted))


def again(
    place: Place, *arguments: str, environ: dict[str, str] | None = None
) -> tuple[int, dict[str, Any], list[str]]:
    """Do the only run again, and return the exit code, the report, and what got out."""
    (run,) = place.runs()
    place.captured.readouterr()
    with watched_outside() as outside:
        code = main(["rerun", str(run), "--json", *arguments])
    out, err = place.captured.readouterr()
    assert err == ""
    report = json.loads(out)
    print(report["difference"])
    return code, report, outside


def recorded(place: Place, script: Sequence[ReplyLike], *arguments: str, stdin: str = "") -> None:
    done, _ = place.run(list(script), "--record", *arguments, stdin=stdin)
    assert done.code == 0, done.err


def test_arguments_on_record_hold_no_values_for_servers_and_hooks() -> None:
    """A record is kept beside tests; nothing is started in a re-run, so it needs no token."""
    servers = {"mcpServers": {"a": {"url": "https://a", "headers": {"Authorization": "Bearer planted"}}}}
    hook = {"type": "command", "command": "true", "env": {"TOKEN": "planted", "REFERENCE": "${TOKEN}"}}
    given = {"hooks": {"Stop": [{"hooks": [hook]}]}, "env": {"MODE": "quick"}}
    flags = attrs.evolve(
        AS_BY_DEFAULT, mcp_config=[json.dumps(servers)], settings=json.dumps(given), page=True, port=8_000
    )

    text = invocation_of(flags, "Begin.", 1.0)
    again, prompt, _ = read_invocation(text, "a run")

    assert "planted" not in text
    assert "${TOKEN}" in text
    assert json.loads(again.settings or "")["env"] == {"MODE": "quick"}
    assert (prompt, again.page, again.port) == ("Begin.", False, None)


BASH = Call("Bash", {"command": "echo one > made.txt; cat made.txt"}, id="toolu_b")


def test_a_run_is_done_again_from_its_arguments(place: Place) -> None:
    """The files that its flags named are gone, and the project is as it was before."""
    (place.root / "more.json").write_text(json.dumps({"permissions": {"allow": ["Bash"]}}))
    recorded(
        place,
        [calls(BASH), "It is one."],
        *("--settings", str(place.root / "more.json"), "--append-system-prompt", "Be brief.", "What is it?"),
        stdin="from a pipe",
    )
    (place.root / "more.json").unlink()
    (place.folder / "made.txt").unlink()

    code, report, outside = again(place)

    assert report["difference"] is None
    assert (code, report["tokens"]) == (0, 0)
    assert outside == []
    assert not (place.folder / "made.txt").exists()


def agent(prompt: str, *, in_background: bool = False) -> Call:
    more = {"run_in_background": True} if in_background else {}
    return Call("Agent", {"description": "look", "prompt": prompt, "subagent_type": "general-purpose", **more})


def told(make: Callable[..., list[Call]]) -> Callable[[ReceivedRequest], WrittenAnswer]:
    """Return an answer that is made from the ids of all background commands so far."""

    def answer(request: ReceivedRequest) -> WrittenAnswer:
        ids = re.findall(r"with ID: (\w+)", json.dumps(request.body["messages"]))
        return calls(*make(*dict.fromkeys(ids)))

    return answer


HOOKS = {
    event: [{"hooks": [{"type": "command", "command": f"echo noted {event}"}]}]
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
}
ALLOWED = ("--allowed-tools", "Bash,Write,Read,Agent,TaskOutput")

COMMAND, *ARGUMENTS = warm_command(EVERYTHING)
SERVERS = json.dumps({"mcpServers": {"all": {"command": COMMAND, "args": ARGUMENTS}}})

KINDS: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "an agent in the foreground": ([calls(agent("Look.")), "Found it.", "Done."], ("Begin.",)),
    "an agent in the background": (
        [calls(agent("Look.", in_background=True)), "Meanwhile.", "Found it.", "Done."],
        ("Begin.",),
    ),
    "a command in the background": (
        [calls(Call("Bash", {"command": "echo quick", "run_in_background": True})), "Wait for it.", "It is done."],
        (*ALLOWED, "Begin."),
    ),
    "a command in the background that is waited for and one that is stopped": (
        [
            calls(
                Call("Bash", {"command": "sleep 0.2; echo later", "run_in_background": True}, id="toolu_s"),
                Call("Bash", {"command": "echo forever; sleep 50", "run_in_background": True}, id="toolu_t"),
            ),
            told(lambda one, two: [Call("TaskOutput", {"task_id": one}), Call("TaskStop", {"task_id": two})]),
            calls(Call("Bash", {"command": "false", "run_in_background": True})),
            told(lambda _, __, three: [Call("TaskOutput", {"task_id": three})]),
            "Both are done.",
        ],
        (*ALLOWED, "Begin."),
    ),
    "a command that is moved to the background": (
        [
            calls(Call("Bash", {"command": "true; sleep 1.2; echo late", "timeout": 500})),
            "Wait for it.",
            "It is done.",
        ],
        (*ALLOWED, "Begin."),
    ),
    "a monitor": (
        [
            calls(Call("Monitor", {"command": "echo a; sleep 0.5; echo b; exit 3", "description": "letters"})),
            *["I see."] * 6,
        ],
        ("--allowed-tools", "Monitor", "Begin."),
    ),
    "a tool of a server": (
        [
            calls(Call("mcp__all__echo", {"text": "hello"}), Call("mcp__all__add", {"a": 1, "b": 2})),
            calls(Call("mcp__all__boom", {}), Call("mcp__all__picture", {})),
            calls(Call("mcp__all__learn", {})),
            calls(Call("mcp__all__trick", {})),
            "Done.",
        ],
        ("--mcp-config", SERVERS, "--allowed-tools", "mcp__all", "Begin."),
    ),
    "a prompt of a server": (["Done."], ("--mcp-config", SERVERS, "/mcp__all__talk")),
    "a server that cannot be started": (
        ["Done."],
        ("--mcp-config", json.dumps({"mcpServers": {"none": {"command": "/nonexistent/program"}}}), "Begin."),
    ),
    "hooks": ([calls(BASH), "Done."], (*ALLOWED, "--settings", json.dumps({"hooks": HOOKS}), "--trust", "Begin.")),
    "an answer in a form": (
        [calls(Call("StructuredOutput", {"n": 1})), "Done."],
        (
            "--output-format",
            "json",
            "--json-schema",
            json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}}),
            "Begin.",
        ),
    ),
    "a refused call": ([calls(BASH), "Not allowed."], ("Begin.",)),
    "no more rounds": ([calls(Call("Read", {"file_path": "a.txt"}))], ("--max-turns", "1", "Begin.")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_work_are_done_again(place: Place, kind: str) -> None:
    script, arguments = KINDS[kind]
    left = list(script)

    def answer(request: ReceivedRequest) -> Any:
        reply = left.pop(0)
        return reply(request) if callable(reply) else reply

    place.run(answer, "--record", *arguments)

    code, report, outside = again(place)

    assert report["difference"] is None
    assert (code, outside) == (0, [])


def test_prompts_of_a_program_are_refused(place: Place) -> None:
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "Hello."}})
    recorded(place, ["Hi."], "--input-format", "stream-json", "--output-format", "stream-json", stdin=f"{line}\n")
    (run,) = place.runs()

    assert main(["rerun", str(run)]) == 2
    assert "--input-format stream-json" in place.captured.readouterr().err


def test_arguments_that_do_not_fit_this_version_are_refused(place: Place) -> None:
    recorded(place, ["Hi."], "Hello.")
    (run,) = place.runs()
    record = run / "effects.jsonl"
    record.write_text(record.read_text().replace('{\\"run\\": {', '{\\"run\\": {\\"unheard\\": 1, '))

    assert main(["rerun", str(run)]) == 2
    err = place.captured.readouterr().err
    assert "do not fit this version" in err
    assert len(err.splitlines()) == 1
    assert not (run / "reruns").exists()
