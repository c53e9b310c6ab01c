"""The folder of a run, and the run that it continues."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, final

import attrs

from greenroom.core import UsageError
from greenroom.core.ports import Ports, is_uuid
from greenroom.core.ports import session_id as new_session_id
from greenroom.permissions import Policy
from greenroom.session.assembly._session_spec import SessionSpec
from greenroom.session.record._resume import Beginning, Fork, find_session, is_archived, read_beginning

if TYPE_CHECKING:  # most sessions are opened on no branch
    from greenroom.session.record._branch_start import BranchStart


@final
@attrs.frozen(kw_only=True)
class RunPlace:
    """The folder of a run, and the run that it continues."""

    folder: Path
    earlier: Path | None = None
    """The folder of the run that is resumed or forked; None for neither."""
    beginning: Beginning = attrs.field(factory=Beginning)
    """The arguments with which that run was last opened."""
    branch: BranchStart | None = None
    """The origin and the changes of the run, if it is a branch of another one."""

    @property
    def is_resumed(self) -> bool:
        """True if the session continues a run in that run's folder."""
        return self.earlier == self.folder

    @property
    def problem(self) -> str:
        """A line about changes of the branch that do not count; empty if there are none."""
        return "" if self.branch is None else self.branch.problem

    def limit(self, policy: Policy) -> Policy:
        """Return a policy as it holds in the run."""
        return policy if self.branch is None else attrs.evolve(policy, refuses_changes=self.branch.refuses_changes)


async def find_place(spec: SessionSpec, ports: Ports) -> RunPlace:
    """Return the folder of the session, and the run that it continues."""
    if spec.resume is None:
        return RunPlace(folder=await _folder_of(spec, None, ports))
    is_fork = isinstance(spec.resume, Fork)
    wanted = spec.resume.run if isinstance(spec.resume, Fork) else spec.resume
    earlier = await ports.blocking.run(find_session, wanted, spec.runs)
    if not is_fork and await ports.blocking.run(is_archived, earlier):
        raise UsageError(
            f"cannot resume {earlier.name}: it is archived; fork it, for its conversation in a new session"
        )
    folder = await _folder_of(spec, None if is_fork else earlier, ports)
    return RunPlace(
        folder=folder,
        earlier=earlier,
        beginning=await ports.blocking.run(read_beginning, earlier),
        branch=None if is_fork else await ports.blocking.run(_read_branch, earlier),
    )


def _read_branch(run_folder: Path) -> BranchStart | None:
    from greenroom.session.record._branch_start import read_branch

    return read_branch(run_folder)


async def _folder_of(spec: SessionSpec, earlier: Path | None, ports: Ports) -> Path:
    """Return the run folder of a session: that of the run that it resumes, or a new one named by its id."""
    chosen, runs = spec.session_id, spec.runs
    if spec.host.replay is not None:
        return runs / spec.host.replay.name
    if chosen is None:
        return earlier or runs / new_session_id(ports.ids, ports.clock.wall())
    if not is_uuid(chosen):
        raise UsageError(f"session_id must be a lowercase UUID, got {chosen!r}")
    if earlier is not None:
        raise UsageError(
            f"cannot use session_id with resume: the run keeps its id {earlier.name}; fork it for another id"
        )
    if await ports.blocking.run((runs / chosen).exists):
        raise UsageError(f"the session id {chosen} is in use by another run in {runs}")
    return runs / chosen
