"""Pairing: codes, their limits, and the people who approve them."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.gateway.record._rows import Pairing
from greenroom.gateway.trust._chat_admission import AdmissionAction, decide
from greenroom.gateway.trust._pairing import (
    CODE_S,
    CODE_SIGNS,
    MAX_OPEN,
    PairingDesk,
    PairingResult,
    code_digest,
    code_for,
    open_codes,
    pairing_text,
    plan_pairing,
)
from greenroom.gateway.trust._reception import item_id
from tests.gateway.trust.chats import Chats, configured, direct, open_chats

PEOPLE: Final = ("a", "b", "c", "d")


@given(st.text(), st.text())
def test_codes_have_eight_signs_that_are_not_mistaken(key: str, item: str) -> None:
    code = code_for(key, item)

    assert len(code) == 8
    assert set(code) <= set(CODE_SIGNS)
    assert not set(CODE_SIGNS) & set("0O1I")
    assert len(set(CODE_SIGNS)) == 32
    assert "/" not in pairing_text(code)


@pytest.mark.promise("A27-b")
@given(
    st.dictionaries(
        st.sampled_from(PEOPLE),
        st.builds(
            Pairing,
            channel=st.just("irc"),
            sender=st.just(""),
            asked_s=st.just(0.0),
            expires_s=st.floats(-100_000, 100_000),
            is_approved=st.booleans(),
        ),
    ),
    st.sampled_from(PEOPLE),
)
def test_an_account_has_few_open_codes_and_a_person_one(people: dict[str, Pairing], sender: str) -> None:
    plan = plan_pairing(people, sender, 0.0)
    still_open = {name for name, row in people.items() if not row.is_approved} - set(plan.expired)

    assert all(people[name].expires_s <= 0.0 or people[name].expires_s > CODE_S for name in plan.expired)
    assert plan.gives_code == (sender not in still_open and len(still_open) < MAX_OPEN)


async def pair(chats: Chats, *people: str) -> list[str]:
    """Return the codes that people get who write."""
    before = len(chats.posts)
    for person in people:
        await chats.reception.hear(direct(person, id=f"{person}{chats.now_s}"))
    return [text.split()[2] for _, text, _ in chats.posts[before:]]


@pytest.mark.promise("A27-b")
async def test_codes_are_limited_by_hour_and_account(autojump_clock: MockClock) -> None:
    async with open_chats(configured()) as chats:
        assert len(await pair(chats, *PEOPLE, *PEOPLE)) == MAX_OPEN
        chats.now_s += CODE_S - 1
        assert await pair(chats, *PEOPLE) == []
        chats.now_s += 1
        assert len(await pair(chats, "d", "a", "d", "b", "c")) == MAX_OPEN
        assert len(list(open_codes(chats.record.registry.services.pairings, chats.now_s))) == MAX_OPEN
        assert len(chats.record.registry.services.pairings["irc"]["default"]) == MAX_OPEN


@pytest.mark.promise("A27-b")
async def test_an_approval_is_for_one_person_and_survives_a_restart(autojump_clock: MockClock) -> None:
    async with open_chats(configured()) as chats:
        first, second = await pair(chats, "a", "b")
        result, row = await chats.reception.pairing.approve(f" {first[:4]} {first[4:].lower()}", who="irc:ann")
        disk = chats.disk

        assert (result, row.sender if row else "") == (PairingResult.DONE, "a")
        assert (await chats.reception.pairing.approve(first, who="irc:ann"))[0] is PairingResult.UNKNOWN
        assert second.encode() not in b"".join(disk.files.values())
    async with open_chats(configured(), disk) as chats:
        pairings = chats.record.registry.services.pairings
        found = {name: decide(chats.config, pairings, direct(name)).action for name in PEOPLE}
        assert found == dict.fromkeys(PEOPLE, AdmissionAction.PAIR) | {"a": AdmissionAction.BEGIN}
        assert await chats.reception.pairing.remove("irc", "default", "a", who="irc:ann")
        assert not await chats.reception.pairing.remove("irc", "default", "a", who="irc:ann")
        assert decide(chats.config, pairings, direct("a")).action is AdmissionAction.PAIR


async def test_a_code_that_was_lost_before_it_was_sent_is_made_again(autojump_clock: MockClock) -> None:
    """The process ended behind `pairing.asked`: the same message comes in again, and any other one has a code already."""
    async with open_chats(configured()) as chats:
        message = direct("a", id="m1")
        lost = await chats.reception.pairing.ask("irc", "default", "a", item_id(message))

        await chats.reception.hear(direct("a", id="m2"))
        assert chats.posts == []
        for _ in range(2):
            await chats.reception.hear(message)
        ((_, text, _),) = chats.posts
        approve = chats.reception.pairing.approve
        assert text.split()[2] == lost
        assert (await approve(text.split()[2], who="irc:ann", item="m3"))[0] is PairingResult.DONE
        assert (await approve(text.split()[2], who="irc:ann", item="m3"))[
            0
        ] is PairingResult.DONE  # its answer was lost
        assert (await approve(text.split()[2], who="irc:ann", item="m4"))[0] is PairingResult.UNKNOWN


async def test_a_code_that_is_sent_back_pairs_nobody(autojump_clock: MockClock) -> None:
    async with open_chats(configured()) as chats:
        (code,) = await pair(chats, "a")
        for text in (code, f"/pair {code}", f"/pair approve {code}"):
            await chats.reception.hear(direct("a", text, id=text))

        assert chats.commands == []
        assert not chats.record.registry.services.pairings["irc"]["default"]["a"].is_approved


async def test_an_expired_code_pairs_nobody(autojump_clock: MockClock) -> None:
    async with open_chats(configured()) as chats:
        (code,) = await pair(chats, "a")
        chats.now_s += CODE_S

        assert (await chats.reception.pairing.approve(code, who="x"))[0] is PairingResult.UNKNOWN


@pytest.mark.promise("A27-b")
async def test_five_wrong_codes_are_a_pause(autojump_clock: MockClock) -> None:
    """GW-22: codes count only where they are approved, and wrong ones stop that for a while."""
    async with open_chats(configured()) as chats:
        (code,) = await pair(chats, "a")
        desk = chats.reception.pairing
        wrong = [(await desk.approve(f"WRONG{number}", who="x"))[0] for number in range(7)]
        paused = await desk.approve(code, who="x")
        chats.now_s += 60
        result, _ = await desk.approve(code, who="x")

        assert wrong == [PairingResult.UNKNOWN] * 5 + [PairingResult.PAUSED] * 2
        assert paused == (PairingResult.PAUSED, None)
        assert result is PairingResult.DONE


async def test_wrong_codes_far_apart_are_no_pause(autojump_clock: MockClock) -> None:
    async with open_chats(configured()) as chats:
        for _ in range(12):
            assert (await chats.reception.pairing.reject("WRONG", who="x"))[0] is PairingResult.UNKNOWN
            chats.now_s += 16


async def test_a_code_that_is_rejected_is_gone(autojump_clock: MockClock) -> None:
    async with open_chats(configured()) as chats:
        (code,) = await pair(chats, "a")
        desk: PairingDesk = chats.reception.pairing

        assert (await desk.reject(code, who="x"))[0] is PairingResult.DONE
        assert chats.record.registry.services.pairings["irc"]["default"] == {}


def test_digests_are_of_one_person_of_one_account() -> None:
    digests = {
        code_digest("ABCD2345", channel=channel, account=account, sender=sender)
        for channel, account, sender in (
            ("a", "b", "c"),
            ("a", "b", "d"),
            ("a", "c", "c"),
            ("b", "b", "c"),
            ("a", "", "bc"),
        )
    }
    assert len(digests) == 5
