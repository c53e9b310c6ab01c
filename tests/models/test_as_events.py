"""Events of answers: those of models that have none of their own are as the provider's would be."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import attrs
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.models import (
    Call,
    ModelRequest,
    ModelResponse,
    PlaybookModel,
    Say,
    ScriptedModel,
    Think,
    WrittenAnswer,
    retrying,
    with_events,
)
from greenroom.models._messages_api import fold
from greenroom.models._response_assembly import Assembly
from greenroom.models._scripted import ScriptStep
from greenroom.models.recordings._plain_values import plain
from greenroom.testing import StreamReply, open_messages_server
from greenroom.testing._messages_script import events_of
from tests.models.situations import HELLO, claude, provider_error

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
CALLS = st.builds(Call, st.sampled_from(["Read", "Grep"]), st.dictionaries(TEXTS, TEXTS, max_size=2))
PARTS = st.one_of(st.builds(Say, TEXTS), st.builds(Think, TEXTS), CALLS)


def are_apart(parts: list[Say | Think | Call]) -> bool:
    """Whether no two texts, and no two thoughts, follow each other: of these, deltas do not tell where one ends."""
    kinds = [type(part) for part in parts]
    return all(one is Call or one is not next_one for one, next_one in pairwise(kinds))


def listening() -> tuple[ModelRequest, list[Mapping[str, Any]]]:
    heard: list[Mapping[str, Any]] = []
    return attrs.evolve(HELLO, on_event=heard.append), heard


async def answer_of(model: Any, request: ModelRequest) -> ModelResponse:
    async with model.open(), model.stream(request) as stream:
        response: ModelResponse = await stream.wait_response()
        return response


@given(st.lists(PARTS, max_size=4).filter(are_apart))
def test_events_made_of_deltas_come_to_the_answer_that_they_are_made_of(parts: list[Say | Think | Call]) -> None:
    request, heard = listening()

    response = trio.run(answer_of, with_events(ScriptedModel([WrittenAnswer(parts)])), request)

    assembly = Assembly("scripted")
    for event in heard:
        fold(assembly, dict(event))
    again = assembly.so_far
    assert [again.text, again.tool_uses] == [response.text, response.tool_uses]
    assert [again.stop_reason, again.usage] == [response.stop_reason, response.usage]
    assert [again.model, again.id] == [response.model, response.id]
    assert [heard[0]["type"], heard[-1]["type"]] == ["message_start", "message_stop"]
    opened = [line["index"] for line in heard if line["type"] == "content_block_start"]
    assert opened == [line["index"] for line in heard if line["type"] == "content_block_stop"] == [*range(len(parts))]


async def test_the_events_of_claude_are_those_that_the_provider_sent() -> None:
    reply = StreamReply(answer=[Think("Hm.", "sig"), Say("I look."), Call("Read", {"file_path": "a"})])
    request, heard = listening()

    async with open_messages_server([reply]) as server:
        await answer_of(claude(server), request)

    assert heard == [event for event in events_of(reply) if event["type"] != "ping"]


async def test_an_answer_that_is_begun_anew_has_its_events_from_the_start() -> None:
    cut = ScriptStep(answer="Hel", error=provider_error("connection"), error_after=2)
    model = retrying(ScriptedModel([cut, "Hello."]))
    request, heard = listening()

    with trio.fail_after(5):
        await answer_of(with_events(model), request)

    starts = [at for at, one in enumerate(heard) if one["type"] == "message_start"]
    pieces = [line["delta"]["text"] for line in heard[starts[-1] :] if line["type"] == "content_block_delta"]
    assert (len(starts), "".join(pieces), heard[-1]["type"]) == (2, "Hello.", "message_stop")
    assert [line["index"] for line in heard if "index" in line] == [0] * len(
        [line for line in heard if "index" in line]
    )


async def test_a_model_whose_events_nobody_hears_is_asked_as_it_was() -> None:
    """The short cut of a canned answer, which makes no deltas, is taken."""
    model = PlaybookModel({"": lambda _: "Hello."})

    assert model.stream(HELLO).__class__ is with_events(model).stream(HELLO).__class__
    assert await answer_of(with_events(model), HELLO) == await answer_of(model, HELLO)


def test_who_listens_is_no_part_of_a_request() -> None:
    request, _ = listening()

    assert request == HELLO
    assert plain(request) == plain(HELLO)
    assert repr(request) == repr(HELLO)
