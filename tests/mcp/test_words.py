"""Errors as people read them: words, never the name of a class."""

from __future__ import annotations

import json
import re

import anyio
import httpx2
import pytest
import trio
from mcp import MCPError
from mcp_types import Tool
from pydantic import ValidationError

from greenroom.mcp import ServerDown
from greenroom.mcp._mcp_errors import told

NAME = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Timeout|Closed|Broken)\w*\b")


def not_a_tool() -> Exception:
    try:
        Tool.model_validate({})
    except ValidationError as problem:
        return problem
    raise AssertionError


def network_errors() -> list[Exception]:
    """Return one error of each class that the network's library has and that can be made so."""
    found = [var for var in vars(httpx2).values() if isinstance(var, type) and issubclass(var, httpx2.TransportError)]
    return [one("[Errno 111] refused") for one in found]


ERRORS = [
    *network_errors(),
    RuntimeError("Unsupported protocol version from the server: 1"),
    MCPError(-32601, "no such method"),
    ConnectionRefusedError(111, "Connection refused"),
    trio.TooSlowError(),
    trio.BrokenResourceError("gone"),
    anyio.ClosedResourceError(),
    anyio.EndOfStream(),
    json.JSONDecodeError("Expecting value", "x", 0),
    not_a_tool(),
    ValueError(),
    KeyError("serverInfo"),
    ServerDown("far", "it exited with code 1"),
    ExceptionGroup("several", [ExceptionGroup("inner", [RuntimeError("first")]), OSError("second")]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_told_without_the_name_of_a_class(error: Exception) -> None:
    said = told(error)

    assert said.strip()
    assert "\n" not in said
    assert not NAME.search(said)


def test_what_an_error_says_is_kept() -> None:
    assert told(httpx2.ConnectError("[Errno 111] refused")) == "it cannot be reached: [Errno 111] refused"
    assert told(RuntimeError("Unsupported protocol version")) == "Unsupported protocol version"
