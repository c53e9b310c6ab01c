"""The record of effects: secrets in inputs are masked, and a masked input is equal to the one with the secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from greenroom.containment import Secrets
from greenroom.effects import EffectHead, EffectLog, OwnedIds, drawing_apart
from greenroom.effects._effect_file import fits, read_effects

KEY = "sk-ant-" + "api03-0123456789abcdef0123456789abcdef"


@pytest.mark.promise("RR-6")
def test_secrets_in_inputs_are_masked(tmp_path: Path) -> None:
    mask = Secrets({"ANTHROPIC_API_KEY": KEY}).mask_value
    path = tmp_path / "effects.jsonl"
    with path.open("wb") as file:
        log = EffectLog(file.write, lambda: 4, EffectHead(seed="1", surroundings={"git": KEY}), mask)
        log.note("tool", "a", "t", {"input": {"command": f"echo {KEY}"}}, {"text": KEY})

    assert KEY not in path.read_text()
    (effect,) = read_effects(tmp_path).effects
    assert fits(effect.asked, {"input": {"command": f"echo {KEY}"}})
    assert not fits(effect.asked, {"input": {"command": f"print {KEY}"}})


@pytest.mark.parametrize(
    ("recorded", "now", "is_equal"),
    [
        ("*.py", "a.py", False),
        ("a ********.", "a 12345678.", True),
        ("a ********.", "a 1234567.", False),
        (["x", {"y": 1}], ["x", {"y": 1}], True),
        (["x"], ["x", "z"], False),
        ({"x": True}, {"x": False}, False),
    ],
)
def test_only_what_was_masked_may_differ(recorded: Any, now: Any, is_equal: bool) -> None:
    assert fits(recorded, now) is is_equal


@pytest.mark.promise("RR-8")
def test_each_owner_draws_from_a_stream_of_its_own() -> None:
    """Whatever others draw between, and however wide; the streams of two seeds differ."""

    def drawn(seed: str, between: int) -> list[int]:
        ids, found = OwnedIds(seed), []
        for scope in ("one", "two", "one"):
            with drawing_apart(f"/{scope}"):
                found.append(ids.bits(61))
            for _ in range(between):
                ids.bits(8)
        return found

    assert drawn("s", 0) == drawn("s", 3) != drawn("t", 0)
    assert len(set(drawn("s", 0))) == 3
    assert all(bits < 1 << 61 for bits in drawn("s", 0))
    assert json.dumps(drawn("s", 0))
