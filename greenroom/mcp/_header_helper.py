"""The program that says which headers a server is to be asked with (`headersHelper`); it runs anew for each connection.

Rule: what it prints is an object of names and texts, or the connection fails; no message holds what it printed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import trio

from greenroom.mcp._configs import Http, bad_headers
from greenroom.mcp._errors import ServerDown
from greenroom.mcp._stdio import Programs
from greenroom.tools import PipedProcess, ToolError

HELPER_S: Final = 10.0
"""So long it may run."""
_MAX_BYTES: Final = 256 * 1024


async def run_helper(name: str, way: Http, programs: Programs | None, cwd: Path) -> dict[str, str]:
    """Return the headers that the helper of an entry gives; none where there is no helper. Cancelled, it is ended.

    Raises:
        ServerDown: It cannot be run, failed, took too long, or printed something else.
    """
    if not way.headers_helper:
        return {}
    if programs is None:
        raise ServerDown(name, "nothing here runs its headersHelper")
    about = {
        **dict.fromkeys(("GREENROOM_MCP_SERVER_NAME", "CLAUDE_CODE_MCP_SERVER_NAME"), name),
        **dict.fromkeys(("GREENROOM_MCP_SERVER_URL", "CLAUDE_CODE_MCP_SERVER_URL"), way.url),
    }
    printed = bytearray()
    process: PipedProcess | None = None
    try:
        with trio.fail_after(HELPER_S):
            async with programs.open_piped(
                ("/bin/sh", "-c", way.headers_helper), cwd=cwd, complaints=programs.new_output(), env=about
            ) as process:
                await process.stdin.aclose()
                while len(printed) <= _MAX_BYTES and (chunk := await process.stdout.receive_some()):
                    printed += chunk
                await process.wait_ended()
    except trio.TooSlowError:
        raise ServerDown(name, f"its headersHelper did not end within {HELPER_S:g} s") from None
    except ToolError as problem:
        raise ServerDown(name, f"its headersHelper cannot be run: {problem}") from problem
    if process.exit_code != 0:
        said = f": {process.last_words}" if process.last_words else ""
        raise ServerDown(name, f"its headersHelper ended with exit code {process.exit_code}{said}")
    try:
        headers = json.loads(printed)
    except ValueError:
        raise ServerDown(name, "its headersHelper printed no JSON; print an object of names and texts") from None
    if not isinstance(headers, dict) or not all(isinstance(one, str) for one in headers.values()):
        raise ServerDown(name, "its headersHelper printed no object of names and texts")
    if bad_headers(headers):
        raise ServerDown(name, "its headersHelper printed characters that no header can hold")
    return headers
