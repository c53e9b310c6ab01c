"""Results from outside of a run, recorded or served from a record, and the recorded order of messages."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.effects._conductor import MISSED, Conductor, Difference, EffectReplay
    from greenroom.effects._effect_file import (
        EFFECTS_FILE,
        EffectHead,
        EffectLog,
        EffectRecord,
        RecordedEffect,
        read_effects,
    )
    from greenroom.effects._effect_port import Effects
    from greenroom.effects._owned_randomness import (
        RANDOM_SCOPE,
        OwnedIds,
        OwnedNumbers,
        RecordedClock,
        current_owner,
        drawing_apart,
        plain_clock,
    )
    from greenroom.effects._place_order import OrderedMailbox, PlaceOrder, Step
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.effects._conductor": ("MISSED", "Conductor", "Difference", "EffectReplay"),
            "greenroom.effects._effect_file": (
                "EFFECTS_FILE",
                "EffectHead",
                "EffectLog",
                "EffectRecord",
                "RecordedEffect",
                "read_effects",
            ),
            "greenroom.effects._effect_port": ("Effects",),
            "greenroom.effects._owned_randomness": (
                "RANDOM_SCOPE",
                "OwnedIds",
                "OwnedNumbers",
                "RecordedClock",
                "current_owner",
                "drawing_apart",
                "plain_clock",
            ),
            "greenroom.effects._place_order": ("OrderedMailbox", "PlaceOrder", "Step"),
        },
    )

__all__ = [
    "EFFECTS_FILE",
    "MISSED",
    "RANDOM_SCOPE",
    "Conductor",
    "Difference",
    "EffectHead",
    "EffectLog",
    "EffectRecord",
    "EffectReplay",
    "Effects",
    "OrderedMailbox",
    "OwnedIds",
    "OwnedNumbers",
    "PlaceOrder",
    "RecordedClock",
    "RecordedEffect",
    "Step",
    "current_owner",
    "drawing_apart",
    "plain_clock",
    "read_effects",
]
