"""Tokens that a request has used."""

from __future__ import annotations

from greenroom.core import frozen


@frozen
class Usage:
    """Tokens; the four kinds are disjoint, as the provider bills them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cache_creation_input_tokens - other.cache_creation_input_tokens,
            self.cache_read_input_tokens - other.cache_read_input_tokens,
        )

    @property
    def total(self) -> int:
        """All tokens of all kinds."""
        cached = self.cache_creation_input_tokens + self.cache_read_input_tokens
        return self.input_tokens + self.output_tokens + cached

    @property
    def prompt_tokens(self) -> int:
        """All that was sent: new, written to the cache, read from it."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens
