"""Methods about agents, chats, sessions and sub-agents: thin functions over runs and keepers."""

from __future__ import annotations

from typing import Any, Final, final

from greenroom.gateway._gateway_errors import Conflict, Forbidden, NotFound
from greenroom.gateway.commands._command_table import TABLE
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._checks import agents_of, default_agent
from greenroom.gateway.keepers._session_models import TurnWish
from greenroom.gateway.process._clock_runner import last_route
from greenroom.gateway.process._gateway_parts import GatewayParts
from greenroom.gateway.process._shown_rows import shown_run, shown_session
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.record._rows import Run, SessionRow
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, Sender
from greenroom.gateway.routing._message_routing import route_key
from greenroom.gateway.routing._session_key import SessionKey, is_listed, main_key
from greenroom.gateway.rpc import _params as params
from greenroom.gateway.rpc._methods import Answer, Handler, RpcCall
from greenroom.gateway.runs._child_models import find_model, own_model
from greenroom.gateway.runs._run_ids import run_item
from greenroom.gateway.runs._spawn_plan import SpawnRequest
from greenroom.gateway.tools._session_view import kind_of
from greenroom.gateway.trust._chat_admission import AdmissionAction, command_name, decide_words
from greenroom.gateway.trust._reception import CommandCaller
from greenroom.gateway.trust._senders import SenderKind
from greenroom.inbox import HUMAN
from greenroom.tasks import TaskState

MAX_LISTED_MESSAGES: Final = 20
MAX_LOG: Final = 200
SEND_S: Final = 30.0
"""Seconds that `subagents.send` waits for a reply."""
_MIN_ID: Final = 4


