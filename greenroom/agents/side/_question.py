"""Side questions (`/btw`): one answer from what the agent knows now, while its turn goes on.

One response, no tools. Neither question nor answer becomes part of the conversation.
"""

from __future__ import annotations

from typing import Final

from greenroom.agents._beside import Beside
from greenroom.agents._forked import run_forked
from greenroom.core import UsageError, reminder

QUESTION: Final = "side question"
_ABOUT: Final = (
    "The user asks something aside. Answer in this one reply, from what this conversation holds already. You are a copy that is "
    "gone afterwards, while the work goes on without you: do not go on with it, and do not announce what you would look up or do. "
    "Calls of tools are not run here. Where the conversation does not hold the answer, say so."
)


def question_directive(question: str) -> str:
    """Return what the model is told for a side question.

    Raises:
        UsageError: It is blank.
    """
    if not question.strip():
        raise UsageError("a side question needs text; this one is blank")
    return f"{reminder(_ABOUT)}\n\n{question.strip()}"


async def ask_aside(place: Beside, question: str) -> str:
    """Return the model's answer to a question about the conversation as it is now.

    Cancelled, it leaves nothing but what the request had used.

    Raises:
        UsageError: The question is blank.
        ProviderError: The model could not be asked.
        ForkFailed: It called tools and said nothing.
    """
    result = await run_forked(place, question_directive(question), purpose=QUESTION, max_rounds=1)
    return result.text.strip()
