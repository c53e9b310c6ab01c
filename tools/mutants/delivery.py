"""Mutants of what waits for an agent: the stores of boxes, and the inbox of a session."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_KIT: Final = ("I-57",)
_BALANCE: Final = "greenroom.trace._checks_inbox"
_BALANCE_TESTS: Final = ("tests/trace/test_checks_inbox.py",)
_KIT_TESTS: Final = ("tests/store/test_inbox_stores.py",)
_SESSION_TESTS: Final = ("tests/session/test_stored_inbox.py",)
_MEMORY: Final = "greenroom.store._memory_inbox"
_PEERS: Final = "greenroom.session.peers._peer_sessions"
_PEER_TESTS: Final = ("tests/session/test_peers.py",)
_PORT: Final = "greenroom.inbox._inbox_store"
_ROWS: Final = "greenroom.store._inbox_rows"
_SQLITE: Final = "greenroom.store._sqlite_inbox"
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
        "a session reads its own letters",
        ("I-61",),
        _PEERS,
        "        if letter.sender == own:\n",
        "        if not own:\n",
        tests=_PEER_TESTS,
    ),
    Mutant(
        "a refused letter counts as a repeat",
        ("I-61",),
        _PEERS,
        'if error.kind != "unknown" and sent in self._recent:',
        "if not to:",
        tests=_PEER_TESTS,
    ),
    Mutant(
        "a letter that may have arrived is called refused",
        ("I-61",),
        _PEERS,
        '    "broken": "unknown",\n',
        '    "broken": "refused",\n',
        tests=("tests/session/test_peer_matrix.py",),
    ),
    Mutant(
        "a socket that was closed is waited for",
        (),
        "greenroom.remote._letters",
        "        if not received:\n            self._scope.cancel()\n",
        "",
        tests=("tests/remote/test_letters.py",),
    ),
    Mutant(
        "a put is acknowledged and rolled back",
        ("R6-b",),
        _SQLITE,
        '                on.execute("COMMIT")\n            except',
        '                on.execute("ROLLBACK")\n            except',
        tests=("tests/store/test_killed_processes.py",),
    ),
    Mutant(
        "an item may end twice",
        ("I-56",),
        _BALANCE,
        '    if item.end:\n        yield entry.seq, f"item {name} ends',
        '    if not name:\n        yield entry.seq, f"item {name} ends',
        tests=_BALANCE_TESTS,
    ),
    Mutant(
        "an item that is lost balances",
        ("I-56",),
        _BALANCE,
        "record.stored is not None and not is_stored:\n            yield",
        "not name:\n            yield",
        tests=_BALANCE_TESTS,
    ),
    Mutant(
        "an item that was withdrawn may be read",
        ("I-56",),
        _BALANCE,
        "        if lines and item.end in _WITHOUT_LINE:\n",
        "        if not name:\n",
        tests=_BALANCE_TESTS,
    ),
    Mutant(
        "a durable schedule is kept in memory",
        (),
        "greenroom.session.parts._session_schedules",
        "        if durable and not self._settings.durable:\n",
        "        if not prompt and durable:\n",
        tests=("tests/session/test_schedules.py",),
    ),
)
"""At least one for each rule of a store, and for each promise of delivery."""
