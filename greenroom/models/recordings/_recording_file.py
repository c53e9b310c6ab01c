"""Recording of a model: every request and its answer, as lines of one file; and the reader of recordings.

{"v": 2, "model": "claude-sonnet-5"}                                  begins the lines of one process
    {"n": 1, "agent": "a1", "request": {...}}                             when it is sent
    {"n": 1, "said": [...], "response": {...}, "end": "complete"}         when it has ended: complete, error or cut

Rule 1: a request is written before it is sent. Rule 2: the part of a request that equals the previous one of the same
agent, or of any agent before its first, is written once: `like` names that one and `kept` is the number of its messages
that are kept. Rule 3: what was answered is written once: a message that is the agent's last answer is `{"answer": n}`, and
a response whose content is what its pieces say has no `content`; version 1 wrote both. Rule 4: a torn line is ignored where
a process died, at the end or before the next head; anywhere else the file is broken, which is an error.

Must not know: where the file lies and who writes it.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final

import attrs

from greenroom.core import UsageError
from greenroom.models._layer import Layer, LayerSource
from greenroom.models._model import Model, ModelStream
from greenroom.models._types import Delta, Message, ModelRequest, ModelResponse, StreamRestarted, TextBlock
from greenroom.models.recordings._plain_values import (
    JsonObject,
    message_of,
    plain,
    plain_error,
    request_of,
    response_of,
)

MODEL_FILE: Final = "model.jsonl"
"""The name of the file in a run folder."""
_VERSION: Final = 2
_READABLE: Final = frozenset({1, _VERSION})
_REMEMBERED: Final = 1000
"""Number of agents whose last request is remembered to shorten the next one; requests of others are written whole."""

End: TypeAlias = Literal["complete", "error", "cut"]


def recording(model: Model, write: Callable[[bytes], object], place: Callable[[], int] = lambda: 0) -> Model:
    """Return a model that records every request and its answer.

    Put it around everything else, `retrying` included: then a replay serves what the agents received, without the
    waits.

    Args:
        write: Appends whole lines to a file. It must not wait; an exception fails the request.
        place: Returns the number of the last event of the run's journal; each answer is recorded with it.
    """
    log = _Log(model.name, write, place)
    return Layer(model, "recording", lambda manager, request: _RecordingSource(manager, request, log, model.name))


@final
class _Log:
    """Writer of the lines of one process."""

    def __init__(self, model: str, write: Callable[[bytes], object], place: Callable[[], int]) -> None:
        self._write = write
        self._place = place
        self._count = 0
        self._last: OrderedDict[str, tuple[int, ModelRequest]] = OrderedDict()
        self._answers: dict[str, tuple[int, Message]] = {}
        """The last answer to each agent that is remembered."""
        self._head: JsonObject | None = {"v": _VERSION, "model": model}

    def begin(self, request: ModelRequest) -> int:
        """Write a request and return its number."""
        number = self._count + 1
        newest = self._last[next(reversed(self._last))] if self._last else (0, None)
        like, last = self._last.pop(request.agent, newest)
        answer = self._answers.pop(request.agent, None)
        line: JsonObject = {"n": number, "agent": request.agent}
        if last is None:
            line["request"] = plain(attrs.evolve(request, agent=""))
        else:
            kept = _kept(last.messages, request.messages)
            line |= {"like": like, "kept": kept, "request": _changes(last, request, kept, answer)}
        self._put(line)
        self._count = number
        self._last[request.agent] = (number, request)
        if len(self._last) > _REMEMBERED:
            forgotten, _ = self._last.popitem(last=False)
            self._answers.pop(forgotten, None)
        return number

    def end(
        self, number: int, agent: str, said: Sequence[Mapping[str, Any]], response: ModelResponse, end: End, **more: Any
    ) -> None:
        """Write the answer to a request of an agent."""
        at = self._place()
        if at:
            more["at"] = at
        values = plain(response)
        if values["content"] == _joined(said):
            del values["content"]
        self._put({"n": number, "said": said, "response": values, "end": end, **more})
        if agent in self._last:
            self._answers[agent] = (number, response.message)

    def _put(self, line: JsonObject) -> None:
        lines = [line] if self._head is None else [self._head, line]
        # ASCII, so that lone surrogates survive. The empty line ends one that a process left torn.
        content = "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in lines)
        self._write((content if self._head is None else "\n" + content).encode())
        self._head = None


def _kept(last: Sequence[object], now: Sequence[object]) -> int:
    for at, (before, other) in enumerate(zip(last, now, strict=False)):
        if before is not other and before != other:
            return at
    return min(len(last), len(now))


def _joined(said: Sequence[Mapping[str, Any]]) -> list[JsonObject] | None:
    """Return the blocks of an answer that has said these pieces; None if they do not tell."""
    blocks: list[JsonObject] = []
    inputs: list[tuple[JsonObject, list[str]]] = []
    for piece in said:
        kind = piece["type"]
        if kind == "text":
            if not blocks or blocks[-1]["type"] != "text":
                blocks.append({"type": "text", "text": ""})
            blocks[-1]["text"] += piece["text"]
        elif kind == "tool_use":
            blocks.append({**piece_of(piece), "input": {}})
            inputs.append((blocks[-1], []))
        elif kind == "tool_input" and inputs:
            inputs[-1][1].append(piece["json"])
        elif kind != "usage":
            return None
    for block, parts in inputs:
        try:
            block["input"] = json.loads("".join(parts) or "{}")
        except ValueError:
            return None
    return blocks


def piece_of(said: Mapping[str, Any]) -> JsonObject:
    """Return a piece of an answer without what was recorded about it."""
    return {name: value for name, value in said.items() if name not in {"shown", "void"}}


def _changes(last: ModelRequest, now: ModelRequest, kept: int, answer: tuple[int, Message] | None) -> JsonObject:
    messages = plain(now.messages[kept:])
    if answer is not None:
        number, answered = answer
        for at, message in enumerate(now.messages[kept:]):
            if message == answered:
                messages[at] = {"answer": number}
    changes: JsonObject = {"messages": messages}
    for field in attrs.fields(ModelRequest):
        before, after = getattr(last, field.name), getattr(now, field.name)
        if field.eq and field.name != "messages" and before is not after and before != after:
            changes[field.name] = plain(after)
    return changes


@final
class _RecordingSource(LayerSource):
    def __init__(
        self, manager: AbstractAsyncContextManager[ModelStream], request: ModelRequest, log: _Log, model: str
    ) -> None:
        super().__init__(manager, model)
        self._request = request
        self._log = log
        self._number: int | None = None
        """Set while the end of the request is not written."""
        self._said: list[JsonObject] = []
        self._shown = self._part

    async def next_delta(self) -> Delta | None:
        if self._stream is None:
            self._number = self._log.begin(self._request)
        try:
            if self._stream is None:
                self._stream = await self._enter()
            delta = await anext(self._stream)
        except StopAsyncIteration:
            self._end("complete")
            return None
        except Exception as error:
            self._end("error", error=plain_error(error))
            raise
        self._note(delta)
        return delta

    def _note(self, delta: Delta) -> None:
        """Record a delta, and how much of the answer is visible since: its blocks, and the characters of a text at the
        end.
        """
        line = plain(delta)
        if isinstance(delta, StreamRestarted):
            line["void"] = plain(self._shown.content)
        self._shown = self.so_far
        last = self._shown.content[-1] if self._shown.content else None
        line["shown"] = [len(self._shown.content), len(last.text) if isinstance(last, TextBlock) else 0]
        self._said.append(line)

    def _end(self, end: End, **more: Any) -> None:
        if self._number is not None:
            number, self._number = self._number, None
            self._log.end(number, self._request.agent, self._said, self.so_far, end, **more)

    @property
    def is_holding(self) -> bool:
        return self._stream is not None or self._number is not None

    async def close(self) -> None:
        try:
            await self._entered.aclose()
        finally:
            self._end("cut")


# --- reading ---------------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class RecordedExchange:
    """A recorded request, and its answer."""

    agent: str
    """Id of the requesting agent."""
    number: int
    """Of its requests, from 1."""
    request: Mapping[str, Any]
    """As plain values, without the agent."""
    said: Sequence[Mapping[str, Any]] = ()
    response: Mapping[str, Any] | None = None
    """The received part; None if the process died."""
    end: End = "cut"
    error: Mapping[str, Any] | None = None
    at: int = 0
    """Number of the last event of the journal before it ended; 0 if it was recorded without one."""

    @property
    def sent(self) -> ModelRequest:
        """The request as it was sent."""
        return attrs.evolve(request_of(self.request), agent=self.agent)


@final
@attrs.frozen
class ModelRecording:
    """The recording of a run, in the order of sending."""

    model: str
    """Name of the model."""
    exchanges: tuple[RecordedExchange, ...]

    def __repr__(self) -> str:
        return f"<Recording of {len(self.exchanges)} requests to {self.model!r}>"


def read_recording(run: Path | str) -> ModelRecording:
    """Read the recording of a run; it blocks.

    Args:
        run: A run folder, or the file itself.

    Raises:
        UsageError: The file does not exist, or is broken.
    """
    path = Path(run) / MODEL_FILE if Path(run).is_dir() else Path(run)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be opened ({error.strerror}); was the run recorded?") from None
    return parse_recording(content, source=str(path))


def write_recording(recording: ModelRecording) -> bytes:
    """Return the content of a file with a recording."""
    lines: list[bytes] = []
    places: list[int] = []
    log = _Log(recording.model, lines.append, lambda: places[-1])
    for exchange in recording.exchanges:
        number = log.begin(attrs.evolve(request_of(exchange.request), agent=exchange.agent))
        if exchange.response is None:
            continue
        places.append(exchange.at)
        more = {} if exchange.error is None else {"error": exchange.error}
        log.end(number, exchange.agent, exchange.said, response_of(exchange.response), exchange.end, **more)
    return b"".join(lines)


def parse_recording(content: bytes, *, source: str) -> ModelRecording:
    """Parse the content of a file.

    Raises:
        UsageError: It is broken.
    """
    reader = _RecordingReader(source)
    for number, line in enumerate(content.split(b"\n"), 1):
        reader.take(number, line)
    return reader.recording()


@final
class _RecordingReader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._model: str | None = None
        self._torn: int | None = None
        """Number of a line that is not JSON; it has to be the last of its process."""
        self._exchanges: list[RecordedExchange] = []
        self._places: dict[int, int] = {}
        """The exchanges of this process, by the number of the request."""
        self._asked: dict[str, int] = {}

    def take(self, number: int, line: bytes) -> None:
        if not line.strip():
            return
        try:
            values = json.loads(line)
        except ValueError:
            self._fail_if_torn()
            self._torn = number
            return
        if isinstance(values, dict) and "v" in values:
            self._begin(values)
            return
        if self._model is None:
            raise self._headless()
        self._fail_if_torn()
        try:
            if "request" in values:
                self._request(values)
            else:
                self._answer(values)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise UsageError(f"{self._source}, line {number}: malformed recording entry ({error!r})") from None

    def recording(self) -> ModelRecording:
        if self._model is None:
            raise self._headless()
        return ModelRecording(self._model, tuple(self._exchanges))

    def _begin(self, values: Mapping[str, Any]) -> None:
        if values["v"] not in _READABLE:
            raise UsageError(f"{self._source}: unsupported recording version {values['v']!r}, expected {_VERSION}")
        if self._model is None:
            self._model = str(values.get("model", ""))
        self._places = {}
        self._torn = None

    def _headless(self) -> UsageError:
        return UsageError(f"{self._source}: not a recording of a model: its head is missing")

    def _fail_if_torn(self) -> None:
        if self._torn is not None:
            raise UsageError(f"{self._source}, line {self._torn}: malformed JSON")

    def _request(self, values: Mapping[str, Any]) -> None:
        agent, request = str(values["agent"]), dict(values["request"])
        request["messages"] = [self._message(message) for message in request["messages"]]
        if "like" in values:
            like = self._exchanges[self._places[values["like"]]].request
            request = {**like, **request, "messages": [*like["messages"][: values["kept"]], *request["messages"]]}
        for message in request["messages"]:
            message_of(message)
        self._asked[agent] = number = self._asked.get(agent, 0) + 1
        self._places[values["n"]] = len(self._exchanges)
        self._exchanges.append(RecordedExchange(agent=agent, number=number, request=request))

    def _message(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a message; one that is an answer is written as the number of its request."""
        if "answer" not in values:
            return values
        response = self._exchanges[self._places[values["answer"]]].response
        if response is None:
            raise KeyError(values["answer"])
        return {"role": "assistant", "content": response["content"]}

    def _answer(self, values: Mapping[str, Any]) -> None:
        at = self._places[values["n"]]
        response = {"content": _joined(values["said"]), **values["response"]}
        if response["content"] is None:
            raise KeyError("content")
        self._exchanges[at] = attrs.evolve(
            self._exchanges[at],
            said=values["said"],
            response=response,
            end=values["end"],
            error=values.get("error"),
            at=values.get("at", 0),
        )
