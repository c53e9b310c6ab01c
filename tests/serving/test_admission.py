"""Connections that stay when there are too many, against a plain list."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.serving import Secrets
from greenroom.serving._admission import Admission, Seat

TEXTS = st.text(alphabet="ab\0é€", max_size=4)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["enter", "enter", "enter", "prove", "wrong", "leave"]),
        st.sampled_from("abc"),
        st.integers(0, 9),
    ),
    max_size=60,
)


@attrs.define
class Model:
    """The seats in the order of their arrival."""

    seats: list[Seat] = attrs.field(factory=list)
    wrong: list[Seat] = attrs.field(factory=list)

    def victim(self, address: str) -> Seat | None:
        unproven = [seat for seat in self.seats if seat.proven_at is None]
        same = [seat for seat in unproven if seat.address == address]
        standing = same if len(same) >= 3 else unproven if len(unproven) >= 6 else []
        return next((seat for seat in standing if seat in self.wrong), standing[0] if standing else None)


@pytest.mark.promise("A25-h")
@given(STEPS)
def test_a_newcomer_gets_in_and_the_right_one_goes(steps: list[tuple[str, str, int]]) -> None:
    admission, model = Admission(max_unproven=6, max_unproven_of_address=3), Model()
    for step, address, number in steps:
        if step == "enter":
            expected = model.victim(address)
            seat, given_up = admission.enter(address)
            assert given_up is expected
            if given_up is not None:
                model.seats.remove(given_up)
                admission.leave(given_up)  # as its task does when it ends
            model.seats.append(seat)
        elif model.seats:
            seat = model.seats[number % len(model.seats)]
            if step == "prove":
                full = sum(each.proven_at == "/x" for each in model.seats) >= 2 and seat.proven_at is None
                assert admission.prove(seat, "/x", limit=2) is not full
            elif step == "wrong":
                admission.note_wrong(seat)
                model.wrong.append(seat)
            else:
                admission.leave(seat)
                model.seats.remove(seat)
        assert admission.unproven == sum(seat.proven_at is None for seat in model.seats) <= 6
        assert admission.proven == sum(seat.proven_at is not None for seat in model.seats)


def test_a_given_up_connection_can_no_longer_prove_itself() -> None:
    admission = Admission(max_unproven_of_address=1)
    first, _ = admission.enter("a")
    admission.enter("a")

    assert not admission.prove(first, "/x", limit=9)


@given(st.dictionaries(TEXTS, st.integers(), max_size=5), TEXTS)
def test_a_secret_means_what_was_said_and_others_mean_nothing(meanings: dict[str, int], asked: str) -> None:
    secrets = Secrets(meanings)

    assert secrets.find(asked) == meanings.get(asked)
    assert all(secrets.find(secret) == meaning for secret, meaning in meanings.items())
    assert secrets.find("\ud800") is None
