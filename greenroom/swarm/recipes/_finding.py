"""Lookup of recipes by name or file: TOML, or Python that defines `RECIPE`.

Each mistake is one line: the file, the key, what is wrong with it, what can be had instead. A Python file is the user's
program: it is run as it stands, and only when it was named.
"""

from __future__ import annotations

import difflib
import re
import runpy
import tomllib
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from greenroom.core import UsageError
from greenroom.core.sources import Unusable, read_text
from greenroom.swarm.recipes._builtin import BUILTINS
from greenroom.swarm.recipes._recipe import LEAD, Recipe, RecipeItem, Role

T = TypeVar("T")

PYTHON_NAME: Final = "RECIPE"
_ENDINGS: Final = (".toml", ".py")
_WORDS: Final[Mapping[type, str]] = {str: "text", int: "a whole number", list: "a list", dict: "a table"}
_ROLE: Final[Mapping[str, type]] = {
    **dict.fromkeys(("name", "definition", "system_prompt", "model", "prompt", "restart"), str),
    "count": int,
    "tools": list,
    "max_tokens": int,
}
_LEAD: Final = {key: kind for key, kind in _ROLE.items() if key not in {"name", "count", "restart", "prompt"}}
_ITEM: Final[Mapping[str, type]] = {"id": str, "subject": str, "description": str, "blocked_by": list}
_RECIPE: Final[Mapping[str, type]] = {
    **dict.fromkeys(
        ("name", "description", "task", "prompt", "closing", "strategy", "conversations", "permission_mode", "rules"),
        str,
    ),
    "lead": dict,
    "roles": list,
    "items": list,
}


def find_recipe(wanted: str) -> Recipe:
    """Return the recipe of that name, or that a file holds.

    Args:
        wanted: A name; or a path, which ends in `.toml` or `.py`.

    Raises:
        UsageError: There is no such recipe or file, or something in it is wrong.
    """
    if wanted in BUILTINS:
        return BUILTINS[wanted]
    path = Path(wanted)
    if path.suffix not in _ENDINGS:
        close = difflib.get_close_matches(wanted, BUILTINS, n=1)
        offer = f"did you mean {close[0]!r}?" if close else f"expected one of: {', '.join(BUILTINS)}"
        raise UsageError(f"unknown recipe {wanted!r}: {offer} (a file must end in .toml or .py)")
    try:
        text = read_text(path)
    except Unusable as error:
        why = str(error).removeprefix("it cannot be read: ")
        raise UsageError(f"the recipe {wanted!r} cannot be read: {why}") from None
    return _from_python(path) if path.suffix == ".py" else _from_toml(path, text)


def _from_python(path: Path) -> Recipe:
    try:
        found = runpy.run_path(str(path)).get(PYTHON_NAME)
    except UsageError as error:
        raise UsageError(f"the recipe {str(path)!r}: {error}") from None
    except Exception as error:  # noqa: BLE001 - the user's program may fail in any way, and is told where
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else (lines or [None])[-1]
        what = error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"
        raise UsageError(f"the recipe {str(path)!r} fails in line {line}: {' '.join(str(what).split())}") from None
    if not isinstance(found, Recipe):
        what = f"is {found!r}" if found is not None else "is not there"
        raise UsageError(f"the recipe {str(path)!r} has to define {PYTHON_NAME} = Recipe(...); it {what}")
    return found


# --- TOML -------------------------------------------------------------------------------------------------------------


