"""Messages between processes: text over WebSockets, on the loopback interface and behind a token."""

from greenroom.remote._letters import MAX_CHARACTERS, Letter, LetterRefusal, LetterRefused, open_letterbox, send_letter

__all__ = [
    "MAX_CHARACTERS",
    "Letter",
    "LetterRefusal",
    "LetterRefused",
    "open_letterbox",
    "send_letter",
]
