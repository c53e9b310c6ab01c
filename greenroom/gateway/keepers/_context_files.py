"""The system prompt of a session: the files of its agent's workspace, and the brief of a sub-agent."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.routing._session_key import SessionKey

OF_ALL: Final = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md")
"""The files that a session other than a sub-agent's is given, in order."""
OF_CHILDREN: Final = ("AGENTS.md", "TOOLS.md")
MAX_CHARS: Final = 20_000
"""Characters of a file; of a longer one the middle is left out."""


def read_prompt(workspace: Path, key: SessionKey, row: SessionRow) -> str:
    """Return the system prompt of a session. It blocks."""
    names = OF_CHILDREN if key.is_child else OF_ALL
    parts = [_file_part(workspace / name) for name in names]
    if key.is_child:
        parts.append(child_brief(key, row))
    return "\n\n".join(filter(None, parts))


def _file_part(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return f"# {path.name}\n\n{shortened(text)}" if text else ""


def shortened(text: str) -> str:
    """Return a text of at most `MAX_CHARS` characters and one line: head and tail are kept."""
    if len(text) <= MAX_CHARS:
        return text
    left_out = len(text) - MAX_CHARS
    head, tail = MAX_CHARS * 7 // 10, MAX_CHARS * 3 // 10
    return f"{text[:head]}\n[... {left_out} characters are left out here ...]\n{text[-tail:]}"


def child_brief(key: SessionKey, row: SessionRow) -> str:
    """Return the brief of a sub-agent: everything that differs between two of them stands in its last lines."""
    facts = [f"Label: {row.label}"] if row.label else []
    facts += [f"Requester session: {row.spawned_by}"] if row.spawned_by else []
    facts += [f"Your session: {key}"]
    return "\n".join((BRIEF, "", *facts))


BRIEF: Final = """\
# Sub-agent

You are a sub-agent: another session has given you one task, in your first message.

- Stay on the task. Do nothing that it does not ask for, and start nothing on your own.
- Your last message is reported to the requester automatically: make it a complete account of what you found or did.
- You talk to no person: nobody answers questions. You may be terminated at any time.
- Files that AGENTS.md or TOOLS.md name and that are not shown here, such as SOUL.md or USER.md, are not for you."""
