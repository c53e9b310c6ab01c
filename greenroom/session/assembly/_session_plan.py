"""The plan of a session: what its program wants and what files say, read and checked before a run folder is made."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import final

import attrs

from greenroom.agents import AgentDefinition
from greenroom.agents.compaction import CompactionSettings
from greenroom.agents.definitions import DefinitionSource
from greenroom.containment import GitCalls, MaskedDisk, Secrets, withheld_names
from greenroom.core.ports import Ports
from greenroom.core.sources import FoundPlugins, Places
from greenroom.mcp import FoundServers, McpSettings
from greenroom.models import Model
from greenroom.models.choice import ModelNames
from greenroom.permissions import Policy
from greenroom.session._events import SessionBegan
from greenroom.session.assembly._run_place import RunPlace
from greenroom.session.assembly._session_spec import SessionSpec
from greenroom.session.equipment._coordinator_mode import SCRATCHPAD, mode_of
from greenroom.session.settings._recovery_settings import RecoverySettings
from greenroom.session.settings._session_environment import EnvironmentLimits, exported_variables, resume_prompt
from greenroom.session.settings._session_settings import Settings
from greenroom.session.settings._settings_files import SettingSource, Stamps
from greenroom.tools import ToolSet
from greenroom.trace import JOURNAL, RECENT


@final
@attrs.frozen(kw_only=True)
class Plan:
    """The plan of a session, all of it read and checked."""

    spec: SessionSpec = attrs.field(repr=False)
    run: RunPlace
    model: Model
    places: Places | None
    sources: frozenset[SettingSource]
    settings: Settings
    stamps: Stamps
    """Of the settings files, from before they were read."""
    definitions: DefinitionSource
    main: AgentDefinition
    tools: ToolSet
    policy: Policy
    variables: dict[str, str] = attrs.field(repr=False)
    """Those of the settings; they change when files do."""
    environ: Mapping[str, str] = attrs.field(repr=False)
    """Variables of the machine, with those of the settings before them, as they are now."""
    secrets: Secrets = attrs.field(init=False)
    """The known secrets, which are masked in what is recorded."""
    compaction: CompactionSettings
    limits: EnvironmentLimits
    git: str
    """State of the repository, in words."""
    plugins: FoundPlugins
    servers: FoundServers
    mcp: McpSettings
    problems: tuple[str, ...]
    """Lines about what was skipped."""

    @secrets.default
    def _known_secrets(self) -> Secrets:
        withheld = withheld_names(self.settings.scalars.pass_env)
        named = [value for name, value in self.environ.items() if any(fnmatchcase(name, each) for each in withheld)]
        host = self.spec.host
        return Secrets(self.environ, values=(*named, *host.secrets), has_forms=host.masks_forms)

    @property
    def cwd(self) -> Path:
        """The folder that the agents work in."""
        return self.spec.cwd

    @property
    def calls(self) -> GitCalls:
        """The settings with which git is called."""
        passed = (*self.settings.scalars.pass_env, *self.variables)
        return GitCalls(environ=self.environ, is_trusted=self.settings.is_trusted, passed=passed)

    def masking(self, ports: Ports) -> Ports:
        """Return ports whose disk masks known secrets in what is recorded beside the conversations."""
        return (
            attrs.evolve(ports, disk=MaskedDisk(ports.disk, self.secrets, (JOURNAL, RECENT))) if self.secrets else ports
        )

    @property
    def project(self) -> Path:
        """The folder of the project."""
        return self.places.root if self.places is not None else self.cwd

    @property
    def has_mode(self) -> bool:
        """True if the program, or an administrator, chose the permission mode."""
        return self.spec.permission_mode is not None or self.settings.has_managed_mode

    @property
    def names(self) -> ModelNames:
        """Aliases of models, and the models that may be used."""
        models = self.settings.scalars.models
        return ModelNames() if models is None else models.names

    def exported(self, session: str) -> dict[str, str]:
        """Return the variables that processes of the session get."""
        return exported_variables(session, self.project)

    @property
    def resume_prompt(self) -> str:
        """The prompt for an agent whose turn an earlier process did not finish; empty where the same is asked once more."""
        return "" if self._opens_branch else resume_prompt(self.environ)

    @property
    def recovery(self) -> RecoverySettings:
        """The settings of recovery; agents of a branch were not lost, they stand where they were cut, so they continue."""
        settings = self.settings.scalars.recovery
        return attrs.evolve(settings, lost_agents="resume") if self._opens_branch else settings

    @property
    def _opens_branch(self) -> bool:
        """True if the session is the first one on a branch."""
        return self.run.branch is not None and self.run.branch.is_fresh


def session_began(plan: Plan) -> SessionBegan:
    """Return the event with which a session begins."""
    return SessionBegan(
        session=plan.run.folder.name,
        model=plan.model.name,
        cwd=str(plan.cwd),
        agent=plan.main.name,
        permission_mode=plan.policy.mode.value,
        mode=mode_of(plan.settings.scalars.delegation),
        title=plan.run.beginning.title,
    )


async def make_scratchpad(plan: Plan, folder: Path, ports: Ports) -> Path | None:
    """Make the folder that a coordinator's workers share, and return it; None if there is none."""
    delegation = plan.settings.scalars.delegation
    if not (delegation.coordinator and delegation.scratchpad):
        return None
    await ports.blocking.run(ports.disk.make_folder, folder / SCRATCHPAD)
    return folder / SCRATCHPAD
