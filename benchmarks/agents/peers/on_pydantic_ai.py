"""pydantic-ai, as a peer: one shared agent on a `FunctionModel`, one run for each of ours."""

from __future__ import annotations

import asyncio
from typing import Final

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.agents.scenario import ARGUMENTS, LATENCY_S, ROUNDS
from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve


async def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    await asyncio.sleep(LATENCY_S)
    if len(messages) >= 2 * ROUNDS - 1:
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("add", ARGUMENTS, tool_call_id=f"call_{len(messages)}")])


agent: Final = Agent(FunctionModel(model), instructions="Add.")


@agent.tool_plain
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def use_agent() -> None:
    result = await agent.run("go")
    assert result.output == "done"
    assert len(result.all_messages()) == 2 * ROUNDS


async def tools(agents: int) -> Stopwatch:
    with Stopwatch() as took:
        await asyncio.gather(*[use_agent() for _ in range(agents)])
    return took


BENCHES: Final[dict[str, Bench]] = {"tools": lambda agents: asyncio.run(tools(agents))}

if __name__ == "__main__":
    serve(BENCHES, "pydantic-ai-slim")
