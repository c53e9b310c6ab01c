"""The options of `greenroom swarm`, and the plan that is made of them: the model, the lead, the teammates and their prompts."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import builtin_definitions, load_definitions
from greenroom.core import UsageError
from greenroom.core.sources import find_places
from greenroom.effects import EFFECTS_FILE
from greenroom.models import AnthropicModel, FaultRates, Model, PlaybookModel, RetryPolicy, chaotic, retrying
from greenroom.models.choice import DEFAULT_CLAUDE_MODEL, INHERIT
from greenroom.supervisor import Restart
from greenroom.swarm.recipes import BUILTINS, ROLE_TOOLS, SURVEY, TOOL_NAMES, Recipe
from greenroom.terminal import OpenRunPage, without_page
from greenroom.tools import Tool

if TYPE_CHECKING:
    from greenroom.remote.ray import RayHostPlan, RayHosts

PLAYBOOK: Final = "playbook"
KEY: Final = "ANTHROPIC_API_KEY"
DEFAULT_AGENTS: Final = 4
OpenHosts = Callable[["RayHostPlan"], AbstractAsyncContextManager["RayHosts"]]
DEFAULT_RECIPE: Final = SURVEY.name
LEAD: Final = SURVEY.lead.name


@attrs.frozen(kw_only=True)
class SwarmOptions:
    """The options of the command line."""

    path: Path
    task: str = ""
    agents: int = DEFAULT_AGENTS
    model: str = ""
    runs: Path | None = None
    durability: str | None = None
    """What the record survives; None: as an administrator's settings say."""
    is_json: bool = False
    latency_s: float | None = None
    """Seconds that the playbook waits before each answer; None: as it fits where the output goes."""
    recipe: str = DEFAULT_RECIPE
    max_usd: float | None = None
    """US dollars that the run may cost; None: as the settings say."""
    is_agreed: bool = False
    """True if the cost is agreed to, whatever it is."""
    seed: int | None = None
    """Of the failures that are put into the run; None for none."""
    resume: Path | None = None
    """The folder of the run to resume; None for a new one."""
    records: bool | None = None
    """True to record the effects of the run, False to record nothing; None: True, and for a resumed run, as it was begun."""
    open_page: OpenRunPage = without_page
    """Serves the page of the run, if there is to be one."""
    open_hosts: OpenHosts | None = None
    """Places hosts whose agents work on the items; None if teammates do so themselves."""
    has_key: bool = attrs.field(factory=lambda: bool(os.environ.get(KEY)))
    """True if a run without the name of a model is one on Claude."""

    @property
    def is_recorded(self) -> bool:
        """True if answers and results are kept: by default those of a new swarm, and of a resumed one that was begun so."""
        if self.records is not None:
            return self.records
        return self.resume is None or (self.resume / EFFECTS_FILE).exists()


@attrs.frozen(kw_only=True)
class PlannedTeammate:
    """A teammate to spawn."""

    name: str
    definition: AgentDefinition
    prompt: str
    """The first prompt; empty if it waits for an item."""
    restart: Restart


@attrs.frozen(kw_only=True)
class SwarmPlan:
    """A recipe with what the command line said: everything is settled before anything starts."""

    recipe: Recipe
    task: str
    folder: Path
    lead: AgentDefinition
    mates: tuple[PlannedTeammate, ...]
    prompt: str
    """The prompt of the lead."""
    tools: tuple[Tool, ...]


def checked_folder(path: Path) -> Path:
    """Return the absolute folder that a path means.

    Raises:
        UsageError: It is none, or cannot be read.
    """
    try:
        folder = Path(os.path.realpath(path))
        if not folder.exists():
            raise UsageError(f"{str(path)!r} does not exist; give a folder to survey")
        if not folder.is_dir():
            raise UsageError(f"{str(path)!r} is not a folder; give the folder that it is in")
        with os.scandir(folder):
            pass
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{str(path)!r} cannot be read: {why.lower()}") from error
    return folder


def is_playbook(options: SwarmOptions) -> bool:
    """Return True if the rule-based model is meant: by name, or because there is no key."""
    return options.model == PLAYBOOK or not (options.model or options.has_key)


def chosen_model(options: SwarmOptions, recipe: Recipe) -> Model:
    """Return the model that a swarm runs on.

    Raises:
        UsageError: There is no such model, or no key for it; or the recipe has no rules and needs one.
    """
    if is_playbook(options):
        if not recipe.playbook:
            raise UsageError(f"the recipe {recipe.name!r} has no rules and needs a model: set {KEY}")
        return PlaybookModel(recipe.playbook, name=PLAYBOOK, wait_s=options.latency_s or 0.0)
    name = options.model or DEFAULT_CLAUDE_MODEL
    if not name.startswith("claude-"):
        raise UsageError(
            f"unknown model {name!r}; expected a Claude model such as {DEFAULT_CLAUDE_MODEL!r}, or {PLAYBOOK!r}"
        )
    if not os.environ.get(KEY) and not os.environ.get("ANTHROPIC_AUTH_TOKEN"):
        raise UsageError(f"the model {name!r} needs a key: set {KEY}, or use --model {PLAYBOOK}")
    if options.latency_s:
        raise UsageError(f"--latency is for the model {PLAYBOOK!r}")
    return AnthropicModel(name)


def troubled(model: Model, seed: int, *, is_rule_based: bool) -> Model:
    """Return a model that fails on purpose, and is asked again where that may help; the lead alone does not crash."""
    model = chaotic(model, seed, FaultRates(spared=frozenset({LEAD})))
    return retrying(model, RetryPolicy(first_wait_s=0.05, longest_wait_s=1.0)) if is_rule_based else model


def make_swarm_plan(options: SwarmOptions, recipe: Recipe, folder: Path) -> SwarmPlan:
    """Settle who works and what they are told.

    Raises:
        UsageError: The task or a definition is missing, or the lookup of the recipe failed.
    """
    task = options.task or recipe.task
    if not task:
        raise UsageError(f"the recipe {recipe.name!r} needs a task: say with --task what is to be done")
    if recipe is BUILTINS.get(recipe.name) and (options.model or is_playbook(options)):
        # Its own models are defaults; what a user's recipe says of models holds in any case.
        recipe = attrs.evolve(recipe, roles=[attrs.evolve(role, model=INHERIT) for role in recipe.roles])
    mates = tuple(recipe.mates(options.agents))
    uses_files = any(role.definition for role in (recipe.lead, *recipe.roles))
    known = load_definitions(find_places(Path.cwd()) if uses_files else None, builtins=builtin_definitions(os.environ))
    lead = recipe.lead.made(known.find)
    made = {role.name: role.made(known.find) for role in recipe.roles}
    needed = {name for agent in (lead, *made.values()) for name in (TOOL_NAMES if agent.tools is None else agent.tools)}
    return SwarmPlan(
        recipe=recipe,
        task=task,
        folder=folder,
        lead=lead,
        mates=tuple(
            PlannedTeammate(name=name, definition=made[role.name], prompt=role.prompt, restart=role.restart)
            for name, role in mates
        ),
        prompt=recipe.lead_prompt(
            task=task,
            folder=folder.name or str(folder),
            mates=[name for name, _ in mates],
            facts=recipe.look(folder) if recipe.look else "",
        ),
        tools=tuple(tool for tool in ROLE_TOOLS if tool.name in needed),
    )
