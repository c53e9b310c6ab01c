"""A small server whose tool decides about calls, written with the SDK: `python gatekeeper.py FILE ANSWER`, on stdio.

Each call that it is asked about goes to the file, one a line. The answer is what it says each time, `{}` in it the input of the call;
`die` ends the server, and `fail` the call.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

server = MCPServer("gatekeeper", version="1.0")
FILE, ANSWER = Path(sys.argv[1]), sys.argv[2]


@server.tool()
def decide(tool_name: str, input: dict[str, Any], tool_use_id: str) -> str:  # noqa: A002 - the word of the protocol
    """Decide about a call."""
    asked = {"tool_name": tool_name, "input": input, "tool_use_id": tool_use_id}
    with FILE.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asked) + "\n")
    if ANSWER == "die":
        os._exit(3)
    if ANSWER == "fail":
        raise ValueError("out of order")
    return ANSWER.replace("{}", json.dumps(input))


if __name__ == "__main__":
    server.run()
