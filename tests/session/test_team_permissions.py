"""Permissions of teammates in a session: those of their lead, refusals, and a lead that only delegates."""

from __future__ import annotations

from pathlib import Path

import pytest
from trio.testing import MockClock

from greenroom.agents import PermissionQuestion
from greenroom.models import Call
from greenroom.permissions import Deny, Mode
from greenroom.teams._member_tools import DELEGATE_TOOLS
from tests.agents.pages import in_order, kind
from tests.session.teamwork import open_teamwork
from tests.teams.crews import member

RISKY = Call("Write", {"file_path": "risky.txt", "content": "x"})


async def test_a_mate_begins_as_its_lead_is_treated(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mode and rules of the lead as they are then, whatever the definition says."""
    async with open_teamwork(tmp_path, in_order(), mode="default") as session, session.open_team("t") as team:
        await team.spawn("one", definition=kind("ann", permission_mode="acceptEdits"))
        await session.permissions.set_mode("bypassPermissions")
        await team.spawn("two", definition=kind("ann", permission_mode="default"))
        modes = [member(team, name).home.profile.policy.mode.value for name in ("one", "two")]

    assert modes == ["default", "bypassPermissions"]


@pytest.mark.parametrize("by_settings", [True, False])
async def test_a_lead_in_delegate_mode_keeps_what_leads(
    by_settings: bool, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """As long as the team is open."""
    settings = {"teams": {"delegate_mode": True}} if by_settings else None
    async with open_teamwork(tmp_path, in_order(), settings=settings) as session:
        before = session.tools
        async with session.open_team("t", delegate_mode=None if by_settings else True):
            during = session.tools
        assert session.tools == before

    assert "Write" in before
    assert set(during) <= set(DELEGATE_TOOLS)
    assert {"Agent", "SendMessage", "TaskCreate", "TaskUpdate"} <= set(during)


async def test_what_the_user_says_ends_a_refusal(tmp_path: Path, autojump_clock: MockClock) -> None:

    async def user(_: PermissionQuestion) -> Deny:
        return Deny(message="No.")

    pages = {"ann": in_order(RISKY, "Refused."), "bob": in_order(RISKY, "Refused.", RISKY, "Done.")}
    async with (
        open_teamwork(tmp_path, in_order(), pages=pages, mode="default", can_use_tool=user) as session,
        session.open_team("t") as team,
    ):
        await team.spawn("ann", definition=kind("ann"), prompt="Go.")
        await session.wait_quiet()
        await team.spawn("bob", definition=kind("bob"), prompt="Go.")
        home = member(team, "bob").home
        home.replace(policy=home.profile.policy.with_mode(Mode.ACCEPT_EDITS))
        await session.wait_quiet()
        assert not (tmp_path / "project/risky.txt").exists()
        await session.run("Let bob do it.")
        team.teammates["bob"].tell("Now.")
        await session.wait_quiet()

    assert (tmp_path / "project/risky.txt").exists()
