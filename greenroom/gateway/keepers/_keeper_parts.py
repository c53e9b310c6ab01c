"""Services that all keepers of a gateway share, and the setup with which their sessions are opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from pathlib import Path
from typing import final

import attrs

from greenroom.core.ports import Ports
from greenroom.gateway.announce._queue_plan import Overflow, QueueMode, QueueSettings
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._agent_budgets import AgentBudgets
from greenroom.gateway.keepers._agent_setup import (
    CRON_LANE,
    AgentSetup,
    OpenModel,
    ToolsFor,
    agent_of,
    make_workspace,
    other_workspaces,
    sessions_folder,
    workspace_of,
)
from greenroom.gateway.keepers._box_items import MODE
from greenroom.gateway.keepers._context_files import read_prompt
from greenroom.gateway.keepers._credentials import credential_variables
from greenroom.gateway.keepers._kept_session import Opener, OpenOrder, TurnPlace
from greenroom.gateway.keepers._seams import OnSessionEvent, TurnWatcher
from greenroom.gateway.keepers._session_models import NamedModels, TurnUses, TurnWish, turn_models
from greenroom.gateway.keepers._turn_lookup import LookUp, look_up
from greenroom.gateway.keepers._waiting_items import HandIn
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.lanes._places import Rank
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.inbox import AUTO_CONTINUATION, EntryKind, InboxStore, StoredItem
from greenroom.mailbox import Lane
from greenroom.models import Model
from greenroom.store import new_uuid


@final
@attrs.frozen(kw_only=True, eq=False)
class KeeperParts:
    """Services that all keepers of a gateway share."""

    config: Callable[[], GatewayConfig]
    record: GatewayRecord
    store: InboxStore
    lanes: TurnLanes
    watcher: TurnWatcher
    on_event: OnSessionEvent
    open_model: OpenModel
    tools_for: ToolsFor
    ports: Ports
    state_folder: Path
    base: Path
    """The folder on which relative paths of the configuration stand."""
    opener: Opener
    on_broken: Callable[[str, str], object] | None = None
    look_up: LookUp = look_up
    budgets: AgentBudgets
    secrets: Callable[[], Collection[str]] = tuple
    """Returns the secrets that the gateway has read."""

    def now(self) -> float:
        """Return the wall clock, in seconds since 1970."""
        return self.ports.clock.wall().timestamp()


async def open_order(
    parts: KeeperParts,
    key: SessionKey,
    turn_place: TurnPlace,
    *,
    find_wish: Callable[[], Awaitable[TurnWish]],
    find_turn: Callable[[], int],
) -> OpenOrder:
    """Return what a session is opened as.

    Args:
        parts: What all keepers share.
        key: The session.
        turn_place: What each of its turns enters.
        find_wish: Returns what the turn that runs asks for.
        find_turn: Returns the number of the turn that runs.
    """
    row, config = parts.record.registry.sessions[str(key)], parts.config()
    agent = agent_of(config, key.agent)
    workspace = workspace_of(config, agent, key.agent, parts.base)

    def read() -> tuple[tuple[str, ...], str]:
        places = {"state_folder": parts.state_folder, "base": parts.base}
        named = credential_variables(config, key.agent, **places)
        if not agent.workspace:
            make_workspace(workspace)
        return named, read_prompt(workspace, key, row)

    variables, prompt = await parts.ports.blocking.run(read)
    setup = AgentSetup(
        config=config,
        agent=agent,
        row=row,
        key=key,
        unreadable=(parts.state_folder, *other_workspaces(config, key.agent, parts.base)),
        secret_variables=variables,
    )
    uses = TurnUses(
        find_wish=find_wish,
        open_model=lambda reference: parts.ports.blocking.run(parts.open_model, key.agent, reference),
        find_budgets=lambda: parts.budgets.of_turn(key.agent, str(key), find_turn()),
    )
    tools = tuple(parts.tools_for(key))
    return OpenOrder(
        key=str(key),
        session_id=row.session_id,
        runs=sessions_folder(parts.state_folder, key),
        workspace=workspace,
        main=setup.definition(prompt, tools, parts.record.registry.sessions),
        tools=tools,
        settings=setup.settings(),
        sources=setup.sources,
        permission_mode=setup.permission_mode,
        model=partial(session_model, parts, setup, uses),
        store=parts.store,
        turn_place=turn_place,
        secrets=parts.secrets,
        ports=parts.ports,
    )


def queue_settings(parts: KeeperParts, mode: QueueMode) -> QueueSettings:
    """Return the settings by which a session in a mode takes up what waits for it."""
    queue = parts.config().messages.queue
    return QueueSettings(mode=mode, quiet_s=queue.debounce_ms / 1000, cap=queue.cap, overflow=Overflow(queue.drop))


def turn_rank(lane: str, *, is_resumed: bool, is_ending: bool) -> Rank:
    """Return the rank of a turn among those that wait in its lane.

    Args:
        lane: The lane.
        is_resumed: True if an earlier process began the turn.
        is_ending: True if it is an announce step: its run has had a place, and has one such turn.
    """
    if is_resumed:
        return Rank.BACKGROUND
    if is_ending:
        return Rank.ENDING
    return Rank.BACKGROUND if lane == CRON_LANE else Rank.PERSON


def session_model(parts: KeeperParts, setup: AgentSetup, uses: TurnUses) -> Model:
    """Return the model of a session, with its fallbacks. It blocks."""
    agent, chosen = setup.key.agent, setup.model
    model = parts.open_model(agent, chosen.primary)
    others = {name: parts.open_model(agent, name) for name in chosen.fallbacks}
    return turn_models(NamedModels(model, others) if others else model, uses)


async def put_summary(parts: KeeperParts, key: str, plan: HandIn) -> tuple[str]:
    """Put the line about dropped items into the box of a session, and return its id; it is kept back for the turn that it belongs to."""
    held = await parts.store.held(key)
    notice = next((each for each in held if each.id in plan.release and each.kind is EntryKind.TASK_NOTIFICATION), None)
    item = StoredItem(
        id=new_uuid(parts.ports.ids),
        box=key,
        text=plan.summary,
        origin=AUTO_CONTINUATION if notice is None else notice.origin,  # notices share a turn with notices alone
        kind=EntryKind.PROMPT if notice is None else notice.kind,
        lane=Lane.LATER,
        is_meta=notice is None or notice.is_meta,
        is_held=True,
        route={**plan.route, MODE: QueueMode.STEER.value},
        created_at=parts.now(),
    )
    await parts.store.put([item])
    return (item.id,)
