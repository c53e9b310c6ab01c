"""Recipes: a lead, roles, a prompt, items for the board, and the restart strategy of the team.

A recipe is checked when it is made; what is wrong with it is one line that names the field. Whatever it leaves open (the
task, how many mates, the folder) the command line says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast, final

import attrs

from greenroom.agents import INHERIT, AgentDefinition
from greenroom.core import UsageError
from greenroom.core.validation import BadValue
from greenroom.models import Play
from greenroom.permissions import parse_mode
from greenroom.supervisor import ChildSpec, Restart, Strategy, SupervisorSpec
from greenroom.swarm.survey import LEAD_SYSTEM, MATE_SYSTEM, facts_tool, tree_facts_tool
from greenroom.teams import Conversations, read_conversations
from greenroom.tools.builtin import READ_ONLY_TOOLS, STANDARD_TOOLS

LEAD: Final = "lead"
LOOKING: Final = tuple(tool.name for tool in READ_ONLY_TOOLS)
"""The tools of a lead by default."""
JUDGING: Final = (*LOOKING, facts_tool.name, tree_facts_tool.name)
"""The tools of a teammate by default."""
LEAD_TOOLS: Final = ("TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "SendMessage", "WriteReport")
MATE_TOOLS: Final = ("TaskGet", "TaskList", "TaskUpdate", "SendMessage")
"""Tools of the team, which the lead and every teammate have in addition to the tools of their roles."""
ROLE_TOOLS: Final = (*STANDARD_TOOLS, facts_tool, tree_facts_tool)
TOOL_NAMES: Final = tuple(tool.name for tool in ROLE_TOOLS)
"""The tools that a role may have."""
MAX_MATES: Final = 1_000
DEFAULT_PROMPT: Final = "Task: {task}\n\nFolder: {folder}\nMates: {mates}\n\n{items}\n\n{facts}"

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
_PLACE: Final = re.compile(r"\{(task|folder|mates|items|facts)\}")


@contextmanager
def _named(field: str) -> Iterator[None]:
    """Add the name of the field to errors about its value."""
    try:
        yield
    except UsageError as error:
        said = error.problem.removeprefix(field).strip() if isinstance(error, BadValue) else error
        raise UsageError(f"{field}: {said}") from None


def _restart(value: Restart | str) -> Restart:
    with _named("restart"):
        return ChildSpec(restart=cast("Restart", value)).restart


def _strategy(value: Strategy | str) -> Strategy:
    with _named("strategy"):
        return SupervisorSpec(strategy=cast("Strategy", value)).strategy


def _check_name(_: Any, attribute: attrs.Attribute[str], value: str) -> None:
    if not _NAME.fullmatch(value):
        raise UsageError(f"{attribute.name} must be at most 40 lowercase letters, digits and '-', got {value!r}")


def _texts(value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise UsageError(f"a list of texts was wanted, not {value!r}; write [{value!r}]")
    return tuple(value)


@final
@attrs.frozen(kw_only=True)
class Role:
    """A kind of teammate and their number, or the lead."""

    name: str = attrs.field(validator=_check_name)
    """Mates are called so, with a number behind it where there can be several."""
    count: int | None = attrs.field(default=None)
    """Number of teammates; None for the number of `--agents`."""
    definition: str = attrs.field(default="")
    """The name of an agent's definition; instead of a system prompt and tools."""
    system_prompt: str = ""
    """The system prompt; by default the one for reading a folder, unless a definition is given."""
    tools: tuple[str, ...] = attrs.field(
        default=attrs.Factory(lambda role: LOOKING if role.name == LEAD else JUDGING, takes_self=True), converter=_texts
    )
    """Beside those of the team."""
    model: str = INHERIT
    """An alias, the id of a model, or `inherit`."""
    prompt: str = ""
    """The first prompt of each; without it a teammate waits for an item of the board."""
    restart: Restart = attrs.field(default=Restart.TRANSIENT, converter=_restart)
    """When one that ended comes back: `permanent`, `transient`, `temporary`."""
    max_tokens: int = attrs.field(default=8_192)
    """The most that the model may write in one answer."""

    @count.validator
    def _check_count(self, _: Any, value: int | None) -> None:
        if value is not None and not 1 <= value <= MAX_MATES:
            raise UsageError(f"count must be between 1 and {MAX_MATES}, got {value}")

    @max_tokens.validator
    def _check_max_tokens(self, _: Any, value: int) -> None:
        if value < 1:
            raise UsageError(f"max_tokens must be at least 1, got {value}")

    @definition.validator
    def _check_definition(self, _: Any, value: str) -> None:
        if value and self.system_prompt:
            raise UsageError("definition and system_prompt exclude each other: a definition has its own; leave one out")

    @tools.validator
    def _check_tools(self, _: Any, value: tuple[str, ...]) -> None:
        for element in value:
            if element not in TOOL_NAMES:
                raise UsageError(f"tools: unknown tool {element!r}; expected one of: {', '.join(TOOL_NAMES)}")
        if value not in {LOOKING, JUDGING} and not self.definition and not self.system_prompt:
            raise UsageError("system_prompt is missing: with tools of its own a role has to say what they are for")

    @property
    def child_spec(self) -> ChildSpec:
        """The definition of a teammate of this role."""
        return ChildSpec(restart=self.restart)

    def names(self, agents: int) -> tuple[str, ...]:
        """Return the names of its teammates, given the number on the command line."""
        if self.count == 1:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(1, (self.count or agents) + 1))

    def made(self, find: Callable[[str], AgentDefinition]) -> AgentDefinition:
        """Return the definition of its agents.

        Args:
            find: Returns the definition of that name.

        Raises:
            UsageError: There is none of the name that the role gives.
        """
        is_lead = self.name == LEAD
        team_tools = LEAD_TOOLS if is_lead else MATE_TOOLS
        if not self.definition:
            return AgentDefinition(
                name=self.name,
                system_prompt=self.system_prompt or (LEAD_SYSTEM if is_lead else MATE_SYSTEM),
                tools=(*self.tools, *team_tools),
                model=self.model,
                max_tokens=self.max_tokens,
            )
        with _named(f"the role {self.name!r}"):
            found = find(self.definition)
        tools = None if found.tools is None else (*found.tools, *team_tools)
        return attrs.evolve(found, tools=tools, model=found.model if self.model == INHERIT else self.model)


