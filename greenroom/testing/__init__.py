"""The test kit: replacements for the outside world, for testing greenroom and programs built on it."""

# Names are looked up on first use, as in greenroom/__init__.py: pytest imports this folder at its start because of
# `pytest_plugin`, in sessions that may never use it, and Hypothesis need not be installed.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    from greenroom.testing._virtual import Diverged, VirtualRun, double_run, record_lines, run_virtual
    from greenroom.testing._virtual_loop import VirtualLoop
    from greenroom.testing._virtual_ports import VIRTUAL_START, VirtualClock, virtual_ports

_MODULE_OF: "Mapping[str, str]" = {
    "INBOX_RULES": "greenroom.testing._conformance_inbox",
    "VIRTUAL_START": "greenroom.testing._virtual_ports",
    "BareAgentPorts": "greenroom.testing._agent_ports",
    "CacheMiss": "greenroom.testing._cache_prefixes",
    "CancelAt": "greenroom.testing._cancel_sweep",
    "ChannelConformance": "greenroom.testing._conformance_channel",
    "ChannelService": "greenroom.testing._conformance_channel",
    "ChoiceRNG": "greenroom.testing._scheduler",
    "Choices": "greenroom.testing._scheduler",
    "Chooser": "greenroom.testing._scheduler",
    "Diverged": "greenroom.testing._virtual",
    "ErrorReply": "greenroom.testing._messages_script",
    "Exploration": "greenroom.testing._explore",
    "ExplorationFailed": "greenroom.testing._explore",
    "Faults": "greenroom.testing._sim",
    "HangUp": "greenroom.testing._messages_script",
    "Hot": "greenroom.testing._monitors",
    "InboxKit": "greenroom.testing._conformance_inbox",
    "MailboxConformance": "greenroom.testing._conformance_mailbox",
    "MailboxLike": "greenroom.testing._conformance_mailbox",
    "MessagesServer": "greenroom.testing._messages_server",
    "ModelConformance": "greenroom.testing._conformance_llm",
    "Monitor": "greenroom.testing._monitors",
    "NotQuiescent": "greenroom.testing._monitors",
    "OpenedSupervisor": "greenroom.testing._conformance_supervisor",
    "PromptCache": "greenroom.testing._prompt_cache",
    "RawReply": "greenroom.testing._messages_script",
    "ReceivedRequest": "greenroom.testing._messages_script",
    "Search": "greenroom.testing._search",
    "SeesCancels": "greenroom.testing._scheduler",
    "Sim": "greenroom.testing._sim",
    "StreamReply": "greenroom.testing._messages_script",
    "SupervisorConformance": "greenroom.testing._conformance_supervisor",
    "SweepRun": "greenroom.testing._cancel_sweep",
    "Trail": "greenroom.testing._search",
    "VirtualClock": "greenroom.testing._virtual_ports",
    "VirtualLoop": "greenroom.testing._virtual_loop",
    "VirtualRun": "greenroom.testing._virtual",
    "assert_deterministic": "greenroom.testing._explore",
    "assert_reruns": "greenroom.testing._assert_reruns",
    "cached_share": "greenroom.testing._prompt_cache",
    "cancel_sweep": "greenroom.testing._cancel_sweep",
    "check_cache_prefixes": "greenroom.testing._cache_prefixes",
    "dfs": "greenroom.testing._search",
    "double_run": "greenroom.testing._virtual",
    "explore": "greenroom.testing._explore",
    "first_in": "greenroom.testing._scheduler",
    "open_messages_server": "greenroom.testing._messages_server",
    "pct": "greenroom.testing._search",
    "record_lines": "greenroom.testing._virtual",
    "replay": "greenroom.testing._search",
    "replayed": "greenroom.testing._scheduler",
    "run_virtual": "greenroom.testing._virtual",
    "scheduled": "greenroom.testing._scheduler",
    "seeded": "greenroom.testing._scheduler",
    "virtual_ports": "greenroom.testing._virtual_ports",
}

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
    "NotQuiescent",
    "OpenedSupervisor",
    "PromptCache",
    "RawReply",
    "ReceivedRequest",
    "Search",
    "SeesCancels",
    "Sim",
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

if not TYPE_CHECKING:  # checkers would believe that every name exists

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = value  # from now on without this function
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
