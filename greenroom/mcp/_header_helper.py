"""The program that prints the headers for a server (`headersHelper`); it runs for each connection.

Its output must be an object of strings, or the connection fails. No message contains what it printed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import trio

from greenroom.mcp._configs import Http, bad_headers
from greenroom.mcp._mcp_errors import ServerDown
from greenroom.tools import PipedProcess, SystemProcesses, ToolError

HELPER_S: Final = 10.0
"""Time limit, in seconds."""
_MAX_BYTES: Final = 256 * 1024


async def run_helper(name: str, way: Http, programs: SystemProcesses | None, cwd: Path) -> dict[str, str]:
    """Run the helper of an entry and return its headers; empty without a helper. Cancellation stops the program.

    Raises:
        ServerDown: It cannot be run, failed, timed out, or printed something else.
    """
    if not way.headers_helper:
        return {}
    if programs is None:
        raise ServerDown(name, "cannot run its headersHelper here")
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
        raise ServerDown(name, f"its headersHelper timed out after {HELPER_S:g} s") from None
    except ToolError as problem:
        raise ServerDown(name, f"cannot run its headersHelper: {problem}") from problem
    if process.exit_code != 0:
        said = f": {process.last_words}" if process.last_words else ""
        raise ServerDown(name, f"its headersHelper failed with exit code {process.exit_code}{said}")
    try:
        headers = json.loads(printed)
    except ValueError:
        raise ServerDown(name, "its headersHelper must print a JSON object of strings") from None
    if not isinstance(headers, dict) or not all(isinstance(header, str) for header in headers.values()):
        raise ServerDown(name, "its headersHelper must print an object of strings")
    if bad_headers(headers):
        raise ServerDown(name, "its headersHelper printed characters that are not allowed in a header")
    return headers
