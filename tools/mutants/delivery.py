"""Mutants of what waits for an agent: the stores of boxes, and the inbox of a session."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_KIT: Final = ("I-57",)
_MEMORY: Final = "greenroom.store._memory_inbox"
_PORT: Final = "greenroom.inbox._inbox_store"
_SQLITE: Final = "greenroom.store._sqlite_inbox"
_STORED: Final = "greenroom.session.parts._stored_inbox"

DELIVERY: Final = (
    Mutant("an item loses its lane", _KIT, _SQLITE, "        lane=Lane(lane),\n", "        lane=Lane.LATER,\n"),
    Mutant("a take has no limit", _KIT, _SQLITE, "            elif len(items) < limit:\n", "            else:\n"),
    Mutant(
        "a second put changes the text",
        _KIT,
        _SQLITE,
        " ON CONFLICT DO NOTHING",
        " ON CONFLICT DO UPDATE SET text = excluded.text",
    ),
    Mutant(
        "an id is forgotten once read", _KIT, _MEMORY, "known is not None or item.id in box.left", "known is not None"
    ),
    Mutant(
        "what was taken is given again",
        _KIT,
        _SQLITE,
        "            self._cursors[box] = items[-1].seq\n",
        "            pass\n",
    ),
    Mutant("a withdrawal always succeeds", _KIT, _SQLITE, "        return removed\n", "        return 1\n"),
    Mutant("a full box takes one more", _KIT, _PORT, "there.waiting >= MAX_ITEMS", "there.waiting > MAX_ITEMS"),
    Mutant("texts have no limit together", _KIT, _PORT, "item.size_bytes > MAX_BYTES", "item.size_bytes < 0"),
    Mutant(
        "letters fill a box", _KIT, _PORT, "if item.is_letter and there.letters", "if not item.id and there.letters"
    ),
    Mutant("half of a put is in", _KIT, _SQLITE, "        if len(items) > 1:  # look", "        if not items:  # look"),
    Mutant("a blank text is stored", _KIT, _PORT, "    if not item.text.strip():\n", "    if not item.text:\n"),
    Mutant(
        "what is held is given", _KIT, _SQLITE, "        _HELD if item.is_held else _WAITING,\n", "        _WAITING,\n"
    ),
    Mutant(
        "held items pile up",
        _KIT,
        _SQLITE,
        "        if there.held >= MAX_HELD and item.is_held:\n",
        "        if not item.id:\n",
    ),
    Mutant(
        "what expired is given",
        _KIT,
        _SQLITE,
        "            elif now >= item.expires_at:\n",
        "            elif not item.id:\n",
    ),
    Mutant(
        "poison is given",
        _KIT,
        _SQLITE,
        "            elif item.attempts >= MAX_ATTEMPTS:\n",
        "            elif not item.id:\n",
    ),
    Mutant(
        "a box takes letters unasked",
        _KIT,
        _MEMORY,
        "    policy: LetterPolicy = LetterPolicy.REFUSE\n",
        "    policy: LetterPolicy = LetterPolicy.ACCEPT\n",
    ),
    Mutant(
        "a put wakes nobody",
        _KIT,
        _SQLITE,
        "            self._ring(box)\n        return places\n",
        "            pass\n        return places\n",
    ),
    Mutant(
        "a cancelled step loses the others",
        _KIT,
        _SQLITE,
        "                        self._steps[:0] = [each for each in batch if not each.is_done and each is not step]\n",
        "                        batch.clear()\n",
    ),
    Mutant("a new taker gets nothing again", _KIT, _MEMORY, "        self._box(box).taken.clear()\n", ""),
    Mutant(
        "an item leaves the store before its line is on disk",
        ("I-59",),
        _STORED,
        "            await self._journal.commit()  # what was said stands on disk before it leaves the store\n",
        "",
    ),
    Mutant(
        "what the transcript holds is read again",
        ("I-59",),
        _STORED,
        "            elif known is not None and item.id in known.read:\n",
        "            elif not item.id:\n",
    ),
    Mutant(
        "a line does not name its items",
        ("I-59",),
        "greenroom.agents._conversation",
        "        if items and [*items] != [uuid]:\n",
        "        if items and not uuid and is_at_rest:\n",
    ),
    Mutant(
        "anybody's row is the user's",
        ("I-60",),
        _STORED,
        "self._received(item if is_known else _not_the_users(item))",
        "self._received(item)",
    ),
)
"""At least one for each rule of a store, and for each promise of delivery."""
