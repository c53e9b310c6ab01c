"""Mutants of what waits for an agent: the stores of boxes, and the inbox of a session."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_KIT: Final = ("I-57",)
_KIT_TESTS: Final = ("tests/store/test_inbox_stores.py",)
_SESSION_TESTS: Final = ("tests/session/test_stored_inbox.py",)
_MEMORY: Final = "greenroom.store._memory_inbox"
_PEERS: Final = "greenroom.session.peers._peer_sessions"
_PEER_TESTS: Final = ("tests/session/test_peers.py",)
_PORT: Final = "greenroom.inbox._inbox_store"
_ROWS: Final = "greenroom.store._inbox_rows"
_SQLITE: Final = "greenroom.store._sqlite_inbox"
_CHANNELS: Final = "greenroom.mcp._channels"
_PUSHES: Final = "greenroom.inbox._channel_pushes"
_CHANNEL: Final = ("R12-a",)
_CHANNEL_TESTS: Final = (
    "tests/inbox/test_channel_pushes.py",
    "tests/mcp/test_channels.py",
    "tests/session/test_channels.py",
)
_STORED: Final = "greenroom.session.parts._stored_inbox"

DELIVERY: Final = (
    Mutant(
        "an item loses its lane",
        _KIT,
        _ROWS,
        "        lane=Lane(lane),\n",
        "        lane=Lane.LATER,\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a take has no limit",
        _KIT,
        _SQLITE,
        "            elif len(items) < limit:\n",
        "            else:\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a second put changes the text",
        _KIT,
        _ROWS,
        " ON CONFLICT DO NOTHING",
        " ON CONFLICT DO UPDATE SET text = excluded.text",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "an id is forgotten once read",
        _KIT,
        _MEMORY,
        "known is not None or item.id in box.left",
        "known is not None",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "what was taken is given again",
        _KIT,
        _SQLITE,
        "            self._cursors[box] = items[-1].seq\n",
        "            pass\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a withdrawal always succeeds",
        _KIT,
        _SQLITE,
        "        return removed\n",
        "        return 1\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a full box takes one more",
        _KIT,
        _PORT,
        "there.waiting >= MAX_ITEMS",
        "there.waiting > MAX_ITEMS",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "texts have no limit together",
        _KIT,
        _PORT,
        "item.size_bytes > MAX_BYTES",
        "item.size_bytes < 0",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "letters fill a box",
        _KIT,
        _PORT,
        "if item.is_letter and there.letters",
        "if not item.id and there.letters",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "half of a put is in",
        _KIT,
        _SQLITE,
        "        if len(items) > 1:  # look",
        "        if not items:  # look",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a blank text is stored",
        _KIT,
        _PORT,
        "    if not item.text.strip():\n",
        "    if not item.text:\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "what is held is given",
        _KIT,
        _ROWS,
        "        HELD if item.is_held else WAITING,\n",
        "        WAITING,\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "held items pile up",
        _KIT,
        _SQLITE,
        "        if there.held >= MAX_HELD and item.is_held:\n",
        "        if not item.id:\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "what expired is given",
        _KIT,
        _SQLITE,
        "            elif now >= item.expires_at:\n",
        "            elif not item.id:\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "poison is given",
        _KIT,
        _SQLITE,
        "            elif item.attempts >= MAX_ATTEMPTS:\n",
        "            elif not item.id:\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a box takes letters unasked",
        _KIT,
        _MEMORY,
        "    policy: LetterPolicy = LetterPolicy.REFUSE\n",
        "    policy: LetterPolicy = LetterPolicy.ACCEPT\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a put wakes nobody",
        _KIT,
        _SQLITE,
        "            self._ring(box)\n        return places\n",
        "            pass\n        return places\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a cancelled step loses the others",
        _KIT,
        _SQLITE,
        "                        self._steps[:0] = [each for each in batch if not each.is_done and each is not step]\n",
        "                        batch.clear()\n",
        tests=_KIT_TESTS,
    ),
    Mutant(
        "a new taker gets nothing again", _KIT, _MEMORY, "        self._box(box).taken.clear()\n", "", tests=_KIT_TESTS
    ),
    Mutant(
        "an item leaves the store before its line is on disk",
        ("I-59",),
        _STORED,
        "            await self._journal.commit()  # what was said stands on disk before it leaves the store\n",
        "",
        tests=_SESSION_TESTS,
    ),
    Mutant(
        "what the transcript holds is read again",
        ("I-59",),
        _STORED,
        "            elif known is not None and item.id in known.read:\n",
        "            elif not item.id:\n",
        tests=_SESSION_TESTS,
    ),
    Mutant(
        "a line does not name its items",
        ("I-59",),
        "greenroom.agents._conversation",
        "        if items and [*items] != [uuid]:\n",
        "        if items and not uuid and is_at_rest:\n",
        tests=_SESSION_TESTS,
    ),
    Mutant(
        "anybody's row is the user's",
        ("I-60",),
        _STORED,
        "self._received(item if is_known else _not_the_users(item))",
        "self._received(item)",
        tests=_SESSION_TESTS,
    ),
    Mutant(
        "a letter is called delivered and dropped",
        ("I-61",),
        _PEERS,
        "                await store.put([_item(letter, MAIN_BOX, policy, self._ports)])\n",
        "                pass\n",
        tests=_PEER_TESTS,
    ),
    Mutant(
        "a text may be sent for ever",
        ("I-61",),
        _PEERS,
        "        if same >= _REPEATS:\n",
        "        if same < 0:\n",
        tests=_PEER_TESTS,
    ),
    Mutant(
        "letters are read though the session refuses them",
        ("I-61",),
        _PEERS,
        "                if policy is LetterPolicy.REFUSE:\n",
        "                if not text:\n",
        tests=_PEER_TESTS,
    ),
    Mutant(
        "a server that nobody listed is heard",
        _CHANNEL,
        _CHANNELS,
        "        if not channel.is_listed:\n",
        "        if not server:\n",
        tests=_CHANNEL_TESTS,
    ),
    Mutant(
        "a server pushes without declaring it",
        _CHANNEL,
        _CHANNELS,
        "        elif not push.is_declared:\n",
        "        elif not server:\n",
        tests=_CHANNEL_TESTS,
    ),
    Mutant(
        "a channel has no rate",
        _CHANNEL,
        _PUSHES,
        "        if self._left < 1.0:\n",
        "        if self._left < -1e9:\n",
        tests=_CHANNEL_TESTS,
    ),
    Mutant(
        "unread messages of a channel pile up",
        _CHANNEL,
        _CHANNELS,
        ">= MAX_UNREAD",
        "< 0",
        tests=_CHANNEL_TESTS,
    ),
    Mutant(
        "notes about dropped messages pile up",
        _CHANNEL,
        _CHANNELS,
        "        if any(item.id == channel.note for item in self._queued()):\n",
        "        if not server:\n",
        tests=_CHANNEL_TESTS,
    ),
    Mutant(
        "dropped messages are told one by one",
        _CHANNEL,
        _CHANNELS,
        "        channel.quiet_at_s = now_s + QUIET_S\n",
        "        channel.quiet_at_s = now_s\n",
        tests=_CHANNEL_TESTS,
    ),
    Mutant(
        "a channel writes the name of its source",
        _CHANNEL,
        _PUSHES,
        " and name.lower() != SOURCE",
        "",
        tests=_CHANNEL_TESTS,
    ),
    Mutant(
        "any text is the name of an attribute",
        _CHANNEL,
        _PUSHES,
        "_NAME.fullmatch(name)",
        "_NAME.pattern",
        tests=_CHANNEL_TESTS,
    ),
)
"""At least one for each rule of a store, and for each promise of delivery."""
