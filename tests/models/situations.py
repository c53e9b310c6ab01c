"""Helpers for the tests of the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anthropic as _loaded_before_any_clock_runs  # noqa: F401 - on a busy machine its import takes seconds

from greenroom.core import ProviderError
from greenroom.models import RETRYABLE, AnthropicModel, Message, ModelRequest, ModelResponse, TextBlock, ThinkingBlock
from greenroom.models._types import TextDelta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from greenroom.models._types import Delta
    from greenroom.testing import MessagesServer

HELLO = ModelRequest((Message.user("Hello?"),))


def provider_error(kind: str, *, retry_after_s: float | None = None) -> ProviderError:
    return ProviderError(kind, kind=kind, retry_after_s=retry_after_s, is_retryable=RETRYABLE[kind])


def claude(server: MessagesServer) -> AnthropicModel:
    return AnthropicModel("claude-test", api_key="key", base_url=server.url)


def text_of(deltas: Iterable[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def assert_may_be_appended(response: ModelResponse) -> None:
    """What the provider demands of an assistant message that is passed back."""
    for block in response.content:
        repr(block).encode()
        assert not isinstance(block, TextBlock) or block.text.strip()
    assert not response.content or not isinstance(response.content[-1], ThinkingBlock)


def assert_is_prefix(part: ModelResponse, whole: ModelResponse) -> None:
    """Every block but the last is as it will stay; the last one is, or is text that still grows."""
    *done, last = part.content or (None,)
    assert tuple(done) == whole.content[: len(done)]
    if isinstance(last, TextBlock):
        final = whole.content[len(done)]
        assert isinstance(final, TextBlock)
        assert final.text.startswith(last.text)
    elif last is not None:
        assert last == whole.content[len(done)]
