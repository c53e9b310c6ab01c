"""AutoGen AgentChat, as a peer: an `AssistantAgent` with a fake client for each of ours."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage

from benchmarks.agents.scenario import ARGUMENTS, LATENCY_S, ROUNDS
from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve

USAGE: Final = RequestUsage(prompt_tokens=1, completion_tokens=1)
INFO: Final = ModelInfo(
    vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False
)


class Fake(ChatCompletionClient):
    def __init__(self) -> None:
        self.asked = 0

    async def create(self, *args: Any, **kwargs: Any) -> CreateResult:
        await asyncio.sleep(LATENCY_S)
        self.asked += 1
        if self.asked >= ROUNDS:
            return CreateResult(finish_reason="stop", content="done", usage=USAGE, cached=False)
        calls = [FunctionCall(id=f"call_{self.asked}", name="add", arguments=ARGUMENTS)]
        return CreateResult(finish_reason="function_calls", content=calls, usage=USAGE, cached=False)

    def create_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return USAGE

    def total_usage(self) -> RequestUsage:
        return USAGE

    def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        return 1

    def remaining_tokens(self, *args: Any, **kwargs: Any) -> int:
        return 1_000

    @property
    def capabilities(self) -> Any:
        return INFO

    @property
    def model_info(self) -> ModelInfo:
        return INFO


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def use_agent() -> None:
    model = Fake()
    agent = AssistantAgent("adder", model_client=model, system_message="Add.", tools=[add], max_tool_iterations=ROUNDS)
    result = await agent.run(task="go")
    assert model.asked == ROUNDS
    assert result.messages[-1].to_text() == "done"


async def tools(agents: int) -> Stopwatch:
    with Stopwatch() as took:
        await asyncio.gather(*[use_agent() for _ in range(agents)])
    return took


BENCHES: Final[dict[str, Bench]] = {"tools": lambda agents: asyncio.run(tools(agents))}

if __name__ == "__main__":
    serve(BENCHES, "autogen-agentchat")
