"""A conversation with greenroom run over its input and output."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from typing import Any

import attrs

from greenroom.testing import ReceivedRequest
from greenroom.testing._messages_script import Script
from tests.cli.place import Place, Process
from tests.cli.served import served


@attrs.frozen
class Talk:
    """The program's side of a run."""

    process: Process
    heard: list[dict[str, Any]] = attrs.field(factory=list)
    servers: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = attrs.field(factory=dict)
    """MCP servers of the program: each answers a message, or does not (None)."""

    def put(self, line: Mapping[str, Any] | str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        self.process.stdin.flush()

    def say(self, text: str, uuid: str = "") -> None:
        self.put({"type": "user", "message": {"role": "user", "content": text}, "uuid": uuid})

    def ask(self, subtype: str, **values: Any) -> dict[str, Any]:
        """Make a request and return the answer."""
        request = f"{subtype}-{len(self.heard)}"
        self.put({"type": "control_request", "request_id": request, "request": {"subtype": subtype, **values}})
        line = self.hear(lambda one: one["type"] == "control_response" and one["response"]["request_id"] == request)
        answer: dict[str, Any] = line["response"]
        return answer

    def decide(self, question: Mapping[str, Any], **decision: Any) -> None:
        response = {"subtype": "success", "request_id": question["request_id"], "response": decision}
        self.put({"type": "control_response", "response": response})

    def hear(self, is_it: Callable[[dict[str, Any]], bool] | str) -> dict[str, Any]:
        """Return the next line of a type, or that something holds of."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            line: dict[str, Any] = json.loads(text)
            self.heard.append(line)
            self._serve(line)
            if line["type"] == is_it if isinstance(is_it, str) else is_it(line):
                return line
        raise AssertionError(f"the run ended: {self.process.communicate()}; it said {self.heard}")

    def _serve(self, line: Mapping[str, Any]) -> None:
        request = line.get("request") or {}
        server = self.servers.get(request.get("server_name", ""))
        if line["type"] == "control_request" and server is not None:
            answer = server(request["message"])
            if answer is not None:
                self.decide(line, mcp_response=answer)

    def hear_results(self, number: int) -> list[dict[str, Any]]:
        """Return the results so far, which are so many at least; others lines may stand between them."""
        while len(found := [line for line in self.heard if line["type"] == "result"]) < number:
            self.hear("result")
        return found

    def close(self) -> tuple[int, str]:
        """End standard input, and return the exit code and what was on standard error."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None
        out, err = self.process.communicate(timeout=50)
        self.heard.extend(map(json.loads, out.splitlines()))
        return self.process.wait(), err

    def results(self) -> list[dict[str, Any]]:
        return [line for line in self.heard if line["type"] == "result"]


@contextmanager
def talking(place: Place, script: Script, *arguments: str) -> Iterator[tuple[Talk, list[ReceivedRequest]]]:
    flags = ("--input-format", "stream-json", "--output-format", "stream-json", *arguments)
    with served(script) as server, place.started(server.url, *flags, stdin=subprocess.PIPE) as process:
        limit = Timer(50, process.kill)
        limit.start()
        try:
            yield Talk(process), server.requests
        finally:
            limit.cancel()
