"""Lines of IRC: parsing, writing, and cutting, for texts of any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.gateway.announce._parts import cut_line, cut_parts, utf8_bytes
from greenroom.gateway.channels._irc import PART_BYTES
from greenroom.gateway.channels._irc_lines import (
    LINE_BYTES,
    IrcLine,
    fits_mask,
    fold_name,
    format_line,
    mentions,
    parse_line,
    room_for_text,
    shown_text,
    text_lines,
)

# Scripts, joined characters, everything that ends a line somewhere, and what is not a character at all.
PIECE = st.text(
    st.sampled_from("aä漢🙂é\u0301\u200d🏽🇩🇪\n\r\0\x01 `~\x0b\x0c\x1c\x85\u2028\ud800") | st.characters(), max_size=40
)
ANY_TEXT = st.builds(lambda piece, times, rest: piece * times + rest, PIECE, st.integers(1, 60), PIECE)
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=12).filter(
    lambda word: not word.startswith((":", "@")) and "\x7f" not in word and not any(c.isspace() for c in word)
)


@pytest.mark.promise("A26-d")
@given(ANY_TEXT, st.integers(1, 30), st.integers(0, 100))
def test_no_sent_line_holds_an_end_or_is_too_long(text: str, nick: int, prefix: int) -> None:
    own, target = "n" * nick, "#" + "t" * 30
    own_prefix = f"{own}!{'p' * prefix}@h" if prefix else ""
    room = room_for_text(own, own_prefix, target)

    for part in cut_parts(text, PART_BYTES, utf8_bytes):
        for line in text_lines(part.text, room):
            raw = format_line("PRIVMSG", target, line)
            relayed = f":{own_prefix or own + '!' + 'u' * 20 + '@' + 'h' * 63} ".encode() + raw
            assert raw.endswith(b"\r\n")
            assert not set(raw[:-2]) & {0, 10, 13}
            assert len(relayed) <= LINE_BYTES
            raw.decode()


@pytest.mark.promise("A26-d")
@given(ANY_TEXT, st.integers(20, 400))
def test_the_lines_of_a_text_are_the_text(text: str, room: int) -> None:
    lines = text_lines(text, room)

    expected = [line for line in text.replace("\r", "\n").split("\n") if line.strip("\0\x01").strip()]
    whole = "".join(expected).encode("utf-8", "replace").decode()
    assert "".join(lines) == whole.replace("\0", "").replace("\x01", "")


@pytest.mark.promise("A26-d")
@given(st.text(st.sampled_from("aä漢🙂e\u0301\u200d🏽🇩🇪` "), max_size=300), st.integers(4, 60))
def test_the_pieces_of_a_line_are_the_line(line: str, limit: int) -> None:
    pieces = cut_line(line, limit, utf8_bytes)

    assert "".join(pieces) == line
    assert all(0 < utf8_bytes(piece) <= limit for piece in pieces)


def test_no_character_is_cut_between_lines() -> None:
    lines = text_lines("e\u0301" * 40 + "👨\u200d👩\u200d👧" * 5, 40)

    assert all(not line.startswith(("\u0301", "\u200d")) for line in lines)


@pytest.mark.promise("A26-d")
@given(st.lists(WORDS, min_size=1, max_size=5), PIECE)
def test_a_written_line_is_read_as_it_was_meant(words: list[str], text: str) -> None:
    line = parse_line(format_line("PRIVMSG", *words, text))

    kept = text.encode("utf-8", "replace").decode()
    for removed in "\0\x01\r\n":
        kept = kept.replace(removed, "")
    assert line == IrcLine(command="PRIVMSG", params=(*words, kept))


@pytest.mark.parametrize("word", ["", ":a", "a b", "a\r\nQUIT", "a\0", "a\x7f", "a\tb"])
def test_a_parameter_that_is_not_one_word_is_refused(word: str) -> None:
    with pytest.raises(UsageError):
        format_line("PRIVMSG", word, "text")


@given(st.binary(max_size=80))
def test_any_bytes_are_a_line_or_none(raw: bytes) -> None:
    line = parse_line(raw)

    assert line is None or line.command


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (
            b"@time=2026-01-01T00:00:00.000Z;account=ann;x=a\\:b\\sc\\\\d\\ :ann!~a@h PRIVMSG #room :hi :there\r\n",
            IrcLine(
                command="PRIVMSG",
                params=("#room", "hi :there"),
                source="ann!~a@h",
                tags={"time": "2026-01-01T00:00:00.000Z", "account": "ann", "x": "a;b c\\d"},
            ),
        ),
        (b":s 001 agent", IrcLine(command="001", params=("agent",), source="s")),
        (b"PING :abc\r", IrcLine(command="PING", params=("abc",))),
        (b"ping  a  b", IrcLine(command="PING", params=("a", "b"))),
        (b":s PRIVMSG a :caf\xe9", IrcLine(command="PRIVMSG", params=("a", "café"), source="s")),
        (b":a PRIVMSG b :", IrcLine(command="PRIVMSG", params=("b", ""), source="a")),
        (b"", None),
        (b":s", None),
        (b"@a=b", None),
    ],
)
def test_a_line_is_parsed(raw: bytes, line: IrcLine | None) -> None:
    assert parse_line(raw) == line


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x02bold\x02 \x0304,12red\x03 \x1d\x1f\x0f.", "bold red ."),
        ("\x01ACTION waves\x01", "* waves"),
        ("\x04ff0000hex\x04 \x1b[31mred", "hex [31mred"),
        ("tab\there", "tab\there"),
    ],
)
def test_a_message_is_shown_without_formats(raw: str, shown: str) -> None:
    assert shown_text(raw) == shown


def test_names_are_compared_as_the_server_does() -> None:
    assert fold_name("Ann[1]", "rfc1459") == "ann{1}"
    assert fold_name("Ann[1]", "ascii") == "ann[1]"


@pytest.mark.parametrize(
    ("mask", "person", "fits"),
    [
        ("ann!~a@host", "Ann!~a@host", True),
        ("ann!*@*.example.org", "ann!x@a.example.org", True),
        ("ann!*@*.example.org", "ann!x@example.com", False),
        ("a[b]!*@*", "a[b]!x@y", True),
        ("a[b]!*@*", "ab!x@y", False),
        ("ann!~a@host", "annie!~a@host", False),
    ],
)
def test_a_person_fits_a_mask(mask: str, person: str, *, fits: bool) -> None:
    assert fits_mask(mask, person) == fits


@pytest.mark.parametrize(
    ("text", "is_mentioned"),
    [
        ("agent: hello", True),
        ("hello, AGENT", True),
        ("agent", True),
        ("agents", False),
        ("my-agent", False),
        ("agent_", False),
        ("reagent", False),
        ("@agent!", True),
    ],
)
def test_a_nick_is_found_as_a_word(text: str, *, is_mentioned: bool) -> None:
    assert mentions(text, "agent") == is_mentioned
