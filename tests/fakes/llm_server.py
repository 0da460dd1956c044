"""A scripted OpenAI-compatible server, in a thread or as a process of its own.

A script is a list of rules; the first rule whose role, query, piece of code and model (any, where
none is named) fit answers, with its steps one after the other for each pair and model, the last one
for ever after:

    [{"role": "screener", "query": "*", "steps": [
        {"status": 429, "retry_after": "0.1"},
        {"reply": {"reason": "…", "verdict": "unclear"}}]}]

A step is ``reply`` (an object, sent in the form that was asked for), ``text`` (sent as it is) or
``status`` (an HTTP error, with ``message`` and ``retry_after``); ``delay_s`` may stand beside each,
and ``usage`` (the token counts to report) and ``finish`` (its end) beside a reply.

At ``/v1/embeddings`` each request takes the next of the steps in ``embedding_steps``, the last one
for ever: ``status`` (with ``declines``, a word, only for requests that have it) and ``delay_s`` as
above, ``data`` (what is sent for the list of vectors), ``vector`` (what is sent for that of each
text with the word ``spoils``) or nothing, for vectors that `embedding_of` makes of the texts;
``usage`` too.

Where ``flood`` is set, its parts are sent in place of every answer, as they come.

``python -m tests.fakes.llm_server --script rules.json --log calls.jsonl`` prints its address.
"""

import argparse
import asyncio
import json
import re
import socket
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

KEY = "scripted-key"
FORMATS = ("json_schema", "json_object")

Rule = Mapping[str, Any]


