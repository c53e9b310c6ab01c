"""The locks hold what pyproject.toml asks for, each with hashes, and agree with each other. To renew: `make lock`."""

from __future__ import annotations

import tomllib
from importlib import metadata
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.source_tree import ROOT

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILD: Final[list[str]] = PROJECT["dependency-groups"]["build"]
ASKED: Final[dict[str, list[str]]] = {
    "requirements.lock": [*PROJECT["project"]["dependencies"], *BUILD],
    "requirements-dev.lock": [
        *PROJECT["project"]["dependencies"],
        *BUILD,
        *(each for each in PROJECT["dependency-groups"]["dev"] if isinstance(each, str)),
    ],
}


def locked(text: str) -> dict[str, tuple[str, int]]:
    """Return {name: (version, number of hashes)}."""
    found: dict[str, tuple[str, int]] = {}
    name = ""
    for line in text.splitlines():
        if line.lstrip().startswith("--hash=sha256:"):
            version, hashes = found[name]
            found[name] = version, hashes + 1
        elif line and not line.lstrip().startswith("#"):
            name, _, rest = line.partition("==")
            name, _, _ = name.partition("[")
            found[name] = rest.split()[0], 0
    return found


def extras(text: str) -> dict[str, set[str]]:
    """Return the extras that a lock names, by package."""
    asked = (Requirement(line.split()[0]) for line in text.splitlines() if line[:1].isalnum())
    return {requirement.name: set(requirement.extras) for requirement in asked}


@pytest.mark.parametrize("lock", ASKED)
def test_a_lock_holds_what_is_asked_for(lock: str) -> None:
    held = locked((ROOT / lock).read_text(encoding="utf-8"))

    missing = []
    for requirement in map(Requirement, ASKED[lock]):
        version, _ = held.get(canonicalize_name(requirement.name), ("", 0))
        if not version or version not in requirement.specifier:
            missing.append(str(requirement))

    assert missing == []
    assert [name for name, (_, hashes) in held.items() if not hashes] == []


def test_the_locks_agree() -> None:
    less, more = (locked((ROOT / lock).read_text(encoding="utf-8")) for lock in ASKED)
    assert {name: version for name, version in less.items() if more.get(name) != version} == {}


@pytest.mark.parametrize("lock", ASKED)
def test_a_lock_names_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if "://" in line or line.startswith("-") or " @ " in line] == []


@pytest.mark.parametrize("lock", ASKED)
def test_a_lock_names_the_extras_that_its_packages_ask_for(lock: str) -> None:
    """pip takes `coverage[toml]` for another requirement than `coverage==...`, and picks a newer, unpinned release for it."""
    named = extras((ROOT / lock).read_text(encoding="utf-8"))

    missing = []
    for distribution in metadata.distributions():
        if canonicalize_name(distribution.name) in named:
            for requirement in map(Requirement, distribution.requires or ()):
                is_asked = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
                name = canonicalize_name(requirement.name)
                if is_asked and name in named and not requirement.extras <= named[name]:
                    missing.append(f"{distribution.name} asks for {requirement}")

    assert missing == []
