"""Small towns: one channel, one agent, an owner `ann` and a room, for tests that need no whole day."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from greenroom.models import Call, ModelRequest
from tests.gateway.process.day import last_text
from tests.gateway.process.town import ChatService, Line, Play, Town

CONFIG: Final = """{
  agents: {defaults: {model: 'sonnet', workspace: 'workspace', maxConcurrent: WIDTH}},
  channels: {plugins: {plain: {accounts: {default: {
    dmPolicy: 'open', allowFrom: ['*'], groups: {'#room': {requireMention: false}},
  }}}}},
  commands: {ownerAllowFrom: ['plain:ann']},
}"""


def open_place(folder: Path, *script: Line, play: Play, width: int = 4) -> Town:
    """Return a town with one channel."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gateway.json5").write_text(CONFIG.replace("WIDTH", str(width)))
    return Town(folder, {"plain": ChatService("plain", takes_keys=True, can_say=True)}, list(script), play)


def shown(town: Town, peer: str) -> list[str]:
    """Return the texts that were shown in a chat."""
    return town.texts("plain", peer)


def counting(reply: str, *, rounds: int = 3) -> Play:
    """Return a model that spawns a sub-agent for `dig`, which works for a while and then replies."""

    def play(request: ModelRequest) -> Any:
        text = last_text(request)
        if "Your run has ended" in text:
            return reply
        if "dig here" in text:
            return Call("sessions_spawn", {"task": "look deeper", "label": "deep"})
        if "look deeper" in str(request.messages[0].content) and len(request.messages) < 2 * rounds:
            return Call("Glob", {"pattern": f"{len(request.messages)}*"})
        return "done" if "look deeper" in str(request.messages[0].content) else f"heard: {text[-40:]}"

    return play
