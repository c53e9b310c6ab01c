"""Messages between processes: text over WebSockets, on the loopback interface and behind a token."""

from greenroom.remote._letters import Letter, LetterRefusal, LetterRefused, open_letterbox, send_letter

__all__ = [
    "Letter",
    "LetterRefusal",
    "LetterRefused",
    "open_letterbox",
    "send_letter",
]
