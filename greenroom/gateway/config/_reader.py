"""Reading of a configuration: the file, its includes and variables, the settings classes, and every problem by its path."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, final, get_args, get_origin

import attrs
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

from greenroom.core.sources import Refused, dotted, shown, suggestion
from greenroom.core.validation import WrongKind, locate_problems, make_converter
from greenroom.gateway.config._agents import AgentConfig, AgentSubagents, DefaultAgent, DefaultSubagents
from greenroom.gateway.config._checks import check_config
from greenroom.gateway.config._clock_and_limits import DeliverTo
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._files import ConfigFiles, Place, read_files
from greenroom.gateway.config._foreign_keys import idle_places, is_foreign
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._problems import Problem, Severity
from greenroom.gateway.config._pruned import Pruned
from greenroom.gateway.config._values import Range, Rule, Seconds, Secret, Shaped, Short, Unfit, read_secret

if TYPE_CHECKING:
    import cattrs

_WIDTHS: Final[Mapping[Place, int]] = {
    ("agents", "defaults", "maxConcurrent"): 4,
    ("agents", "defaults", "subagents", "maxConcurrent"): 8,
}
"""Widths of lanes: one that is no width is replaced, and the replacement is said."""
_FOR_ALL: Final[Mapping[type[Any], type[Any]]] = {AgentConfig: DefaultAgent, AgentSubagents: DefaultSubagents}
_RULES: Final = (Range, Shaped, Seconds, Short)


@final
@attrs.frozen(kw_only=True)
class ConfigReading:
    """What was read: the configuration, if it can be used, and all that is to be said about it."""

    config: GatewayConfig | None
    """The configuration; None if it has a problem."""
    problems: tuple[Problem, ...] = ()
    """Problems, warnings and notes: those of files, then those of values, then those of values beside each other."""
    path: Path
    """The file."""
    files: tuple[Path, ...] = ()
    """The file and its includes; a change of any of them is a change of the configuration."""
    said: Mapping[Place, str] = attrs.field(factory=dict)
    """The file in which each value stands, by its path."""

    @property
    def has_problems(self) -> bool:
        """True if the configuration cannot be used."""
        return self.config is None


def read_config(path: Path, environ: Mapping[str, str]) -> ConfigReading:
    """Return the configuration in a file, with every problem of it. The file is only read. It blocks: up to seconds.

    Args:
        path: The file.
        environ: Variables for `${NAME}` and for secrets.
    """
    files = read_files(path, environ)
    if files.values is None:
        return ConfigReading(config=None, problems=files.problems, path=path, files=files.files)
    found = _Findings(files)
    values = _with_widths(files.values, found)
    config, pruned = _structured(values, found)
    if config is not None:
        for place, text, severity in check_config(
            config, folder=path.parent, environ=environ, is_whole=pruned.is_whole
        ):
            found.add(pruned.written(place), text, severity)
    said = _said(files)
    for place, text in idle_places(said):
        found.add(place, text, Severity.WARNING)
    return ConfigReading(
        config=None if found.has_problems else config,
        problems=tuple(found.all),
        path=path,
        files=files.files,
        said=said,
    )


@final
class _Findings:
    """Collects problems, one for each path."""

    def __init__(self, files: ConfigFiles) -> None:
        self.all = list(files.problems)
        self._files = files
        self._paths = {problem.path for problem in files.problems}

    @property
    def has_problems(self) -> bool:
        """True if there is one that makes the configuration unusable."""
        return any(problem.severity is Severity.PROBLEM for problem in self.all)

    def add(self, place: Place, text: str, severity: Severity = Severity.PROBLEM) -> None:
        """Add a problem, unless its value has one already."""
        path = dotted(place)
        if severity is Severity.PROBLEM:
            if path in self._paths:
                return
            self._paths.add(path)
        self.all.append(Problem(path, text, self._files.source_of(place), severity))


def _structured(values: Mapping[str, Any], found: _Findings) -> tuple[GatewayConfig | None, Pruned]:
    """Return the configuration, without the values that cannot be used; and which these are."""
    pruned = Pruned(values)
    while True:
        try:
            return config_converter().structure(pruned.values, GatewayConfig), pruned
        except BaseValidationError as error:
            for place, problem in [*locate_problems(error, key_of)]:
                is_unknown = isinstance(problem, ForbiddenExtraKeysError)
                found.add(pruned.written(place), _in_words(problem, place))
                pruned.add(place, is_unknown=is_unknown)
            if not pruned.drop():
                return None, pruned


def _in_words(error: BaseException, place: Place) -> str:
    match error:
        case ForbiddenExtraKeysError():
            if is_foreign(place):
                return "is a key of OpenClaw that has no effect here"
            return _unknown(place, error.cl)
        case WrongKind(value=value, wanted=wanted):
            # Where a list or an object belongs, a text may well be a secret.
            got = "a text" if isinstance(value, str) and wanted in {"an object", "a list"} else shown(value)
            return f"must be {wanted}, got {got}"
        case KeyError():
            return "is required"
        case TypeError() | ValueError():
            return str(error)
    return f"cannot be read: {error}"


def _unknown(place: Place, owner: type[Any]) -> str:
    key = str(place[-1])
    known = [key_of(field.name) for field in attrs.fields(owner)]
    # Keys of all agents are looked for in a single one.
    elsewhere = [key_of(field.name) for field in attrs.fields(_FOR_ALL[owner])] if owner in _FOR_ALL else []
    if key in elsewhere:
        return f"is a key for all agents; write it in agents.defaults{'.subagents' if owner is AgentSubagents else ''}"
    return f"unknown key{suggestion(key, [*known, *elsewhere])}"


def _with_widths(values: Mapping[str, Any], found: _Findings) -> dict[str, Any]:
    """Return the values with widths that are widths, and note each replacement."""
    made = dict(values)
    for place, default in _WIDTHS.items():
        holder: Any = values
        for key in place[:-1]:
            holder = holder.get(key) if isinstance(holder, dict) else None
        if not isinstance(holder, dict) or place[-1] not in holder:
            continue
        written = holder[place[-1]]
        width = _width(written, default)
        if isinstance(written, Refused):
            continue
        if isinstance(written, bool) or width != written:
            found.add(place, f"{shown(written)} is not a width; {width} is used", Severity.NOTE)
        made = _replaced(made, place, width)
    return made


def _width(written: Any, default: int) -> int:
    if isinstance(written, bool) or not isinstance(written, int | float):
        return default
    return max(1, math.floor(written))


def _replaced(values: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    first, *rest = place
    assert isinstance(first, str)
    return values | {first: _replaced(values[first], tuple(rest), value) if rest else value}


def _said(files: ConfigFiles) -> dict[Place, str]:
    """Return where each value of the files stands, by its path."""
    made: dict[Place, str] = {}

    def walk(value: Any, place: Place, source: str) -> None:
        source = files.places.get(place, source)
        made[place] = source
        match value:
            case dict():
                for key, each in value.items():
                    walk(each, (*place, key), source)
            case list():
                for at, each in enumerate(value):
                    walk(each, (*place, at), source)

    walk(files.values, (), files.main)
    return made


# --- from plain values to the classes ---------------------------------------------------------------------------------


@cache
def config_converter() -> cattrs.Converter:
    """Return the converter of configurations; it generates code once for each class."""
    from cattrs.gen import make_dict_structure_fn, override

    converter = make_converter()

    def structure_class(kind: type[Any]) -> Callable[[Any, Any], Any]:
        names: dict[str, Any] = {field.name: override(rename=key_of(field.name)) for field in attrs.fields(kind)}
        structure = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, **names)

        def read(value: Any, wanted: Any) -> Any:
            if not isinstance(value, Mapping):
                raise WrongKind(value, "an object")
            return structure(value, wanted)

        return read

    converter.register_structure_hook_factory(attrs.has, structure_class)
    converter.register_structure_hook_factory(_is_ruled, partial(_ruled, converter))
    converter.register_structure_hook(Secret, read_secret)
    converter.register_structure_hook(float, _finite)
    converter.register_structure_hook_factory(_is_target, partial(_target, converter))
    return converter


def _finite(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongKind(value, "a number")
    return float(value)


def rule_of(kind: Any) -> Rule | None:
    """Return the rule of an annotation; None if it has none."""
    if get_origin(kind) is not Annotated:
        return None
    return next((each for each in get_args(kind)[1:] if isinstance(each, _RULES)), None)


def _is_ruled(kind: Any) -> bool:
    return rule_of(kind) is not None


def _ruled(converter: cattrs.Converter, kind: Any) -> Callable[[Any, Any], Any]:
    rule, plain = rule_of(kind), get_args(kind)[0]
    assert rule is not None
    if isinstance(rule, Seconds):  # from a text to a number
        return lambda value, _: rule.read(value)
    structure = converter.get_structure_hook(plain)
    if isinstance(rule, Short):
        return lambda value, _: structure(rule.read(value), plain)
    return lambda value, _: rule.read(structure(value, plain))


_TARGET: Final = DeliverTo | Literal["last", "none"]


def _is_target(kind: Any) -> bool:
    return bool(kind == _TARGET)


def _target(converter: cattrs.Converter, _: Any) -> Callable[[Any, Any], Any]:
    structure = converter.get_structure_hook(DeliverTo)

    def read(value: Any, _: Any) -> Any:
        if isinstance(value, str):
            if value not in {"last", "none"}:
                raise Unfit(f'must be "last", "none" or {{channel, to}}, got {shown(value)}')
            return value
        return structure(value, DeliverTo)

    return read
