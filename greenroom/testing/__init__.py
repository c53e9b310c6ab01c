"""The test kit: replacements for the outside world, for testing greenroom and programs built on it."""

# Names are looked up on first use: pytest imports this folder at its start because of `pytest_plugin`, in sessions that may
# never use it, and Hypothesis need not be installed.

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.testing._agent_ports import BareAgentPorts
    from greenroom.testing._assert_reruns import assert_reruns
    from greenroom.testing._cache_prefixes import CacheMiss, check_cache_prefixes
    from greenroom.testing._cancel_sweep import CancelAt, SweepRun, cancel_sweep
    from greenroom.testing._conformance_channel import ChannelConformance, ChannelService
    from greenroom.testing._conformance_inbox import INBOX_RULES, InboxKit
    from greenroom.testing._conformance_llm import ModelConformance
    from greenroom.testing._conformance_mailbox import MailboxConformance, MailboxLike
    from greenroom.testing._conformance_supervisor import OpenedSupervisor, SupervisorConformance
    from greenroom.testing._explore import Exploration, ExplorationFailed, assert_deterministic, explore
    from greenroom.testing._messages_script import ErrorReply, HangUp, RawReply, ReceivedRequest, StreamReply
    from greenroom.testing._messages_server import MessagesServer, open_messages_server
    from greenroom.testing._monitors import Hot, Monitor, NotQuiescent
    from greenroom.testing._prompt_cache import PromptCache, cached_share
    from greenroom.testing._scheduler import (
        ChoiceRNG,
        Choices,
        Chooser,
        SeesCancels,
        first_in,
        replayed,
        scheduled,
        seeded,
    )
    from greenroom.testing._search import Search, Trail, dfs, pct, replay
    from greenroom.testing._sim import Faults, Sim
    from greenroom.testing._sim_network import NodesUnsound, SimNetwork
    from greenroom.testing._sim_process import SimProcess
    from greenroom.testing._virtual import Diverged, VirtualRun, double_run, record_lines, run_virtual
    from greenroom.testing._virtual_loop import VirtualLoop
    from greenroom.testing._virtual_ports import VIRTUAL_START, VirtualClock, virtual_ports
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.testing._agent_ports": ("BareAgentPorts",),
            "greenroom.testing._assert_reruns": ("assert_reruns",),
            "greenroom.testing._cache_prefixes": ("CacheMiss", "check_cache_prefixes"),
            "greenroom.testing._cancel_sweep": ("CancelAt", "SweepRun", "cancel_sweep"),
            "greenroom.testing._conformance_channel": ("ChannelConformance", "ChannelService"),
            "greenroom.testing._conformance_inbox": ("INBOX_RULES", "InboxKit"),
            "greenroom.testing._conformance_llm": ("ModelConformance",),
            "greenroom.testing._conformance_mailbox": ("MailboxConformance", "MailboxLike"),
            "greenroom.testing._conformance_supervisor": ("OpenedSupervisor", "SupervisorConformance"),
            "greenroom.testing._explore": ("Exploration", "ExplorationFailed", "assert_deterministic", "explore"),
            "greenroom.testing._messages_script": (
                "ErrorReply",
                "HangUp",
                "RawReply",
                "ReceivedRequest",
                "StreamReply",
            ),
            "greenroom.testing._messages_server": ("MessagesServer", "open_messages_server"),
            "greenroom.testing._monitors": ("Hot", "Monitor", "NotQuiescent"),
            "greenroom.testing._prompt_cache": ("PromptCache", "cached_share"),
            "greenroom.testing._scheduler": (
                "ChoiceRNG",
                "Choices",
                "Chooser",
                "SeesCancels",
                "first_in",
                "replayed",
                "scheduled",
                "seeded",
            ),
            "greenroom.testing._search": ("Search", "Trail", "dfs", "pct", "replay"),
            "greenroom.testing._sim": ("Faults", "Sim"),
            "greenroom.testing._sim_network": ("NodesUnsound", "SimNetwork"),
            "greenroom.testing._sim_process": ("SimProcess",),
            "greenroom.testing._virtual": ("Diverged", "VirtualRun", "double_run", "record_lines", "run_virtual"),
            "greenroom.testing._virtual_loop": ("VirtualLoop",),
            "greenroom.testing._virtual_ports": ("VIRTUAL_START", "VirtualClock", "virtual_ports"),
        },
    )

__all__ = [
    "INBOX_RULES",
    "VIRTUAL_START",
    "BareAgentPorts",
    "CacheMiss",
    "CancelAt",
    "ChannelConformance",
    "ChannelService",
    "ChoiceRNG",
    "Choices",
    "Chooser",
    "Diverged",
    "ErrorReply",
    "Exploration",
    "ExplorationFailed",
    "Faults",
    "HangUp",
    "Hot",
    "InboxKit",
    "MailboxConformance",
    "MailboxLike",
    "MessagesServer",
    "ModelConformance",
    "Monitor",
    "NodesUnsound",
    "NotQuiescent",
    "OpenedSupervisor",
    "PromptCache",
    "RawReply",
    "ReceivedRequest",
    "Search",
    "SeesCancels",
    "Sim",
    "SimNetwork",
    "SimProcess",
    "StreamReply",
    "SupervisorConformance",
    "SweepRun",
    "Trail",
    "VirtualClock",
    "VirtualLoop",
    "VirtualRun",
    "assert_deterministic",
    "assert_reruns",
    "cached_share",
    "cancel_sweep",
    "check_cache_prefixes",
    "dfs",
    "double_run",
    "explore",
    "first_in",
    "open_messages_server",
    "pct",
    "record_lines",
    "replay",
    "replayed",
    "run_virtual",
    "scheduled",
    "seeded",
    "virtual_ports",
]
