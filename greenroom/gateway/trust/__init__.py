"""Trust: the admission of messages, pairing, limits of chats, and questions about tool calls."""

from greenroom.gateway.trust._admission_report import admission_report

__all__ = ["admission_report"]
