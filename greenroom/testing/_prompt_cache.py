"""A model of a provider's prompt cache: the part of each request that is read from it, and written to it.

The prefix of a request, in the order tools, system, messages, is cached up to each mark (`cache_control`). A request
reads its longest cached prefix that is equal byte for byte and ends at one of its marks or at most 20 blocks before it.
Prefixes of a request can be read by the next one, as if its answer had begun by then; nothing expires. Consecutive
messages of the same role are one message, as they are for the provider.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, final

from greenroom.models import Usage, estimate_tokens
from greenroom.testing._cache_prefixes import LOOKED_BACK, MAX_MARKS, flat

LEAST_TOKENS: Final = 1_024
"""Minimum size of a cached prefix, in tokens."""


@final
class PromptCache:
    """The cache of one account; tokens are estimated from characters.

    Args:
        least_tokens: Minimum size of a cached prefix.
    """

    def __init__(self, *, least_tokens: int = LEAST_TOKENS) -> None:
        self._least_tokens = least_tokens
        self._known: set[bytes] = set()

    def __repr__(self) -> str:
        return f"<PromptCache of {len(self._known)} prefixes>"

    def serve(self, body: Mapping[str, Any]) -> Usage:
        """Return the billed input tokens of a request, and cache its marked prefixes.

        Raises:
            AssertionError: It has more than four marks, which a provider refuses.
        """
        request = flat(body)
        assert len(request.marks) <= MAX_MARKS, f"at most {MAX_MARKS} marks are allowed, got {len(request.marks)}"
        digest = hashlib.sha256(repr(request.keyed).encode())
        digests: list[bytes] = []
        tokens: list[int] = []
        characters = 0
        for _, text in request.blocks:
            digest.update(text.encode(errors="surrogatepass"))
            digests.append(digest.digest())
            characters += len(text)
            tokens.append(estimate_tokens(characters))
        read = max((tokens[at] for mark in request.marks for at in self._readable(digests, mark)), default=0)
        marked = [mark for mark in request.marks if tokens[mark] >= self._least_tokens]
        self._known.update(digests[mark] for mark in marked)
        whole = tokens[-1] if tokens else 0
        written = max((tokens[mark] for mark in marked), default=0)
        return Usage(
            input_tokens=whole - max(written, read),
            cache_creation_input_tokens=max(0, written - read),
            cache_read_input_tokens=read,
        )

    def _readable(self, digests: list[bytes], mark: int) -> list[int]:
        return [at for at in range(max(0, mark - LOOKED_BACK), mark + 1) if digests[at] in self._known]


def cached_share(usage: Usage) -> float:
    """Return the fraction of the input that was read from the cache, from 0 to 1; 0 if there was no input."""
    whole = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    return usage.cache_read_input_tokens / whole if whole else 0.0
