"""Models: one protocol for language models; Claude, scripted and rule-based ones, and retries around any of them."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.models._answer_stream import AnswerSource, AnswerStream
    from greenroom.models._anthropic import AnthropicModel
    from greenroom.models._as_events import with_events
    from greenroom.models._chaos import FaultRates, PlannedCrash, chaotic
    from greenroom.models._continuation import ContinuationPolicy, LongAnswer
    from greenroom.models._endings import Next, fault_of, next_after
    from greenroom.models._failure_kinds import (
        RETRYABLE,
        error_category,
        failure,
        failure_words,
        kind_of_status,
        retry_after,
    )
    from greenroom.models._messages_api import request_body, result_content
    from greenroom.models._model import Model, ModelStream
    from greenroom.models._model_settings import ModelSettings, with_settings
    from greenroom.models._playbook import Play, PlaybookModel
    from greenroom.models._response_assembly import Assembly
    from greenroom.models._retry import RetryBudget, RetryPolicy, retrying
    from greenroom.models._scripted import ScriptedModel, ScriptError, ScriptStep
    from greenroom.models._token_usage import Usage
    from greenroom.models._types import (
        Block,
        Effort,
        Message,
        ModelRequest,
        ModelResponse,
        Notice,
        Role,
        StreamRestarted,
        TextBlock,
        TextDelta,
        Thinking,
        ThinkingBlock,
        ThinkingDelta,
        ToolInputDelta,
        ToolResultBlock,
        ToolSchema,
        ToolUseBlock,
        ToolUseStarted,
        UsageDelta,
    )
    from greenroom.models._written_answers import (
        AnswerLike,
        Call,
        Say,
        Think,
        WrittenAnswer,
        as_answer,
        estimate_tokens,
    )
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.models._answer_stream": ("AnswerSource", "AnswerStream"),
            "greenroom.models._anthropic": ("AnthropicModel",),
            "greenroom.models._as_events": ("with_events",),
            "greenroom.models._chaos": ("FaultRates", "PlannedCrash", "chaotic"),
            "greenroom.models._continuation": ("ContinuationPolicy", "LongAnswer"),
            "greenroom.models._endings": ("Next", "fault_of", "next_after"),
            "greenroom.models._failure_kinds": (
                "RETRYABLE",
                "error_category",
                "failure",
                "failure_words",
                "kind_of_status",
                "retry_after",
            ),
            "greenroom.models._messages_api": ("request_body", "result_content"),
            "greenroom.models._model": ("Model", "ModelStream"),
            "greenroom.models._model_settings": ("ModelSettings", "with_settings"),
            "greenroom.models._playbook": ("Play", "PlaybookModel"),
            "greenroom.models._response_assembly": ("Assembly",),
            "greenroom.models._retry": ("RetryBudget", "RetryPolicy", "retrying"),
            "greenroom.models._scripted": ("ScriptedModel", "ScriptError", "ScriptStep"),
            "greenroom.models._token_usage": ("Usage",),
            "greenroom.models._types": (
                "Block",
                "Effort",
                "Message",
                "ModelRequest",
                "ModelResponse",
                "Notice",
                "Role",
                "StreamRestarted",
                "TextBlock",
                "TextDelta",
                "Thinking",
                "ThinkingBlock",
                "ThinkingDelta",
                "ToolInputDelta",
                "ToolResultBlock",
                "ToolSchema",
                "ToolUseBlock",
                "ToolUseStarted",
                "UsageDelta",
            ),
            "greenroom.models._written_answers": (
                "AnswerLike",
                "Call",
                "Say",
                "Think",
                "WrittenAnswer",
                "as_answer",
                "estimate_tokens",
            ),
        },
    )

__all__ = [
    "RETRYABLE",
    "AnswerLike",
    "AnswerSource",
    "AnswerStream",
    "AnthropicModel",
    "Assembly",
    "Block",
    "Call",
    "ContinuationPolicy",
    "Effort",
    "FaultRates",
    "LongAnswer",
    "Message",
    "Model",
    "ModelRequest",
    "ModelResponse",
    "ModelSettings",
    "ModelStream",
    "Next",
    "Notice",
    "PlannedCrash",
    "Play",
    "PlaybookModel",
    "RetryBudget",
    "RetryPolicy",
    "Role",
    "Say",
    "ScriptError",
    "ScriptStep",
    "ScriptedModel",
    "StreamRestarted",
    "TextBlock",
    "TextDelta",
    "Think",
    "Thinking",
    "ThinkingBlock",
    "ThinkingDelta",
    "ToolInputDelta",
    "ToolResultBlock",
    "ToolSchema",
    "ToolUseBlock",
    "ToolUseStarted",
    "Usage",
    "UsageDelta",
    "WrittenAnswer",
    "as_answer",
    "chaotic",
    "error_category",
    "estimate_tokens",
    "failure",
    "failure_words",
    "fault_of",
    "kind_of_status",
    "next_after",
    "request_body",
    "result_content",
    "retry_after",
    "retrying",
    "with_events",
    "with_settings",
]
