"""The table of docs/how-to/gateway-people.md, made from the code: `python -m tests.docs` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from greenroom.gateway.commands._command_table import TABLE
from greenroom.gateway.trust._chat_admission import COMMANDS
from greenroom.gateway.trust._senders import SenderKind
from tests.docs.events import table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "gateway-people.md"
_BEGIN: Final = "<!-- commands -->\n"
_END: Final = "\n<!-- end of commands -->"


def insert(page: str) -> str:
    """Return the page with the table of commands between its marks."""
    rows = [
        (
            f"`/{command.name}{' ' if command.usage else ''}{command.usage}`".replace("|", "\\|"),
            command.summary,
            "owners and people" if SenderKind.PERSON in COMMANDS[name] else "owners",
        )
        for name, command in TABLE.items()
    ]
    before, _, rest = page.partition(_BEGIN)
    _, _, after = f"\n{rest}".partition(_END)
    return f"{before}{_BEGIN}{table(('command', 'effect', 'for'), rows)}{_END}{after}"
