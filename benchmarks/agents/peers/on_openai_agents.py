"""OpenAI's Agents SDK, as a peer: an agent and a fake model for each of ours, tracing off."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from benchmarks.agents.scenario import ARGUMENTS, LATENCY_S, ROUNDS
from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve

set_tracing_disabled(True)


class Fake(Model):
    def __init__(self) -> None:
        self.asked = 0

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        await asyncio.sleep(LATENCY_S)
        self.asked += 1
        if self.asked >= ROUNDS:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            said: Any = ResponseOutputMessage(
                id=f"message_{self.asked}", role="assistant", status="completed", type="message", content=[text]
            )
        else:
            said = ResponseFunctionToolCall(
                arguments=ARGUMENTS, call_id=f"call_{self.asked}", name="add", type="function_call"
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@function_tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def use_agent() -> None:
    model = Fake()
    agent = Agent(name="adder", instructions="Add.", model=model, tools=[add])
    result = await Runner.run(agent, "go", max_turns=ROUNDS + 1)
    assert result.final_output == "done"
    assert model.asked == ROUNDS


async def tools(agents: int) -> Stopwatch:
    with Stopwatch() as took:
        await asyncio.gather(*[use_agent() for _ in range(agents)])
    return took


BENCHES: Final[dict[str, Bench]] = {"tools": lambda agents: asyncio.run(tools(agents))}

if __name__ == "__main__":
    serve(BENCHES, "openai-agents")
