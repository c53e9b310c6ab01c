"""LangGraph, as a peer: one compiled graph of a model and its tools, one run for each of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from benchmarks.agents.scenario import ARGUMENTS, LATENCY_S, ROUNDS
from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve


class Fake(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        await asyncio.sleep(LATENCY_S)
        if len(messages) >= 2 * ROUNDS - 1:
            said = AIMessage(content="done")
        else:
            call = {"name": "add", "args": json.loads(ARGUMENTS), "id": f"call_{len(messages)}"}
            said = AIMessage(content="", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


model: Final = Fake()


async def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await model.ainvoke(state["messages"])]}


def what_follows(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


def build() -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_node("tools", ToolNode([add]))
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", what_follows, ["tools", END])
    builder.add_edge("tools", "ask")
    return builder.compile()


graph: Final = build()


async def use_agent() -> None:
    result = await graph.ainvoke({"messages": [HumanMessage("go")]}, {"recursion_limit": 3 * ROUNDS})
    assert len(result["messages"]) == 2 * ROUNDS


async def tools(agents: int) -> Stopwatch:
    with Stopwatch() as took:
        await asyncio.gather(*[use_agent() for _ in range(agents)])
    return took


BENCHES: Final[dict[str, Bench]] = {"tools": lambda agents: asyncio.run(tools(agents))}

if __name__ == "__main__":
    serve(BENCHES, "langgraph")
