"""A server without the SDK, which does what the protocol does not allow: `python raw.py MODE`."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL: dict[str, Any] = {"name": "echo", "inputSchema": {"type": "object"}}


def send(request: dict[str, Any], result: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


def refuse(request: dict[str, Any]) -> None:
    error = {"code": -32601, "message": "no such method"}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)


def call(request: dict[str, Any], mode: str) -> None:
    text = request["params"]["arguments"].get("text", "")
    match mode:
        case "huge":
            sys.stdout.write("x" * 17 * 1024**2)
            sys.stdout.flush()
        case "nonsense":
            send(request, {"content": "not a list"})
        case "half":
            sys.stdout.write('{"jsonrpc": "2.0", "id"')
            sys.stdout.flush()
            sys.exit(0)
        case _:
            send(request, {"content": [{"type": "text", "text": text}], "structuredContent": {"a": 1}})


def main(mode: str) -> None:
    for line in sys.stdin:
        if mode == "noisy":
            print("DEBUG got", line.strip()[:20], flush=True)
            print("\x1b[0m\x00\xff", flush=True)
        request = json.loads(line)
        if "id" not in request:
            continue
        match request["method"]:
            case "initialize":
                version = request["params"]["protocolVersion"]
                about = {"name": "raw", "version": "0"}
                send(request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
            case "tools/list" if mode == "endless":
                send(request, {"tools": [TOOL], "nextCursor": "more"})
            case "tools/list" if mode == "null":
                send(request, {"tools": [{"name": "bad", "inputSchema": None}]})
            case "tools/list":
                send(request, {"tools": [TOOL]})
            case "tools/call":
                call(request, mode)
            case _:
                refuse(request)


if __name__ == "__main__":
    main(sys.argv[1])
