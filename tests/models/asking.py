"""A request to a server on this machine."""

from __future__ import annotations

from greenroom.core import ProviderError
from greenroom.models import AnthropicModel, ModelResponse
from tests.models.situations import HELLO


async def ask(model: AnthropicModel) -> ModelResponse | ProviderError:
    try:
        async with model.stream(HELLO) as stream:
            return await stream.wait_response()
    except ProviderError as error:
        return error
