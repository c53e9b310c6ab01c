"""Keys that have no effect: those of OpenClaw, by the object in which they stand, and settings of our own that nothing uses yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from greenroom.gateway.config._files import Place

_ACCOUNT: Final = (
    "actions blockStreaming blockStreamingCoalesce capabilities chunkMode commands configWrites dmHistoryLimit dms "
    "healthMonitor heartbeat historyLimit markdown mediaMaxMb name reactionLevel reactionNotifications replyToMode "
    "responsePrefix streaming textChunkLimit threadBindings"
)
_SANDBOX: Final = "backend browser docker perSession prune scope ssh workspaceAccess workspaceRoot"
_HEARTBEAT: Final = (
    "accountId directPolicy includeReasoning isolatedSession lightContext session suppressToolErrorWarnings to"
)
_TOOLS: Final = (
    "alsoAllow byProvider elevated exec fs links loopDetection media message profile sandbox sessions_spawn web"
)

_KEYS: Final[Mapping[str, str]] = {
    "": (
        "acp approvals audio auth broadcast browser canvasHost cli diagnostics discovery env hooks identity logging mcp "
        "media memory meta nodeHost plugins routing skills talk ui update web wizard"
    ),
    "gateway": (
        "allowRealIpFallback channelHealthCheckMinutes controlUi customBindHost http mode nodes push reload remote "
        "tailscale tools trustedProxies webchat"
    ),
    "gateway.auth": "allowTailscale mode password rateLimit token trustedProxy",
    "gateway.tls": "autoGenerate caPath certPath enabled keyPath",
    "agents.defaults": (
        "blockStreamingBreak blockStreamingChunk blockStreamingCoalesce blockStreamingDefault bootstrapMaxChars "
        "bootstrapTotalMaxChars cliBackends compaction contextPruning contextTokens elevatedDefault embeddedPi "
        "envelopeElapsed envelopeTimestamp envelopeTimezone humanDelay imageGenerationModel imageMaxDimensionPx imageModel "
        "mediaMaxMb memorySearch models pdfModel reasoningDefault repoRoot skipBootstrap thinkingDefault timeFormat "
        "timeoutSeconds typingIntervalSeconds typingMode userTimezone verboseDefault"
    ),
    "agents.defaults.subagents": "delegationMode",
    "agents.defaults.sandbox": _SANDBOX,
    "agents.defaults.heartbeat": _HEARTBEAT,
    "agents.list": "groupChat humanDelay identity memorySearch params runtime skills thinkingDefault",
    "agents.list.subagents": "delegationMode",
    "agents.list.sandbox": _SANDBOX,
    "agents.list.heartbeat": _HEARTBEAT,
    "agents.list.tools": _TOOLS,
    "bindings": "acp comment type",
    "bindings.match": "guildId roles teamId",
    "session": (
        "heartbeatIdleMinutes idleMinutes mainKey parentForkMaxTokens resetByChannel resetByType resetTriggers sendPolicy "
        "store threadBindings typingIntervalSeconds typingMode writeLock"
    ),
    "session.maintenance": "highWaterBytes maxDiskBytes maxEntries mode pruneDays resetArchiveRetention rotateBytes",
    "channels": (
        "bluebubbles defaults discord feishu googlechat imessage line mattermost modelByChannel msteams nextcloud-talk nostr "
        "signal slack synology-chat tlon twitch webchat whatsapp zalo zalouser"
    ),
    "channels.irc": f"{_ACCOUNT} mentionPatterns nickserv passwordFile realname server",
    "channels.matrix": (
        f"{_ACCOUNT} autoJoin autoJoinAllowlist deviceId dm encryption initialSyncLimit rooms threadReplies"
    ),
    "channels.telegram": f"{_ACCOUNT} ackReaction customCommands linkPreview network proxy tokenFile webhookSecret webhookUrl",
    "messages": (
        "ackReaction ackReactionScope inbound messagePrefix removeAckAfterReply responsePrefix statusReactions "
        "suppressToolErrors tts"
    ),
    "messages.queue": "byChannel debounceMsByChannel",
    "tools": _TOOLS,
    "tools.subagents": "model",
    "models": "bedrockDiscovery mode",
    "models.providers": "api auth authHeader headers injectNumCtxForOpenAICompat",
    "models.providers.models": "api compat contextWindow headers input maxTokens reasoning",
    "commands": (
        "allowFrom bashForegroundMs config debug mcp native nativeSkills ownerDisplay ownerDisplaySecret plugins restart text "
        "useAccessGroups"
    ),
    "cron": "failureAlert failureDestination maxConcurrentRuns retry runLog sessionRetention store webhook webhookToken",
    "secrets": "defaults providers resolution",
}
_FOREIGN: Final = {place: frozenset(keys.split()) for place, keys in _KEYS.items()}


def is_foreign(path: Sequence[str | int]) -> bool:
    """True if a key is one of OpenClaw's that has no effect here."""
    keys = [part for part in path if isinstance(part, str)]
    match keys:
        case ["channels", channel, "accounts", _, *rest]:
            keys = ["channels", channel, *rest]
        case ["models", "providers", _, *rest]:
            keys = ["models", "providers", *rest]
    return bool(keys) and keys[-1] in _FOREIGN.get(".".join(keys[:-1]), ())


_NO_HEARTBEAT: Final = "there are no turns that nobody asked for; a job of `cron` can begin some"
IDLE_KEYS: Final[Mapping[Place, str]] = {
    ("agents", "defaults", "heartbeat"): _NO_HEARTBEAT,
    ("agents", "list", "heartbeat"): _NO_HEARTBEAT,
    ("channels", "telegram"): "there is no channel for Telegram; a package may bring one, under `channels.plugins`",
    ("limits", "idempotencyKeys"): "10,000 keys are remembered for each token",
    ("limits", "keptEvents"): "a client that comes back reads what it missed with `chat.history`",
    ("session", "agentToAgent"): "a message between agents has one reply",
}
"""Why each has no effect, by its path without positions in lists; those below it have none either."""


def idle_places(written: Iterable[Place]) -> Iterator[tuple[Place, str]]:
    """Yield the places of settings without effect that are written, each with a sentence, in order."""
    told: dict[Place, str] = {}
    for place in written:
        for end in range(1, len(place) + 1):
            part = place[:end]
            why = IDLE_KEYS.get(tuple(key for key in part if isinstance(key, str)))
            if why is not None and isinstance(part[-1], str):
                told.setdefault(part, why)
    yield from ((place, f"has no effect here: {why}") for place, why in told.items())
