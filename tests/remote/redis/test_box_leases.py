"""Leases of boxes: one holder at a time, and what an earlier one says counts no more."""

from __future__ import annotations

import random

import attrs
import pytest

from greenroom.remote.redis._box_leases import BoxLeases, Claimable, Fence, LeasedElsewhere, fence_of, plan_lease

LEASE_S = 30.0
HOLDERS = ("east:1", "east:2", "west:1", "west:2")


@attrs.define
class PretendedServer:
    """The fence of one box, and the time at which its lease runs out, as the scripts treat them."""

    fence: Fence | None = None
    until_s: float = 0.0

    def claim(self, read: Fence | None, plan: Claimable, now_s: float) -> bool:
        if self.fence != read or (plan.if_free and self.until_s > now_s):
            return False
        self.fence, self.until_s = plan.fence, now_s + LEASE_S
        return True

    def renew(self, fence: Fence, now_s: float) -> bool:
        if self.fence == fence:
            self.until_s = now_s + LEASE_S
        return self.fence == fence


def test_fence_is_read_as_it_was_written() -> None:
    assert fence_of(str(Fence(7, "east:1"))) == Fence(7, "east:1")


def test_box_of_nobody_is_claimed_unless_somebody_was_faster() -> None:
    assert plan_lease(None, 0.0, holder="east:1") == Claimable(Fence(1, "east:1"), if_free=True)


@pytest.mark.promise("R9-a", "R9-b")
def test_lease_in_force_is_waited_for_and_taken_over_when_it_has_run_out() -> None:
    assert plan_lease(Fence(4, "east:1"), 12.5, holder="west:1") == LeasedElsewhere("east:1", 12.5)
    assert plan_lease(Fence(4, "east:1"), 0.0, holder="west:1") == Claimable(Fence(5, "west:1"), if_free=True)


@pytest.mark.promise("R9-a")
def test_lease_of_an_earlier_process_of_the_node_is_taken_at_once() -> None:
    assert plan_lease(Fence(4, "east:1"), 12.5, holder="east:2") == Claimable(Fence(5, "east:2"), if_free=False)


def test_own_lease_keeps_its_number() -> None:
    assert plan_lease(Fence(4, "east:1"), -1.0, holder="east:1") == Claimable(Fence(4, "east:1"), if_free=False)


STEPS = ("read", "claim", "renew", "acknowledge")


@pytest.mark.promise("R9-b", "RM-12")
def test_only_the_latest_holder_acknowledges_and_a_lease_in_force_is_another_nodes_to_the_end() -> None:
    """RM-12. Mechanism: each new holder has a larger number, and a smaller one is refused for good."""
    chance = random.Random(1)
    assert sum(len(acknowledged(chance)) for _ in range(300)) > 300


def acknowledged(chance: random.Random) -> list[Fence]:
    """Return whose acknowledgements count when four processes of two nodes read, claim, renew and acknowledge at random."""
    server, leases = PretendedServer(), {holder: BoxLeases(LEASE_S) for holder in HOLDERS}
    read: dict[str, tuple[Fence | None, float]] = {}
    now_s, accepted = 0.0, []
    for _ in range(40):
        holder, step = chance.choice(HOLDERS), chance.choice(STEPS)
        now_s += chance.uniform(0.0, LEASE_S)
        own = leases[holder]
        fence = own.fence("box")
        if step == "read":
            read[holder] = server.fence, server.until_s - now_s
        elif step == "claim" and holder in read and own.lost_to("box") is None:
            found, left_s = read.pop(holder)
            until_s = server.until_s
            plan = plan_lease(found, left_s, holder=holder)
            if isinstance(plan, Claimable) and server.claim(found, plan, now_s):
                own.note_held("box", plan.fence, now_s)
                assert found is None or found.node == plan.fence.node or until_s <= now_s
        elif step == "renew" and fence is not None and not server.renew(fence, now_s):
            own.note_lost("box", str(server.fence))
        elif step == "acknowledge" and fence is not None and server.fence == fence:
            accepted.append(fence)
    assert [each.epoch for each in accepted] == sorted(each.epoch for each in accepted)
    assert len({each.epoch for each in accepted}) == len(set(accepted))
    return accepted


@pytest.mark.promise("R9-b")
def test_box_that_was_lost_stays_lost_until_it_is_opened_anew() -> None:
    leases = BoxLeases(LEASE_S)
    leases.note_held("box", Fence(1, "east:1"), 0.0)
    leases.note_lost("box", "west:1")
    leases.note_lost("box", "south:1")
    assert (leases.fence("box"), leases.lost_to("box"), leases.held()) == (None, "west:1", {})
    leases.forget("box")
    assert leases.lost_to("box") is None


@pytest.mark.promise("R9-b")
def test_lease_is_renewed_three_times_within_its_duration() -> None:
    leases = BoxLeases(LEASE_S)
    leases.note_held("a", Fence(1, "east:1"), 0.0)
    leases.note_held("b", Fence(2, "east:1"), 5.0)
    assert leases.due(9.9) == {}
    assert leases.due(10.0) == {"a": Fence(1, "east:1")}
    leases.note_held("a", Fence(1, "east:1"), 10.0)
    assert leases.due(15.0) == {"b": Fence(2, "east:1")}
