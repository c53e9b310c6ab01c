"""Names of the OpenTelemetry conventions that the export uses, and greenroom's own.

The conventions for generative AI are in development, so one version of them is pinned here. Greenroom's own names have
the prefix `actor.`.
"""

from __future__ import annotations

from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
"""All input tokens, including those from and into the cache."""
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL: Final = "gen_ai.tool.call.id"
ERROR_TYPE: Final = "error.type"

SERVICE_NAME: Final = "service.name"
SERVICE_VERSION: Final = "service.version"
SERVICE_INSTANCE: Final = "service.instance.id"
RUNTIME_NAME: Final = "process.runtime.name"
RUNTIME_VERSION: Final = "process.runtime.version"

ID: Final = "actor.id"
PATH: Final = "actor.path"
INCARNATION: Final = "actor.incarnation"
TURN: Final = "actor.turn"
WHAT: Final = "actor.span"
"""Kind of a span: `actor`, `turn`, `model`, `tool`, `session`."""
OUTCOME: Final = "actor.outcome"
KILLED_BY: Final = "actor.killed_by"
KILLED_WHY: Final = "actor.killed_why"
SEQ: Final = "actor.seq"
"""Number of the first event of a span, or of the event itself."""
END_SEQ: Final = "actor.end_seq"
PARENT_SEQ: Final = "actor.parent_seq"
"""Number of the event that led to it."""

INTERNAL: Final = 1
CLIENT: Final = 3
"""Kinds of spans."""
ERROR: Final = 2
"""Status of a failed span; others have none."""
