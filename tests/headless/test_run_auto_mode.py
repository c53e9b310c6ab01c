"""`greenroom run --permission-mode auto`: a reviewer decides, and where it does not allow, a run ends with a clear reason."""

from __future__ import annotations

import json

from greenroom.models import AnswerLike, Call, WrittenAnswer
from tests.cli.place import Place

AUTO = ("--permission-mode", "auto")
BLOCK = json.dumps({"verdict": "block", "reason": "it pushes to the main branch"})


def push(number: int) -> WrittenAnswer:
    return WrittenAnswer([Call("Bash", {"command": f"git push origin main # {number}"}, id=f"toolu_{number}")])


def test_a_call_that_is_blocked_does_not_run_and_the_answer_comes(place: Place) -> None:
    done, requests = place.run(
        [push(1), BLOCK, "I left the push to you."], "Push it.", *AUTO, "--output-format", "json"
    )

    assert (done.code, done.result["result"]) == (0, "I left the push to you.")
    assert [permission_denial["tool_name"] for permission_denial in done.result["permission_denials"]] == ["Bash"]
    review = requests[1].body
    assert "tools" not in review or review["tools"] == []
    assert '{"user": "Push it."}' in json.dumps(review["messages"][0]["content"]).replace('\\"', '"')
    result = requests[2].body["messages"][-1]["content"][0]
    assert "auto mode blocks it: it pushes to the main branch" in json.dumps(result)


def test_after_three_blocks_a_run_without_a_person_ends_and_says_why(place: Place) -> None:
    script: list[AnswerLike] = [push(1), BLOCK, push(2), BLOCK, push(3), BLOCK]
    done, _ = place.run(script, "Push it.", *AUTO)

    assert done.code == 1
    assert "nobody can be asked in this session; the last was Bash: auto mode blocks it: it pushes" in done.err
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1