class _Table:
    """A table of the file, whose mistakes name the file and the key."""

    def __init__(self, path: Path, where: str, values: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
        self._start = f"the recipe {str(path)!r}: {where}"
        self._path = path
        self._values = values
        for key, value in values.items():
            kind = kinds.get(key)
            if kind is None:
                close = difflib.get_close_matches(key, kinds, n=1)
                offer = f"did you mean {close[0]!r}?" if close else f"expected one of: {', '.join(kinds)}"
                raise UsageError(f"{self._start}{key} is not a known key: {offer}")
            # A bool is an int to Python, and none to a reader.
            if not isinstance(value, kind) or isinstance(value, bool):
                if key == "count" and value == "agents":
                    continue
                more = ' or "agents"' if key == "count" else ""
                raise UsageError(f"{self._start}{key} must be {_WORDS[kind]}{more}, got {value!r}")

    def need(self, *keys: str) -> None:
        """Refuse a table that lacks a key."""
        for key in keys:
            if key not in self._values:
                raise UsageError(f"{self._start}{key} is missing")

    def texts(self, key: str) -> None:
        """Refuse a list that holds something else than text."""
        for at, one in enumerate(self._values.get(key, ())):
            if not isinstance(one, str):
                raise UsageError(f"{self._start}{key}[{at}] must be text, got {one!r}")

    def make(self, kind: Callable[..., T], **more: Any) -> T:
        """Make what the table describes; its own checks speak of one field each."""
        try:
            return kind(**{**self._values, **more})
        except UsageError as error:
            raise UsageError(f"{self._start}{error}") from None


def _from_toml(path: Path, text: str) -> Recipe:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the recipe {str(path)!r} is no TOML: {error}") from None
    table = _Table(path, "", content, _RECIPE)
    table.need("roles")
    lead = _role(path, LEAD, {"name": LEAD, **content.get("lead", {})}, {"name": str, **_LEAD})
    roles = [_role(path, f"roles[{at}]", one, _ROLE) for at, one in _tables(path, "roles", content["roles"])]
    items = [_item(path, f"items[{at}]", one) for at, one in _tables(path, "items", content.get("items", ()))]
    ruled = _rules(path, content, roles)
    kept = {key: value for key, value in content.items() if key not in {"lead", "roles", "items", "rules"}}
    kept.setdefault("name", re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-"))
    return _Table(path, "", kept, _RECIPE).make(Recipe, lead=lead, roles=roles, items=items, **ruled)


def _tables(path: Path, key: str, values: Iterable[Any]) -> Iterable[tuple[int, Mapping[str, Any]]]:
    for at, one in enumerate(values):
        if not isinstance(one, dict):
            raise UsageError(f"the recipe {str(path)!r}: {key}[{at}] must be a table, got {one!r}")
        yield at, one


def _role(path: Path, where: str, values: Mapping[str, Any], kinds: Mapping[str, type]) -> Role:
    table = _Table(path, f"{where}.", values, kinds)
    table.need("name")
    table.texts("tools")
    more = {"count": None} if values.get("count") == "agents" else {}
    return table.make(Role, **more)


def _item(path: Path, where: str, values: Mapping[str, Any]) -> RecipeItem:
    table = _Table(path, f"{where}.", values, _ITEM)
    table.need("id", "subject", "description")
    table.texts("blocked_by")
    return table.make(RecipeItem)


def _rules(path: Path, content: Mapping[str, Any], roles: Iterable[Role]) -> Mapping[str, Any]:
    """Return what comes with the rules of a built-in recipe: its task, what it looks up, and the rules for each role."""
    wanted = content.get("rules")
    if wanted is None:
        return {}
    playable = {name: recipe for name, recipe in BUILTINS.items() if recipe.playbook}
    start = f"the recipe {str(path)!r}: rules"
    if wanted not in playable:
        raise UsageError(f"{start}: no rules are called {wanted!r}; expected one of: {', '.join(playable)}")
    if content.get("items") or content.get("prompt"):
        raise UsageError(f"{start}: they know no items and no prompt but their own; take these out")
    recipe = playable[wanted]
    (mate,) = (recipe.playbook[role.name] for role in recipe.roles)
    rules = {LEAD: recipe.playbook[LEAD], **{role.name: mate for role in roles}}
    return {"task": content.get("task") or recipe.task, "look": recipe.look, "playbook": rules}
