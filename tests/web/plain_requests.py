"""Requests without a browser, line by line."""

from __future__ import annotations

import trio


async def get(port: int, path: str, *lines: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of a request."""
    head = "\r\n".join((f"GET {path} HTTP/1.1", *(lines or (f"Host: 127.0.0.1:{port}",)), "", ""))
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(head.encode())
        answer = b"".join([chunk async for chunk in stream])
    top, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = top.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    return int(first.split()[1]), headers, body
