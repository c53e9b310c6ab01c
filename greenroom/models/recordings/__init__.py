"""Recordings of models: requests and answers in a file, and a model that replays them."""

from greenroom.models.recordings._recording_file import (
    MODEL_FILE,
    ModelRecording,
    RecordedExchange,
    read_recording,
    recording,
    write_recording,
)
from greenroom.models.recordings._replay_model import RecordedModel, ReplayMismatch

__all__ = [
    "MODEL_FILE",
    "ModelRecording",
    "RecordedExchange",
    "RecordedModel",
    "ReplayMismatch",
    "read_recording",
    "recording",
    "write_recording",
]
