"""Mutants of the gateway's channels: accounts, IRC and Matrix."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ACCOUNTS: Final = "greenroom.gateway.channels._accounts"
_ACCOUNTS_TESTS: Final = ("tests/gateway/channels/test_accounts.py",)
_IRC: Final = "greenroom.gateway.channels._irc"
_IRC_TESTS: Final = ("tests/gateway/channels/test_irc.py",)
_KIT_ON_IRC: Final = ("tests/gateway/channels/test_irc_conformance.py",)
_LINES: Final = "greenroom.gateway.channels._irc_lines"
_LINES_TESTS: Final = ("tests/gateway/channels/test_irc_lines.py",)
_LINK: Final = "greenroom.gateway.channels._irc_link"
_REGISTRATION: Final = "greenroom.gateway.channels._irc_registration"
_MATRIX: Final = "greenroom.gateway.channels._matrix"
_MATRIX_TESTS: Final = ("tests/gateway/channels/test_matrix.py",)
_KIT_ON_MATRIX: Final = ("tests/gateway/channels/test_matrix_conformance.py",)
_API: Final = "greenroom.gateway.channels._matrix_api"
_EVENTS: Final = "greenroom.gateway.channels._matrix_events"

GATEWAY_CHANNELS: Final = (
    Mutant(
        "a lost account is tried again at once",
        ("A26-a",),
        _ACCOUNTS,
        "wait_after_loss(account.losses, self._uses.ports.chance.random())",
        "wait_after_loss(1, 0.0)",
        tests=_ACCOUNTS_TESTS,
    ),
    Mutant(
        "messages are handed in while intake is shut",
        (),
        _ACCOUNTS,
        "            await self._intake.wait_open()\n",
        "",
        tests=_ACCOUNTS_TESTS,
    ),
    Mutant(
        "a change of who may write reconnects the account",
        (),
        _ACCOUNTS,
        "connection_of(settings) == connection_of(account.settings)",
        "settings == account.settings",
        tests=_ACCOUNTS_TESTS,
    ),
    Mutant(
        "a message that cannot be stored is given up",
        (),
        _ACCOUNTS,
        "                await trio.sleep(HEAR_AGAIN_S)\n",
        "                return\n",
        tests=_ACCOUNTS_TESTS,
    ),
    Mutant(
        "line breaks stay in a line of IRC",
        ("A26-d",),
        _LINES,
        'return " ".join([command, *middle, ":" + _REMOVED.sub("", last)])',
        'return " ".join([command, *middle, ":" + last])',
        tests=_LINES_TESTS,
    ),
    Mutant(
        "the server's prefix is not counted",
        ("A26-d",),
        _LINES,
        'return LINE_BYTES - len(":") - prefix - len',
        'return LINE_BYTES - len(":") - len',
        tests=_LINES_TESTS,
    ),
    Mutant(
        "a message that is being stored is forgotten with the connection",
        ("A26-a",),
        _IRC,
        "            await host.hear(inbound)\n            self._unheard.popleft()\n",
        "            self._unheard.popleft()\n            await host.hear(inbound)\n",
        tests=_KIT_ON_IRC,
    ),
    Mutant(
        "a text without a receipt counts as failed",
        ("A26-c",),
        _LINK,
        "            if not is_begun:\n",
        "            if True:\n",
        tests=_IRC_TESTS,
    ),
    Mutant(
        "a text counts as taken at the first answer",
        ("A26-c",),
        _LINK,
        "CONFIRMATIONS: Final = 2\n",
        "CONFIRMATIONS: Final = 1\n",
        tests=_IRC_TESTS,
    ),
    Mutant(
        "a text counts as taken without a receipt",
        ("A26-c",),
        _LINK,
        'sent.end(SendResult.UNKNOWN, "the connection ended before the server had confirmed the text")',
        "sent.end(SendResult.TAKEN)",
        tests=_IRC_TESTS,
    ),
    Mutant(
        "every text to anybody is refused by an error",
        ("A26-b",),
        _LINK,
        "if each.target == target and not each.answers",
        "if each.receipt is None",
        tests=_IRC_TESTS,
    ),
    Mutant(
        "lines have no pace",
        (),
        _LINK,
        "            await trio.sleep_until(max(self._free_s, now))\n",
        "",
        tests=_IRC_TESTS,
    ),
    Mutant(
        "an account counts without a granted capability",
        (),
        _IRC,
        'if "account-tag" in link.registration.capabilities else ""',
        'if link.registration else ""',
        tests=_IRC_TESTS,
    ),
    Mutant(
        "a reply goes to whoever has the nick",
        (),
        _IRC,
        "        if not is_same:\n",
        "        if False:\n",
        tests=_IRC_TESTS,
    ),
    Mutant(
        "notices are messages of people",
        ("A26-e",),
        _IRC,
        'is_program=line.command == "NOTICE" or "bot" in line.tags',
        'is_program="bot" in line.tags',
        tests=_IRC_TESTS,
    ),
    Mutant(
        "a server without SASL gets no password and is used all the same",
        (),
        _REGISTRATION,
        '            if "sasl" not in self._offered:\n',
        "            if False:\n",
        tests=_IRC_TESTS,
    ),
    Mutant(
        "the mark moves before a message is stored",
        ("A26-a",),
        _MATRIX,
        "            mark = await self._take(api, host, mark, news)\n            if not",
        "            await host.save_cursor(MatrixMark(since=news.since).to_cursor())\n"
        "            mark = await self._take(api, host, mark, news)\n            if not",
        tests=_KIT_ON_MATRIX,
    ),
    Mutant(
        "each try has a key of its own",
        ("A26-c",),
        _MATRIX,
        'api.call("PUT", path, room, part.key, body',
        'api.call("PUT", path, room, f"{part.key}{trio.current_time()}", body',
        tests=_KIT_ON_MATRIX,
    ),
    Mutant(
        "a password logs in by a new device each time",
        (),
        _MATRIX,
        "hashlib.sha256(self._account.encode())",
        "hashlib.sha256(str(self._ports.ids.bits(64) + id(api)).encode())",
        tests=_MATRIX_TESTS,
    ),
    Mutant(
        "invitations of everybody are followed",
        (),
        _MATRIX,
        "if host.may_invite(inviter):",
        "if inviter:",
        tests=_MATRIX_TESTS,
    ),
    Mutant(
        "notices of programs begin turns",
        ("A26-e",),
        _EVENTS,
        'is_program=kind == "m.notice")',
        "is_program=False)",
        tests=_MATRIX_TESTS,
    ),
    Mutant(
        "a room of three is a direct chat",
        (),
        _EVENTS,
        "return members == {own_id, person}",
        "return members >= {own_id, person}",
        tests=_MATRIX_TESTS,
    ),
    Mutant(
        "a token is sent without encryption",
        (),
        _API,
        '(parts.scheme == "http" and is_loopback_host(host))',
        '(parts.scheme == "http")',
        tests=_MATRIX_TESTS,
    ),
    Mutant(
        "a gap in a room is not filled",
        (),
        _MATRIX,
        "        if news.gap_from:\n",
        "        if False:\n",
        tests=_MATRIX_TESTS,
    ),
    Mutant(
        "a refusal that names a time counts as final",
        ("A26-b",),
        _MATRIX,
        "why=str(refused), wait_s=refused.wait_s)",
        "why=str(refused))",
        tests=_MATRIX_TESTS,
    ),
)
