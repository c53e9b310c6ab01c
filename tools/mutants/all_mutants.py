"""All mutants."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import MUTANTS as KERNEL
from tools.mutants.delivery import DELIVERY
from tools.mutants.gateway import GATEWAY
from tools.mutants.gateway_channels import GATEWAY_CHANNELS
from tools.mutants.gateway_configuration import GATEWAY_CONFIGURATION
from tools.mutants.gateway_keepers import GATEWAY_KEEPERS
from tools.mutants.gateway_lanes import GATEWAY_LANES
from tools.mutants.gateway_process import GATEWAY_PROCESS
from tools.mutants.gateway_protocol import GATEWAY_PROTOCOL
from tools.mutants.gateway_runs import GATEWAY_RUNS
from tools.mutants.gateway_sessions import GATEWAY_SESSIONS
from tools.mutants.gateway_trust import GATEWAY_TRUST
from tools.mutants.gateway_whole import GATEWAY_WHOLE
from tools.mutants.hosts import HOSTS
from tools.mutants.links import LINKS
from tools.mutants.monitors import MONITORS
from tools.mutants.network import NETWORK
from tools.mutants.ray import RAY
from tools.mutants.recovery import RECOVERY
from tools.mutants.redis import REDIS
from tools.mutants.reruns import RERUNS
from tools.mutants.resumption import RESUMPTION
from tools.mutants.run_branches import BRANCHES
from tools.mutants.run_exports import RUN_EXPORTS
from tools.mutants.run_pages import RUN_PAGES
from tools.mutants.serving import SERVING
from tools.mutants.surveys import SURVEYS
from tools.mutants.swarm_views import SWARM_VIEWS

MUTANTS: Final = (
    *KERNEL,
    *BRANCHES,
    *DELIVERY,
    *GATEWAY,
    *GATEWAY_CHANNELS,
    *GATEWAY_CONFIGURATION,
    *GATEWAY_KEEPERS,
    *GATEWAY_LANES,
    *GATEWAY_PROCESS,
    *GATEWAY_PROTOCOL,
    *GATEWAY_RUNS,
    *GATEWAY_SESSIONS,
    *GATEWAY_TRUST,
    *GATEWAY_WHOLE,
    *HOSTS,
    *LINKS,
    *NETWORK,
    *MONITORS,
    *RECOVERY,
    *RAY,
    *REDIS,
    *RERUNS,
    *RESUMPTION,
    *RUN_EXPORTS,
    *RUN_PAGES,
    *SERVING,
    *SWARM_VIEWS,
    *SURVEYS,
)