def _roles(value: Iterable[Role]) -> tuple[Role, ...]:
    return tuple(value)


@final
@attrs.frozen(kw_only=True)
class RecipeItem:
    """An item that the lead puts on the board before any other."""

    id: str = attrs.field(validator=_check_name)
    """The name of the item in `blocked_by` of others; the board uses numbers."""
    subject: str
    description: str
    blocked_by: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    """Ids of items that have to be completed first."""


@final
@attrs.frozen(kw_only=True)
class Recipe:
    """The team, the work and the rules of a swarm."""

    name: str = attrs.field(validator=_check_name)
    description: str = ""
    """The purpose, in one line of a list."""
    task: str = ""
    """The task if the command line names none; empty if it must name one."""
    lead: Role = attrs.field()
    roles: tuple[Role, ...] = attrs.field(converter=_roles)
    prompt: str = DEFAULT_PROMPT
    """The prompt of the lead; `{task}`, `{folder}`, `{mates}`, `{items}` and `{facts}` are filled in."""
    closing: str = "Nothing runs any more. Write the report now with what you have, and name what is missing."
    """Said to the lead where the team came to rest without a report."""
    items: tuple[RecipeItem, ...] = attrs.field(default=(), converter=tuple)
    strategy: Strategy = attrs.field(default=Strategy.ONE_FOR_ONE, converter=_strategy)
    """The restart strategy: which teammates are restarted together."""
    conversations: Conversations = attrs.field(default=Conversations.FRESH, converter=read_conversations)
    """`fresh` if each item begins a conversation of its teammate, `keep` if it remembers its first prompt and earlier items."""
    permission_mode: str | None = attrs.field(default=None)
    """The permission mode; None for that of the settings."""
    look: Callable[[Path], str] | None = None
    """Reads the facts about the folder before anything starts, for `{facts}`; raises `UsageError` if it cannot."""
    playbook: dict[str, Play] = attrs.field(factory=dict)
    """The rules by which roles work without a model, by their names; empty: the recipe needs a model."""

    @lead.validator
    def _check_lead(self, _: Any, value: Role) -> None:
        if value.name != LEAD or value.count not in {None, 1}:
            raise UsageError(f"lead: there is one, and it is called {LEAD!r}")

    @roles.validator
    def _check_roles(self, _: Any, value: tuple[Role, ...]) -> None:
        if not value:
            raise UsageError("roles: at least one is required")
        names = [element.name for element in value]
        for at, name in enumerate(names):
            if name == LEAD or name in names[:at]:
                raise UsageError(f"roles[{at}].name: {name!r} is taken; give the role another name")

    @items.validator
    def _check_items(self, _: Any, value: tuple[RecipeItem, ...]) -> None:
        known: set[str] = set()
        for at, item in enumerate(value):
            if item.id in known:
                raise UsageError(f"items[{at}].id: {item.id!r} is taken; give the item another id")
            for blocker in item.blocked_by:
                if blocker not in known:
                    raise UsageError(f"items[{at}].blocked_by: no item before this one has the id {blocker!r}")
            known.add(item.id)

    @permission_mode.validator
    def _check_mode(self, _: Any, value: str | None) -> None:
        if value is not None:
            with _named("permission_mode"):
                parse_mode(value)

    @playbook.validator
    def _check_playbook(self, _: Any, value: Mapping[str, Play]) -> None:
        missing = {LEAD, *(role.name for role in self.roles)} - value.keys()
        if value and missing:
            raise UsageError(f"playbook: rules are missing for {', '.join(map(repr, sorted(missing)))}")

    @property
    def supervisor_spec(self) -> SupervisorSpec:
        """The restart strategy of the team's supervisor."""
        return SupervisorSpec(strategy=self.strategy)

    def mates(self, agents: int) -> Iterator[tuple[str, Role]]:
        """Yield the names of all teammates with their roles, given the number on the command line.

        Raises:
            UsageError: Two mates would have the same name, or there would be too many.
        """
        named: dict[str, Role] = {}
        for role in self.roles:
            for name in role.names(agents):
                if name in named:
                    raise UsageError(f"the recipe {self.name!r} has two mates called {name!r}; rename a role")
                named[name] = role
        if len(named) > MAX_MATES:
            raise UsageError(f"the recipe {self.name!r} makes {len(named):,} mates; at most {MAX_MATES:,} can be had")
        yield from named.items()

    def lead_prompt(self, *, task: str, folder: str, mates: Sequence[str], facts: str = "") -> str:
        """Return the first message to the lead."""
        template = self.prompt
        for key, value in (("items", self.items), ("facts", facts)):
            if not value:
                template = template.replace(f"\n\n{{{key}}}", "")
        values = {
            "task": task,
            "folder": folder,
            "mates": ", ".join(mates),
            "items": _listed(self.items),
            "facts": facts,
        }
        return _PLACE.sub(lambda found: values[found[1]], template)


def _listed(items: Sequence[RecipeItem]) -> str:
    """Return what tells a lead to put items on the board."""
    if not items:
        return ""
    numbers = {item.id: number for number, item in enumerate(items, 1)}
    lines = ["Put these items on the board first, in this order, word for word; the board numbers them from 1:"]
    for number, item in enumerate(items, 1):
        lines += ["", f"{number}. Subject: {item.subject}", f"   Description: {item.description}"]
        if item.blocked_by:
            blockers = ", ".join(str(numbers[blocker]) for blocker in item.blocked_by)
            lines.append(f"   Blocked by: {blockers} (say so with TaskUpdate, addBlockedBy)")
    return "\n".join(lines)
