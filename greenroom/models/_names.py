"""The names of Claude models that are known to this version; any other name is passed on as it is."""

from typing import Final

DEFAULT_CLAUDE_MODEL: Final = "claude-sonnet-5"

CLAUDE_MODELS: Final = (
    DEFAULT_CLAUDE_MODEL,
    "claude-sonnet-5-5",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-haiku-5-5",
    "claude-haiku-4-5",
    "claude-fable-5",
    "claude-fable-5-1",
    "claude-fable-5-2",
)
"""For help texts and completion."""
