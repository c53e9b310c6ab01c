"""Methods about the gateway itself: health, channels, deliveries, approvals, pairing, the clock, the configuration, the stop."""

from __future__ import annotations

from typing import Any, final

from greenroom.gateway._gateway_errors import Conflict, NotFound
from greenroom.gateway.clock._job_plan import JobSource, job_values, run_name
from greenroom.gateway.config._effective import effective_values
from greenroom.gateway.process._clock_runner import cron_run_id
from greenroom.gateway.process._config_in_force import ReloadResult
from greenroom.gateway.process._gateway_parts import GatewayParts
from greenroom.gateway.process._health_report import health_report, shown_channels, status_report
from greenroom.gateway.process._shown_rows import shown_delivery, shown_pairing, shown_run
from greenroom.gateway.record._machines import DeliveryState
from greenroom.gateway.record._rows import Pairing
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.rpc import _params as params
from greenroom.gateway.rpc._methods import Answer, Handler, RpcCall
from greenroom.gateway.trust._approval_desk import AnswerReceipt
from greenroom.gateway.trust._pairing import PairingResult, all_pairings


@final
class ServiceMethods:
    """The handlers.

    Args:
        parts: The parts of the gateway.
    """

    def __init__(self, parts: GatewayParts) -> None:
        self._parts = parts

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by the names of their methods."""
        return {
            "health": self.health,
            "status": self.status,
            "channels.status": self.channels,
            "deliveries.list": self.list_deliveries,
            "deliveries.retry": self.retry_delivery,
            "deliveries.dismiss": self.dismiss_delivery,
            "send": self.send,
            "approvals.list": self.list_approvals,
            "approvals.resolve": self.resolve_approval,
            "pairing.list": self.list_pairings,
            "pairing.approve": self.approve_pairing,
            "pairing.reject": self.reject_pairing,
            "pairing.remove": self.remove_pairing,
            "cron.list": self.list_jobs,
            "cron.add": self.add_job,
            "cron.update": self.update_job,
            "cron.remove": self.remove_job,
            "cron.run": self.run_job,
            "cron.runs": self.job_runs,
            "config.get": self.get_config,
            "config.check": self.check_config,
            "config.reload": self.reload_config,
            "gateway.stop": self.stop_gateway,
        }

    # --- looking -----------------------------------------------------------------------------------------------------

    async def health(self, _: RpcCall, __: params.NoParams) -> Answer:
        """Return the state of each part."""
        return health_report(self._parts)

    async def status(self, _: RpcCall, __: params.NoParams) -> Answer:
        """Return the gateway in a few lines."""
        return status_report(self._parts)

    async def channels(self, _: RpcCall, __: params.NoParams) -> Answer:
        """Return the accounts of channels."""
        return {"channels": shown_channels(self._parts)}

    # --- deliveries --------------------------------------------------------------------------------------------------

    async def list_deliveries(self, call: RpcCall, asked: params.DeliveriesListParams) -> Answer:
        """Return messages that wait to be sent, or are blocked."""
        found = [
            row
            for row in self._parts.deliveries.list()
            if (asked.state == "open" or row.state is DeliveryState(asked.state)) and call.reaches(row.session)
        ]
        return {"count": len(found), "deliveries": [shown_delivery(row) for row in found[-asked.limit :]]}

    async def retry_delivery(self, call: RpcCall, asked: params.DeliveryChange) -> Answer:
        """Send a blocked message again."""
        await self._parts.deliveries.retry(asked.delivery_id, call.grant.account)
        return {"deliveryId": asked.delivery_id, "state": "due"}

    async def dismiss_delivery(self, call: RpcCall, asked: params.DeliveryChange) -> Answer:
        """Give a blocked message up."""
        await self._parts.deliveries.dismiss(asked.delivery_id, call.grant.account)
        return {"deliveryId": asked.delivery_id, "state": "dismissed"}

    async def send(self, call: RpcCall, asked: params.SendParams) -> Answer:
        """Send a message to a chat, without a run."""
        account = asked.account_id or "default"
        if self._parts.accounts.find(asked.channel, account) is None:
            raise NotFound(f"unknown channel account {asked.channel}/{account}")
        route = ChatRoute(channel=asked.channel, account=account, peer=asked.to, thread=asked.thread_id or "")
        return {"deliveryId": await self._parts.deliveries.post(route, asked.message, call.id)}

    # --- approvals and pairing ---------------------------------------------------------------------------------------

    async def list_approvals(self, call: RpcCall, _: params.NoParams) -> Answer:
        """Return the calls that wait for an answer."""
        questions = [
            {
                "approvalId": question.id,
                "sessionKey": question.session,
                "tool": question.tool,
                "summary": self._parts.secrets.mask(question.summary),
                **({"asker": question.asker} if question.asker else {}),
            }
            for question in self._parts.approvals.open_questions()
            if call.reaches(question.session)
        ]
        return {"approvals": questions}

    async def resolve_approval(self, call: RpcCall, asked: params.ApprovalsResolveParams) -> Answer:
        """Answer a question about a call; the first answer counts."""
        receipt = await self._parts.approvals.answer(asked.approval_id, asked.decision, who=call.grant.account)
        if receipt is AnswerReceipt.UNKNOWN:
            raise NotFound(f"unknown approval {asked.approval_id!r}")
        return {"approvalId": asked.approval_id, "taken": receipt is AnswerReceipt.TAKEN, "result": str(receipt)}

    async def list_pairings(self, _: RpcCall, __: params.NoParams) -> Answer:
        """Return the people who are paired, or asked to be."""
        return {"pairings": [shown_pairing(row) for row in all_pairings(self._parts.registry.services.pairings)]}

    async def approve_pairing(self, call: RpcCall, asked: params.PairingCodeParams) -> Answer:
        """Pair somebody."""
        return self._paired(*await self._parts.pairing.approve(asked.code, who=call.grant.account))

    async def reject_pairing(self, call: RpcCall, asked: params.PairingCodeParams) -> Answer:
        """Refuse somebody."""
        return self._paired(*await self._parts.pairing.reject(asked.code, who=call.grant.account))

    @staticmethod
    def _paired(result: PairingResult, row: Pairing | None) -> Answer:
        if result is PairingResult.PAUSED:
            raise Conflict("there were too many wrong codes; try again in a minute")
        if row is None:
            raise NotFound("nobody waits with this code")
        return {"channel": row.channel, "accountId": row.account or "default", "sender": row.sender}

    async def remove_pairing(self, call: RpcCall, asked: params.PairingRemoveParams) -> Answer:
        """End a pairing."""
        account = asked.account_id or "default"
        if not await self._parts.pairing.remove(asked.channel, account, asked.sender, who=call.grant.account):
            raise NotFound(f"unknown pairing {asked.sender!r}")
        return {"channel": asked.channel, "accountId": account, "sender": asked.sender}

    # --- the clock ---------------------------------------------------------------------------------------------------

    async def list_jobs(self, _: RpcCall, __: params.NoParams) -> Answer:
        """Return the jobs of the clock."""
        return {"jobs": self._parts.jobs.listing()}

    async def add_job(self, _: RpcCall, asked: params.CronJobParams) -> Answer:
        """Add a job."""
        return {"jobId": await self._parts.jobs.add(job_values(asked.job, JobSource.CALL))}

    async def update_job(self, _: RpcCall, asked: params.CronJobParams) -> Answer:
        """Replace a job."""
        await self._parts.jobs.replace(job_values(asked.job, JobSource.CALL))
        return {"jobId": asked.job.id}

    async def remove_job(self, call: RpcCall, asked: params.JobChange) -> Answer:
        """Remove a job."""
        await self._parts.jobs.remove(asked.job_id, who=call.grant.account)
        return {"jobId": asked.job_id}

    async def run_job(self, _: RpcCall, asked: params.JobChange) -> Answer:
        """Run a job now."""
        name = await self._parts.jobs.run_now(asked.job_id)
        return {"jobId": asked.job_id, "run": name, "runId": cron_run_id(name)}

    async def job_runs(self, _: RpcCall, asked: params.CronRunsParams) -> Answer:
        """Return the last runs of a job that are remembered, the newest first."""
        row = self._parts.jobs.find(asked.job_id)
        found = [
            run
            for run in (*self._parts.registry.runs.values(), *self._parts.registry.recent.values())
            if f":cron:{asked.job_id}:run:" in run.session or run.id == cron_run_id(run_name(row.id, row.planned_s))
        ]
        newest = sorted(found, key=lambda run: run.created_s, reverse=True)[: asked.limit]
        return {"jobId": asked.job_id, "outcome": row.outcome, "runs": [shown_run(run) for run in newest]}

    # --- configuration and stop --------------------------------------------------------------------------------------

    async def get_config(self, _: RpcCall, __: params.NoParams) -> Answer:
        """Return the values in force with their origin; secrets are hidden."""
        values = effective_values(self._parts.config.reading)
        return {"config": {each.path: {"value": each.value, "origin": each.origin} for each in values}}

    async def check_config(self, _: RpcCall, __: params.NoParams) -> Answer:
        """Return the problems of the file as it is now; nothing changes."""
        problems = await self._parts.config.check()
        return {"problems": [str(problem) for problem in problems]}

    async def reload_config(self, _: RpcCall, __: params.PlainChange) -> Answer:
        """Read the file again."""
        return shown_reload(await self._parts.config.reload())

    async def stop_gateway(self, call: RpcCall, asked: params.StopParams) -> Answer:
        """Ask for a stop in order; the answer comes before it begins."""
        self._parts.stop.ask(asked.reason or f"asked by {call.grant.account}")
        return {"stopping": True}


def shown_reload(result: ReloadResult) -> dict[str, Any]:
    """Return the result of a reload as JSON."""
    return {
        "changed": result.is_changed,
        "refused": result.is_refused,
        "problems": [str(problem) for problem in result.problems],
        "needsStart": list(result.needs_start),
    }
