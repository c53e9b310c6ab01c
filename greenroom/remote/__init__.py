"""Messages between processes of one user: text over WebSockets, through Unix sockets."""

from greenroom.remote._letters import Letter, LetterRefusal, LetterRefused, check_listening, open_letterbox, send_letter

__all__ = [
    "Letter",
    "LetterRefusal",
    "LetterRefused",
    "check_listening",
    "open_letterbox",
    "send_letter",
]
