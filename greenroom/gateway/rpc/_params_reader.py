"""Reading of parameters: a JSON object into its class, with the first problem named by its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

from greenroom.core.sources import dotted, shown, suggestion
from greenroom.core.validation import WrongKind, locate_problems
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._reader import config_converter
from greenroom.gateway.rpc._rpc_frames import ErrorCode, RpcError

ParamsT = TypeVar("ParamsT")


def read_params(kind: type[ParamsT], values: Mapping[str, Any]) -> ParamsT:
    """Return parameters as an object of their class; unknown fields are refused, and no value becomes one of another type.

    Args:
        kind: The class.
        values: The parameters, as a JSON value.

    Raises:
        RpcError: `bad_request`, with the path of the first field that does not fit.
    """
    try:
        return config_converter().structure(values, kind)
    except BaseValidationError as error:
        place, problem = min(locate_problems(error, key_of), key=lambda found: tuple(map(str, found[0])))
        path = dotted(place)
        raise RpcError(ErrorCode.BAD_REQUEST, f"{path}: {_in_words(problem, str(place[-1]))}", path=path) from None


def _in_words(error: BaseException, key: str) -> str:
    match error:
        case ForbiddenExtraKeysError():
            known = [key_of(field.name) for field in attrs.fields(error.cl)]
            return f"unknown field{suggestion(key, known)}"
        case WrongKind(value=value, wanted=wanted):
            return f"must be {wanted}, got {shown(value)}"
        case KeyError():
            return "is required"
        case TypeError() | ValueError():
            return str(error)
    return "cannot be read"
