"""Models: what agents talk to, behind one protocol; Claude, scripted and rule-based ones, and retries around any."""

from greenroom.models._answers import Answer, AnswerLike, Call, Part, Say, Think, as_answer, estimate_tokens
from greenroom.models._anthropic import AnthropicModel
from greenroom.models._failures import RETRYABLE
from greenroom.models._model import Model, ModelStream
from greenroom.models._names import CLAUDE_MODELS, DEFAULT_CLAUDE_MODEL
from greenroom.models._playbook import Play, PlaybookModel
from greenroom.models._retry import GiveUp, RetryPolicy, Wait, plan_retry, retrying
from greenroom.models._scripted import ScriptedModel, ScriptEntry, ScriptError, ScriptStep
from greenroom.models._types import (
    Block,
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    Role,
    StopReason,
    StreamRestarted,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolInputDelta,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
    ToolUseStarted,
    Usage,
    UsageDelta,
)

__all__ = [
    "CLAUDE_MODELS",
    "DEFAULT_CLAUDE_MODEL",
    "RETRYABLE",
    "Answer",
    "AnswerLike",
    "AnthropicModel",
    "Block",
    "Call",
    "Delta",
    "GiveUp",
    "Message",
    "Model",
    "ModelRequest",
    "ModelResponse",
    "ModelStream",
    "Part",
    "Play",
    "PlaybookModel",
    "RetryPolicy",
    "Role",
    "Say",
    "ScriptEntry",
    "ScriptError",
    "ScriptStep",
    "ScriptedModel",
    "StopReason",
    "StreamRestarted",
    "TextBlock",
    "TextDelta",
    "Think",
    "ThinkingBlock",
    "ThinkingDelta",
    "ToolInputDelta",
    "ToolResultBlock",
    "ToolSchema",
    "ToolUseBlock",
    "ToolUseStarted",
    "Usage",
    "UsageDelta",
    "Wait",
    "as_answer",
    "estimate_tokens",
    "plan_retry",
    "retrying",
]
