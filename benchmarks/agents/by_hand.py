"""The scenario without a runtime: the least that somebody would write on Trio."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import trio

from benchmarks.agents.scenario import ARGUMENTS, LATENCY_S, ROUNDS, SCHEMA
from benchmarks.wheel import Wheel
from greenroom.core.ports import InlineBlocking
from greenroom.models import Message, Model, ModelRequest, ToolResultBlock, ToolSchema
from greenroom.tools import FunctionTool, ToolContext

Nap = Callable[[float], Awaitable[None]]
_TYPES: Final = {"integer": int, "string": str}


async def bare(agents: int, nap: Nap = trio.sleep) -> None:
    """Wait for the model, decode what it says, check it, call the tool, keep the conversation."""

    async def model(history: list[dict[str, Any]]) -> dict[str, Any]:
        await nap(LATENCY_S)
        if len(history) >= 2 * ROUNDS - 1:
            return {"role": "assistant", "content": "done"}
        return {"role": "assistant", "call": {"id": f"call_{len(history)}", "name": "add", "arguments": ARGUMENTS}}

    async def agent() -> None:
        history: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        while True:
            said = await model(history)
            history.append(said)
            call = said.get("call")
            if call is None:
                return
            values = json.loads(call["arguments"])
            check(values, SCHEMA)
            result = str(values["a"] + values["b"])
            history.append({"role": "user", "result": {"id": call["id"], "content": result}})

    async with trio.open_nursery() as nursery:
        for _ in range(agents):
            nursery.start_soon(agent)


def check(values: Any, schema: Mapping[str, Any]) -> None:
    """Check that values are an object of this schema; as much of JSON Schema as the scenario needs."""
    if type(values) is not dict:
        raise TypeError("the input is no object")
    properties = schema["properties"]
    for name in schema["required"]:
        if name not in values:
            raise TypeError(f"{name} is missing")
    for name, value in values.items():
        if name not in properties or type(value) is not _TYPES[properties[name]["type"]]:
            raise TypeError(f"{name} does not fit")


async def bare_on_a_wheel(agents: int) -> None:
    """The same, with one task that sleeps for all models."""
    wheel = Wheel()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wheel.run)
        await bare(agents, wheel.sleep)
        nursery.cancel_scope.cancel()


async def same_model(agents: int, model: Model, tool: FunctionTool) -> None:
    """The loop by hand on the model and the tool that our agents use: what is left out is the runtime alone."""
    schemas = (ToolSchema(tool.name, tool.description, tool.input_schema),)
    context = ToolContext(cwd=Path("/"), roots=(Path("/"),), actor="", tool_use_id="", blocking=InlineBlocking())

    async def agent(number: int) -> None:
        messages = [Message.user("go")]
        while True:
            request = ModelRequest(messages=tuple(messages), tools=schemas, agent=str(number))
            async with model.stream(request) as stream:
                response = await stream.wait_response()
            messages.append(response.message)
            calls = response.tool_uses
            if not calls:
                return
            results = [ToolResultBlock(call.id, await tool.call(call.input, context)) for call in calls]
            messages.append(Message("user", tuple(results)))

    async with trio.open_nursery() as nursery:
        for number in range(agents):
            nursery.start_soon(agent, number)
