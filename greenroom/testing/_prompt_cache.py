"""A provider's prompt cache: what of each request would be read from it, and what written to it.

Rule 1: what is cached is the prefix of a request, in the order tools, system, messages, up to each mark (`cache_control`); nothing
that is not marked. Rule 2: a request reads the longest such prefix that is its own, byte for byte, and ends at one of its
marks or at most 20 blocks before it. Rule 3: what a request writes can be read by the one that comes in next, as if its answer
had begun by then; nothing expires. Messages of the same role in a row are one message, as they are for the provider.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, final

from greenroom.models import Usage, estimate_tokens
from greenroom.testing._cache_prefixes import LOOKED_BACK, MAX_MARKS, flat

LEAST_TOKENS: Final = 1_024
"""A shorter prefix is not cached."""


@final
class PromptCache:
    """The cache of one account; tokens are estimated from characters.

    Args:
        least_tokens: A shorter prefix is not cached.
    """

    def __init__(self, *, least_tokens: int = LEAST_TOKENS) -> None:
        self._least_tokens = least_tokens
        self._known: set[bytes] = set()

    def __repr__(self) -> str:
        return f"<PromptCache of {len(self._known)} prefixes>"

    def serve(self, body: Mapping[str, Any]) -> Usage:
        """Return how the tokens of a request are billed, without those of its answer, and keep what it marks.

        Raises:
            AssertionError: It has more than four marks, which a provider refuses.
        """
        request = flat(body)
        assert len(request.marks) <= MAX_MARKS, f"{len(request.marks)} marks, of at most {MAX_MARKS}"
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
    """Return which part of the input was read from the cache, from 0 to 1; 0 where there was none."""
    whole = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    return usage.cache_read_input_tokens / whole if whole else 0.0