@final
class SessionMethods:
    """The handlers.

    Args:
        parts: The parts of the gateway.
    """

    def __init__(self, parts: GatewayParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by the names of their methods."""
        return {
            "agents.list": self.list_agents,
            "agent": self.begin_run,
            "agent.wait": self.wait_run,
            "chat.send": self.send_chat,
            "chat.abort": self.abort_chat,
            "chat.history": self.history,
            "sessions.history": self.history,
            "sessions.list": self.list_sessions,
            "sessions.resolve": self.resolve_session,
            "sessions.send": self.send_session,
            "sessions.spawn": self.spawn,
            "sessions.patch": self.patch_session,
            "sessions.reset": self.reset_session,
            "sessions.delete": self.delete_session,
            "subagents.list": self.list_subagents,
            "subagents.info": self.info_subagent,
            "subagents.log": self.log_subagent,
            "subagents.send": self.send_subagent,
            "subagents.stop": self.stop_subagents,
        }

    # --- agents and chats --------------------------------------------------------------------------------------------

    async def list_agents(self, call: RpcCall, _: params.NoParams) -> Answer:
        """Return the agents."""
        config = self._parts.settings
        agents = [
            {
                "id": id_,
                "name": agent.name or id_,
                "model": own_model(config, id_).primary,
                "default": id_ == default_agent(config),
            }
            for id_, agent in agents_of(config).items()
            if call.reaches(str(main_key(id_)))
        ]
        return {"agents": agents}

    async def begin_run(self, call: RpcCall, asked: params.AgentParams) -> Answer:
        """Begin a run on a session, and answer when it is on record."""
        key, route = self._target(asked)
        if asked.model is not None and find_model(self._parts.settings, asked.model) is None:
            raise NotFound(f"unknown model {asked.model!r}")
        is_busy = self._parts.keepers.is_busy(str(key))
        if asked.deliver and route is None:
            route = last_route(self._parts.registry, str(key))
        run = await self._parts.runs.begin(
            key,
            asked.message,
            HUMAN,
            route if asked.deliver else None,
            call.id,
            limit_s=asked.timeout_seconds,
            wish=TurnWish(model=asked.model or "", thinking=asked.thinking or ""),
        )
        return {"runId": run, "sessionKey": str(key), "status": "accepted", "queued": int(is_busy)}

    def _target(self, asked: params.AgentParams) -> tuple[SessionKey, ChatRoute | None]:
        config = self._parts.settings
        agent = default_agent(config) if asked.agent_id is None else normal_agent_id(asked.agent_id)
        if agent not in agents_of(config):
            raise NotFound(f"unknown agent {agent!r}")
        if asked.session_key is not None:
            return SessionKey.parse(asked.session_key, agent=agent), None
        if asked.to is None or asked.channel is None:
            return main_key(agent), None
        route = ChatRoute(channel=asked.channel, peer=asked.to)
        inbound = Inbound(route=route, sender=Sender(id=asked.to), id="", text="")
        is_owner = f"{route.channel}:{route.peer}" in config.commands.owner_allow_from
        return route_key(config, inbound, is_owner=is_owner), route

    async def wait_run(self, call: RpcCall, asked: params.AgentWaitParams) -> Answer:
        """Wait for the end of a run."""
        if not call.reaches(self._parts.runs.info(asked.run_id).session):
            raise NotFound(f"unknown run {asked.run_id!r}")
        run = await self._parts.runs.wait(asked.run_id, asked.timeout_ms / 1000)
        return {"status": "pending", **await self._with_reply(run)}

    async def _with_reply(self, run: Run) -> dict[str, Any]:
        reply = await self._parts.runs.reply_of(run.id)
        return shown_run(run) | ({"reply": reply} if reply else {})

    async def send_chat(self, call: RpcCall, asked: params.ChatSendParams) -> Answer:
        """Hand in what a person says from a client, or carry out the command that it is."""
        key = self._key(asked.session_key)
        said = decide_words(self._parts.settings, key, asked.message)
        if said.action is AdmissionAction.COMMAND:
            return await self._command(call, key, said.text)
        is_busy = self._parts.keepers.is_busy(str(key))
        run = await self._parts.runs.begin(
            key, asked.message, HUMAN, None, call.id, is_command=said.is_command, queue=asked.queue or ""
        )
        mode = asked.queue or self._parts.settings.messages.queue.mode
        steers = is_busy and mode in {"steer", "steer-backlog"}
        status = "steered" if steers else "queued" if is_busy else "started"
        return {"runId": run, "sessionKey": str(key), "status": status, "messageId": run_item(run)}

    async def _command(self, call: RpcCall, key: SessionKey, text: str) -> Answer:
        """Carry out a command; its caller must have the scopes of the methods that do the same."""
        name = command_name(text)
        needed = TABLE[name].methods
        if name in {"sessions", "approve", "pair"} and call.grant.sessions is not None:
            raise Forbidden("the token is for some sessions, and this command is about all of them")
        if not set(needed.values()) <= {scope.value for scope in call.grant.scopes}:
            raise Forbidden(f"the token lacks a scope for this command: {', '.join(sorted(set(needed.values())))}")
        caller = CommandCaller(kind=SenderKind.OPERATOR, who=call.grant.account)
        reply = await self._parts.commands.run(key, text, caller)
        return {"sessionKey": str(key), "status": "command", "reply": reply}

    async def abort_chat(self, call: RpcCall, asked: params.ChatAbortParams) -> Answer:
        """End a turn, or withdraw a message that waits; what sub-agents do goes on."""
        key, keepers = str(self._key(asked.session_key)), self._parts.keepers
        runs = [run for run in self._parts.registry.runs.values() if run.session == key and not run.is_ended]
        if asked.run_id is None:
            runs = [run for run in runs if run.state is TaskState.RUNNING]
        else:
            runs = [run for run in runs if run.id == asked.run_id]
            if not runs:
                return {"aborted": False, "runIds": [], "ended": True}
        waits = asked.run_id is not None and runs[0].state is TaskState.PENDING
        item = run_item(runs[0].id) if waits else ""
        is_ended = await keepers.stop_turn(key, who=call.grant.account, cause=EndCause.STOP, item=item)
        return {"aborted": is_ended, "runIds": [run.id for run in runs], "ended": is_ended or not keepers.is_busy(key)}

    # --- sessions ----------------------------------------------------------------------------------------------------

    async def history(self, _: RpcCall, asked: params.HistoryParams) -> Answer:
        """Return a part of a conversation."""
        row = self._row(asked.session_key)
        return await self._history(row, asked.limit, has_tools=asked.include_tools, before=asked.before)

    async def _history(
        self, row: SessionRow, limit: int, *, has_tools: bool, before: int | None = None
    ) -> dict[str, Any]:
        page = await self._parts.view.read_page(
            row, limit=limit, before=before, detail="results" if has_tools else "texts"
        )
        more = {} if page.before is None else {"nextOffset": page.before}
        messages = [shown for message in page.messages for shown in message.as_texts()]
        return {"sessionKey": row.key, "sessionId": row.session_id, "messages": messages, **more}

    async def list_sessions(self, call: RpcCall, asked: params.SessionsListParams) -> Answer:
        """Return the sessions, those that were used last first; no session is opened for that."""
        scope = self._parts.settings.session.scope
        since_s = self._parts.now_s() - 60 * asked.active_minutes if asked.active_minutes is not None else 0.0
        rows = [
            row
            for row in self._parts.registry.sessions.values()
            if row.state is not SessionState.ARCHIVED
            and row.used_s >= since_s
            and call.reaches(row.key)
            and is_listed(row.key, scope=scope)
            and (asked.kinds is None or kind_of(SessionKey.parse(row.key)) in asked.kinds)
        ]
        chosen = sorted(rows, key=lambda row: row.used_s, reverse=True)[: asked.limit]
        listed = []
        for row in chosen:
            shown = shown_session(row) | {"isBusy": self._parts.keepers.is_busy(row.key)}
            if asked.message_limit:
                history = await self._history(row, min(asked.message_limit, MAX_LISTED_MESSAGES), has_tools=False)
                shown["messages"] = history["messages"]
            listed.append(shown)
        return {"count": len(rows), "sessions": listed}

    async def resolve_session(self, call: RpcCall, asked: params.SessionsResolveParams) -> Answer:
        """Return the key and the id of one session."""
        row = self._find(asked.session_key, asked.label, asked.agent_id, asked.session_id)
        if not call.reaches(row.key):
            raise NotFound(f"unknown session {row.key!r}")
        return {"key": row.key, "sessionId": row.session_id}

    async def send_session(self, call: RpcCall, asked: params.SessionsSendParams) -> Answer:
        """Say something in a session, and wait for the reply."""
        if asked.session_key is not None:
            key = self._key(asked.session_key)
        else:
            key = SessionKey.parse(self._find(None, asked.label, asked.agent_id, None).key)
        if not call.reaches(str(key)):
            raise NotFound(f"unknown session {str(key)!r}")
        run = await self._parts.runs.begin(key, asked.message, HUMAN, None, call.id)
        return await self._reply(run, asked.timeout_seconds)

    async def _reply(self, run: str, timeout_s: float) -> dict[str, Any]:
        if not timeout_s:
            return {"runId": run, "status": "accepted"}
        return {"status": "pending", **await self._with_reply(await self._parts.runs.wait(run, timeout_s))}

    async def spawn(self, _: RpcCall, asked: params.SessionsSpawnParams) -> Answer:
        """Start a sub-agent of a session, in the name of a person."""
        request = SpawnRequest(
            task=asked.task,
            label=asked.label or "",
            agent=asked.agent_id or "",
            model=asked.model or "",
            thinking=asked.thinking or "",
            limit_s=asked.run_timeout_seconds or None,
            cleanup=asked.cleanup,
        )
        key = self._key(asked.session_key)
        await self._parts.keepers.make(key)
        answer = await self._parts.runs.spawn(key, request, last_route(self._parts.registry, str(key)))
        return answer.to_json()

    async def patch_session(self, _: RpcCall, asked: params.SessionsPatchParams) -> Answer:
        """Change settings of a session; they count from its next turn."""
        names = ("model", "thinking", "queue", "send_policy", "permission_mode")
        settings = {name: value or None for name in names if (value := getattr(asked, name)) is not None}
        key = str(self._key(asked.session_key))
        await self._parts.keepers.patch(key, settings, label=asked.label)
        return shown_session(self._row(key))

    async def reset_session(self, call: RpcCall, asked: params.SessionChange) -> Answer:
        """Begin the conversation of a session anew."""
        key = str(self._key(asked.session_key))
        session_id = await self._parts.keepers.reset(key, who=call.grant.account)
        return {"key": key, "sessionId": session_id}

    async def delete_session(self, call: RpcCall, asked: params.SessionChange) -> Answer:
        """Close and archive a session."""
        key = str(self._key(asked.session_key))
        transcript = await self._parts.runs.archive(key, why="sessions.delete", who=call.grant.account)
        return {"key": key, "transcript": transcript}

    # --- sub-agents --------------------------------------------------------------------------------------------------

    async def list_subagents(self, _: RpcCall, asked: params.SubagentsListParams) -> Answer:
        """Return the sub-agents of a session, the newest first."""
        runs = self._runs(asked.session_key)
        return {"subagents": [{"index": number, **shown_run(run)} for number, run in enumerate(runs, 1)]}

    async def info_subagent(self, _: RpcCall, asked: params.SubagentParams) -> Answer:
        """Return one sub-agent."""
        return await self._with_reply(self._run(asked.session_key, asked.target))

    async def log_subagent(self, _: RpcCall, asked: params.SubagentsLogParams) -> Answer:
        """Return the last messages of a sub-agent."""
        row = self._row(self._run(asked.session_key, asked.target).session)
        return await self._history(row, min(asked.limit, MAX_LOG), has_tools=asked.tools)

    async def send_subagent(self, call: RpcCall, asked: params.SubagentsSendParams) -> Answer:
        """Say something to a sub-agent, and wait for the reply."""
        key = SessionKey.parse(self._run(asked.session_key, asked.target).session)
        run = await self._parts.runs.begin(key, asked.message, HUMAN, None, call.id)
        return await self._reply(run, SEND_S)

    async def stop_subagents(self, call: RpcCall, asked: params.SubagentsStopParams) -> Answer:
        """Stop sub-agents of a session; its turn goes on."""
        key, who = str(self._key(asked.session_key)), call.grant.account
        if asked.target == "all":
            stopped = await self._parts.runs.stop(key, who)
        else:
            stopped = await self._parts.runs.stop(self._run(key, asked.target).id, who)
        return {
            "stopped": list(stopped.stopped),
            "failed": list(stopped.failed),
            "endedBefore": list(stopped.ended_before),
        }

    # --- finding -----------------------------------------------------------------------------------------------------

    def _key(self, text: str) -> SessionKey:
        return SessionKey.parse(text, agent=default_agent(self._parts.settings))

    def _row(self, text: str) -> SessionRow:
        """Return a session by its key or its id."""
        sessions = self._parts.registry.sessions
        for row in sessions.values():
            if text in {row.key, row.session_id}:
                return row
        key = str(self._key(text))
        if key not in sessions:
            raise NotFound(f"unknown session {text!r}")
        return sessions[key]

    def _find(self, key: str | None, label: str | None, agent: str | None, session_id: str | None) -> SessionRow:
        if key is not None or session_id is not None:
            return self._row(str(key or session_id))
        if label is None:
            raise Conflict("name a session by sessionKey, sessionId or label")
        found = [
            row
            for row in self._parts.registry.sessions.values()
            if row.label == label.strip()
            and row.state is not SessionState.ARCHIVED
            and (agent is None or SessionKey.parse(row.key).agent == normal_agent_id(agent))
        ]
        if len(found) > 1:
            raise Conflict(
                f"{len(found)} sessions have the label {label!r}; use a key: {', '.join(row.key for row in found[:5])}"
            )
        if not found:
            raise NotFound(f"unknown session {label!r}")
        return found[0]

    def _runs(self, session: str) -> list[Run]:
        return self._parts.runs.list_for(str(self._key(session)))

    def _run(self, session: str, target: str) -> Run:
        """Return a sub-agent of a session by its number, `last`, the beginning of its run's id, or its session key."""
        runs = self._runs(session)
        if target == "last":
            found = runs[:1]
        elif target.isdigit() and len(target) < _MIN_ID:
            found = runs[int(target) - 1 : int(target)] if int(target) else []
        else:
            found = [run for run in runs if target in {run.session, run.id}]
            found = found or [run for run in runs if len(target) >= _MIN_ID and run.id.startswith(target)]
        if len(found) > 1:
            raise Conflict(f"{len(found)} sub-agents fit {target!r}; write more of the id")
        if not found:
            raise NotFound(f"unknown run {target!r}")
        return found[0]
