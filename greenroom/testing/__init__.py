"""The test kit: what takes the place of the world when greenroom, or what is built on it, is tested."""

from greenroom.testing._cancels import SeesCancels
from greenroom.testing._loop import VirtualLoop
from greenroom.testing._messages_script import ErrorReply, HangUp, RawReply, ReceivedRequest, StreamReply
from greenroom.testing._messages_server import MessagesServer, open_messages_server
from greenroom.testing._ports import VIRTUAL_START, VirtualClock, virtual_ports
from greenroom.testing._scheduler import ChoiceRNG, Choices, first_in, replayed, scheduled, seeded
from greenroom.testing._sweep import CancelAt, SweepRun, cancel_sweep
from greenroom.testing._virtual import Diverged, VirtualRun, double_run, record_lines, run_virtual

__all__ = [
    "VIRTUAL_START",
    "CancelAt",
    "ChoiceRNG",
    "Choices",
    "Diverged",
    "ErrorReply",
    "HangUp",
    "MessagesServer",
    "RawReply",
    "ReceivedRequest",
    "SeesCancels",
    "StreamReply",
    "SweepRun",
    "VirtualClock",
    "VirtualLoop",
    "VirtualRun",
    "cancel_sweep",
    "double_run",
    "first_in",
    "open_messages_server",
    "record_lines",
    "replayed",
    "run_virtual",
    "scheduled",
    "seeded",
    "virtual_ports",
]
