"""The first messages of a connection: versions, identity, proof."""

from __future__ import annotations

import attrs
import orjson
import pytest

from greenroom.remote.wire._hello import (
    Hello,
    NoCommonVersion,
    agreed_version,
    check_token,
    is_proof,
    new_random,
    proof_message,
    prove,
    read_hello,
    read_proof,
)
from greenroom.remote.wire._numbered_channel import UNREADABLE, WireError

TOKEN = b"t" * 32


def hello(**values: object) -> Hello:
    return Hello(**({"node": "here", "boot": new_random(), "link": new_random()} | values))  # type: ignore[arg-type]


def test_a_hello_comes_back_as_it_was() -> None:
    said = hello(got=(3, 4), tick_s=1.5, build="1.2")
    assert read_hello(said.to_bytes()) == said


def test_fields_of_later_versions_are_ignored() -> None:
    values = orjson.loads(hello().to_bytes())
    values["hello"]["color"] = "red"
    assert read_hello(orjson.dumps(values)).node == "here"


@pytest.mark.promise("R2-e")
@pytest.mark.parametrize(("ours", "theirs", "agreed"), [((1, 1), (1, 1), 1), ((1, 1), (1, 2), 1), ((1, 3), (2, 4), 3)])
def test_the_higher_common_version_counts(ours: tuple[int, int], theirs: tuple[int, int], agreed: int) -> None:
    assert agreed_version(hello(v=ours), hello(v=theirs)) == agreed


@pytest.mark.promise("R2-e")
def test_builds_without_a_common_version_refuse_each_other_and_name_both() -> None:
    with pytest.raises(NoCommonVersion, match="this side speaks 1, the other 2 to 3") as caught:
        agreed_version(hello(v=(1, 1)), hello(v=(2, 3)))
    assert (caught.value.ours, caught.value.theirs) == ((1, 1), (2, 3))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"node": ""}, "the name of a node must be 1 to 64 letters"),
        ({"node": "a\nb"}, "a node must be"),
        ({"node": None}, "is not text"),
        ({"boot": "0"}, "boot must be 32 hexadecimal digits"),
        ({"link": "G" * 32}, "link must be 32 hexadecimal digits"),
        ({"got": [1]}, "got must be two numbers"),
        ({"got": [-1, 0]}, "got must be two numbers"),
        ({"got": "12"}, "is not a list"),
        ({"v": [2, 1]}, "v must be the lowest and the highest"),
        ({"max_bytes": 1}, "max_bytes"),
        ({"tick_s": 0}, "tick_s"),
        ({"tick_s": "inf"}, "tick_s"),
        ({"nonce": ""}, "nonce must be"),
        ({"build": "b" * 100}, "build"),
    ],
)
def test_a_hello_that_cannot_be_names_its_field(change: dict[str, object], says: str) -> None:
    values = orjson.loads(hello().to_bytes())
    values["hello"] |= change
    with pytest.raises(WireError, match=says) as caught:
        read_hello(orjson.dumps(values))
    assert caught.value.code == UNREADABLE


@pytest.mark.parametrize("message", [b"", b"[]", b"{}", b'{"hello": 1}', b"x" * 70_000, b'{"hello": {}}'])
def test_what_is_no_hello_is_refused(message: bytes) -> None:
    with pytest.raises(WireError, match="hello"):
        read_hello(message)


@pytest.mark.parametrize("message", [b"{}", b'{"proof": {}}', b'{"proof": {"hmac": 1}}'])
def test_what_is_no_proof_is_refused(message: bytes) -> None:
    with pytest.raises(WireError, match="proof"):
        read_proof(message)


@pytest.mark.promise("R13-b")
def test_a_proof_is_good_for_one_role_of_one_connection_of_one_link() -> None:
    dialler, listener = hello(node="a"), hello(node="b")
    proof = read_proof(proof_message(prove(TOKEN, "dials", dialler=dialler, listener=listener)))
    assert is_proof(proof, TOKEN, "dials", dialler=dialler, listener=listener)
    others = [
        (TOKEN, "listens", dialler, listener),
        (b"u" * 32, "dials", dialler, listener),
        (TOKEN, "dials", attrs.evolve(dialler, nonce=new_random()), listener),
        (TOKEN, "dials", dialler, attrs.evolve(listener, nonce=new_random())),
        (TOKEN, "dials", attrs.evolve(dialler, node="c"), listener),
        (TOKEN, "dials", dialler, attrs.evolve(listener, node="c")),
        (TOKEN, "dials", attrs.evolve(dialler, link=new_random()), listener),
    ]
    for token, role, one_side, other_side in others:
        assert not is_proof(proof, token, role, dialler=one_side, listener=other_side)  # type: ignore[arg-type]
    assert TOKEN.decode() not in proof


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 32 bytes, got 31"):
        check_token(b"t" * 31)