class ScriptedServer:
    """The server; ``base_url`` is its address and ``calls`` what it was asked, in order.

    ``answered`` are the calls that got a reply. ``answers_probes`` says whether harmless requests
    are answered for which nothing is scripted.

    Args:
        script: The rules.
        port: 0 takes a free one.
        log: File that gets each call as a line of JSON before it is answered.
        formats: The kinds of ``response_format`` that are not refused.
    """

    def __init__(
        self,
        script: Sequence[Rule],
        port: int = 0,
        log: Path | None = None,
        formats: Sequence[str] = FORMATS,
    ) -> None:
        self.calls: list[dict[str, Any]] = []
        self.answered: list[dict[str, Any]] = []
        self.answers_probes = True
        self.embedded: list[dict[str, Any]] = []
        self.embedding_steps: list[dict[str, Any]] = [{}]
        self.flood: Callable[[], Iterator[bytes]] | None = None
        self._formats = formats
        self._log = log
        self._turns: Counter[tuple[int, str, str, str]] = Counter()
        self._socket = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self.follow(script)

    def follow(self, script: Sequence[Rule]) -> None:
        """Answer by another script from now on."""
        rules: dict[tuple[str, str], list[tuple[int, Rule]]] = defaultdict(list)
        for number, rule in enumerate(script):
            rules[rule["role"], rule.get("query", "*")].append((number, rule))
        self._rules = dict(rules)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        self._listening.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def serve(self) -> None:
        """Answer until the end of the ``with`` block, or for ever."""
        asyncio.run(self._serve())

    def count(self, role: str) -> int:
        """Return how often an agent has asked."""
        return sum(call["role"] == role for call in self.calls)

    def answer(self, request: dict[str, Any], key: str) -> Mapping[str, Any]:
        """Return the step for a request, and remember the request."""
        messages = request["messages"]
        role = _found(r"(?m)^Role: (\w+)", messages[0]["content"])
        is_probe = role == "probe" and ("probe", "*") not in self._rules
        if is_probe and key == KEY and self.answers_probes:
            return {"reply": {"verdict": "yes"}}
        call = {
            "role": role,
            "query": fenced("query", messages[1]["content"]),
            "code": fenced("code", messages[1]["content"]),
            "model": request.get("model", ""),
            "format": request.get("response_format", {}).get("type", "text"),
            "messages": messages,
        }
        self.calls.append(call)
        if self._log:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(call) + "\n")
        if key != KEY:
            return {"status": 401, "message": "Incorrect API key provided"}
        if call["format"] not in (*self._formats, "text"):
            return {"status": 400, "message": "response_format is not supported"}
        step = self._step(call)
        self.answered += [call] * ("reply" in step)
        return step

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        role, query = call["role"], call["query"]
        candidates = [*self._rules.get((role, query), ()), *self._rules.get((role, "*"), ())]
        for number, rule in sorted(candidates, key=lambda candidate: candidate[0]):
            if rule.get("code", "") in call["code"] and rule.get("model", "") in call["model"]:
                place = number, query, call["code"], call["model"]
                turn = self._turns[place]
                self._turns[place] += 1
                step: Mapping[str, Any] = rule["steps"][min(turn, len(rule["steps"]) - 1)]
                return step
        return {"status": 404, "message": f"nothing is scripted for {role}"}

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(self._converse, sock=self._socket):
            self._listening.set()
            await self._end.wait()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path, headers = _read_head(head)
                body = await _read_body(reader, headers)
                for part in self.flood() if self.flood else ():
                    writer.write(part)
                    await writer.drain()
                if self.flood:
                    return
                writer.write(await self._respond(path, headers, body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client hung up, as those do whose patience ends
        except asyncio.CancelledError:
            pass  # the server's end; asyncio's streams would print it as a failure
        finally:
            writer.close()

    async def _respond(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        if path == "/v1/embeddings":
            return await self._embed(headers, json.loads(body))
        if path != "/v1/chat/completions":
            return _failure({"status": 404, "message": f"there is nothing at {path}"})
        request = json.loads(body)
        step = self.answer(request, headers.get("authorization", "").removeprefix("Bearer "))
        await asyncio.sleep(step.get("delay_s", 0))
        if "status" in step:
            return _failure(step)
        return _http(HTTPStatus.OK, _completion(request, step))

    async def _embed(self, headers: Mapping[str, str], request: dict[str, Any]) -> bytes:
        steps = self.embedding_steps
        step = steps[min(len(self.embedded), len(steps) - 1)]
        self.embedded.append(request)
        if headers.get("authorization", "").removeprefix("Bearer ") != KEY:
            step = {"status": 401, "message": f"wrong key {headers.get('authorization')}"}
        await asyncio.sleep(step.get("delay_s", 0))
        texts = request["input"]
        if "status" in step and any(step.get("declines", "") in text for text in texts):
            return _failure(step)
        vectors = [
            step["vector"]
            if "vector" in step and step["spoils"] in text
            else embedding_of(text, request.get("dimensions", 8))
            for text in texts
        ]
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in reversed(list(enumerate(vectors)))
        ]
        tokens = sum(len(text.split()) for text in texts)
        body = {
            "object": "list",
            "model": request["model"],
            "data": step.get("data", data),
            "usage": step.get("usage", {"prompt_tokens": tokens, "total_tokens": tokens}),
        }
        return _http(HTTPStatus.OK, body)


def embedding_of(text: str, dimension: int) -> list[float]:
    """Return the vector of a text: how often each of the first letters is in it, and one more."""
    return [1.0 + text.count(chr(97 + place)) for place in range(dimension)]


def _read_head(head: bytes) -> tuple[str, dict[str, str]]:
    """Return the path and the headers of a request."""
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    named = (line.partition(":") for line in lines)
    _, path, _ = first.split()
    return path, {name.lower(): value.strip() for name, _, value in named}


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return body


def _failure(step: Mapping[str, Any]) -> bytes:
    body = {"error": {"message": step.get("message", "scripted"), "type": "scripted"}}
    return _http(step["status"], body, step.get("retry_after"))


def _http(status: int, body: object, retry_after: str | None = None) -> bytes:
    return _raw(status, json.dumps(body).encode(), retry_after)


def _raw(status: int, content: bytes, retry_after: str | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} -", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(content)}"]
    lines += [f"Retry-After: {retry_after}"] if retry_after else []
    return "\r\n".join([*lines, "", ""]).encode() + content


def _text(step: Mapping[str, Any]) -> str:
    if "text" in step:
        return str(step["text"])
    return json.dumps(step["reply"])


def _completion(request: Mapping[str, Any], step: Mapping[str, Any]) -> dict[str, Any]:
    text, usage = _text(step), step.get("usage")
    asked = sum(len(message["content"].split()) for message in request["messages"])
    said = len(text.split())
    message = {"role": "assistant", "content": text}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": step.get("finish", "stop")}],
        "usage": usage
        if usage is not None
        else {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }


def fenced(name: str, content: str) -> str:
    """Return what a message has inside the fence of a name, "" where there is none."""
    return _found(rf"(?s)<<<{name} (?P<mark>\w+)\n(.*?)\n(?P=mark)>>>", content, group=2)


def _found(pattern: str, text: str, group: int = 1) -> str:
    match = re.search(pattern, text)
    return match[group] if match else ""


def main() -> None:
    """Serve a script from a file until killed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    script = json.loads(options.script.read_text("utf-8"))
    server = ScriptedServer(script, options.port, options.log)
    print(server.base_url)
    sys.stdout.flush()
    server.serve()


if __name__ == "__main__":
    main()
