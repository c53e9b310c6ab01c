"""The scripted day: three channels, five sessions, six children, announcements in all ways, a reset, an archive, a pairing, two jobs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from greenroom.agents._blocks import LOST_RESULT
from greenroom.agents._conversation_loader import CONTINUE
from greenroom.gateway.announce._announcement import NO_REPLY
from greenroom.models import Call, ModelRequest
from tests.gateway.process.town import ChatService, Line, Town

DAY_S: Final = 2700.0
"""Seconds after which the script and both jobs are over."""
CONFIG: Final = """{
  agents: {
    defaults: {model: 'sonnet', workspace: 'workspace', subagents: {archiveAfterMinutes: 20}},
    list: [
      {id: 'main', default: true},
      {id: 'scribe', subagents: {announce: 'turn'}},
      {id: 'quiet', subagents: {announce: 'silent'}},
    ],
  },
  bindings: [
    {agentId: 'scribe', match: {channel: 'keyed'}},
    {agentId: 'quiet', match: {channel: 'mute'}},
  ],
  channels: {plugins: {
    plain: {accounts: {default: {dmPolicy: 'pairing', groupPolicy: 'open', groups: {'*': {requireMention: true}}}}},
    keyed: {accounts: {default: {dmPolicy: 'allowlist', allowFrom: ['bea']}}},
    mute: {accounts: {default: {dmPolicy: 'open', allowFrom: ['*']}}},
  }},
  commands: {ownerAllowFrom: ['plain:ann']},
  session: {timezone: 'UTC'},
  cron: {jobs: [
    {id: 'watering', message: 'job: water the plants', schedule: {at: '2026-01-01T00:25'}, deliver: {channel: 'keyed', to: 'bea'}},
    {id: 'news', message: 'job: read the news', session: 'main', schedule: {cron: '30 0 * * *'}, deliver: {channel: 'keyed', to: 'bea'}},
  ]},
}"""


def open_day(folder: Path) -> Town:
    """Return the town in the morning."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gateway.json5").write_text(CONFIG)
    services = {
        "plain": ChatService("plain", takes_keys=False, can_say=False),
        "keyed": ChatService("keyed", takes_keys=True, can_say=False),
        "mute": ChatService("mute", takes_keys=False, can_say=True),
    }
    return Town(folder, services, SCRIPT, play)


def code_of(town: Town) -> str:
    """Return the command with which the owner lets cid in: the code stands in his chat."""
    codes = [
        found[1]
        for text in (part.text for part in town.services["plain"].shown)
        if (found := re.search(r"code: (\w{8})", text))
    ]
    return f"/pair approve {codes[-1] if codes else 'XXXXXXXX'}"


SCRIPT: Final = [
    Line(10, "plain", "ann", "good morning"),
    Line(60, "plain", "ann", "please count two things"),
    Line(90, "keyed", "bea", "please count two things"),
    Line(120, "mute", "dan", "please count two things"),
    Line(300, "plain", "cid", "may I come in"),
    Line(360, "plain", "ann", code_of),
    Line(420, "plain", "cid", "hello from cid"),
    Line(480, "plain", "bea", "just talking", peer="#room"),
    Line(500, "plain", "ann", "agent, what did bea say", peer="#room", mentions=True),
    Line(900, "plain", "ann", "/new"),
    Line(960, "plain", "ann", "what did I say before"),
    Line(1200, "keyed", "bea", "good night"),
    Line(1260, "mute", "dan", "good night"),
]


SPAWNS: Final = (
    Call("sessions_spawn", {"task": "count the files", "label": "files"}),
    Call("sessions_spawn", {"task": "count the lines", "label": "lines", "cleanup": "delete"}),
)


def last_text(request: ModelRequest) -> str:
    """Return the last texts of a request."""
    return "\n".join(str(getattr(block, "text", block)) for block in request.messages[-1].content)


def play(request: ModelRequest) -> Any:
    """Answer by rules that depend on the conversation alone."""
    text = last_text(request)
    if text.strip() == CONTINUE:
        return NO_REPLY  # all that the cut turn had read was answered by another one
    said = re.findall(
        r"good morning|good night|hello from cid|what did I say before|what did bea say|job: [a-z ]+", text
    )
    if said:
        return f"reply to: {said[-1]}"
    if "Your run has ended" in text:
        return "the summary: 42"
    if "A sub-agent that you started" in text:
        return "my child says 42"
    if "count the files" in text or "count the lines" in text:
        return "I counted: 42"
    if LOST_RESULT in text:  # of calls that were cut: what has become of them?
        return [Call("subagents", {"action": "list"})]
    if "callerIsSubagent" in text:
        return [call for call in SPAWNS if f'"label": "{call.input["label"]}"' not in text] or "it is on its way"
    if "please count two things" in text:
        return list(SPAWNS)
    return "it is on its way"
