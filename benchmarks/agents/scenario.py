"""The scenario on every system: each agent asks its model ten times, calls a tool after nine of the answers, and ends.

A model answers after 50 ms, so ten rounds take half a second where nothing else costs time. Only the standard library: what
else is loaded would be measured with a peer.
"""

from __future__ import annotations

from typing import Final

ROUNDS: Final = 10
LATENCY_S: Final = 0.05
IDEAL_S: Final = ROUNDS * LATENCY_S
ARGUMENTS: Final = '{"a": 1, "b": 2}'
"""What the model passes to the tool, as it comes from a provider."""
SCHEMA: Final = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
