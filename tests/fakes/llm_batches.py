"""OpenAI's batch protocol for the scripted server, with the ways in which it can go wrong.

Files are kept in memory; a batch's requests are answered by the server's script when it is first
looked at after its polls in progress. The faults of the batches are set before they are submitted:
``faults`` is a list, one entry for each batch in its order, the last one for ever:

- ``status``: ``failed`` (with ``code`` and ``message``; there are files where ``answered`` is set),
  ``expired`` or ``cancelled``;
- ``answered``: only the first so many requests are answered;
- ``lines``: place of a request → status of an error line in place of its answer, with ``message``;
- ``error``: that of every line, in place of its answer;
- ``garbage``, ``more``: bytes before and after the replies;
- ``repeat``: every line is there so many times more; ``forget``: requests that have no result.

``failures`` has, for ``"POST /files"`` and the like, the errors of the next requests: ``status``,
and ``after`` where the request is done all the same; an empty one is of a request that succeeds.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


class Batches:
    """The files and batches of a server.

    Args:
        answer: Returns status and body of the answer to a request.
    """

    def __init__(self, answer: Answer) -> None:
        self.batches: dict[str, dict[str, Any]] = {}
        self.faults: list[dict[str, Any]] = [{}]
        self.polls = 1
        self.failures: dict[str, list[dict[str, Any]]] = {}
        self.requests: Counter[str] = Counter()
        self.log: list[str] = []
        self.has_batches = True
        self._answer = answer
        self._files: dict[str, bytes] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    def respond(self, method: str, path: str, body: bytes) -> tuple[int, object] | bytes:
        """Return status and answer of a request, or the content of a file."""
        place, _, query = path.removeprefix("/v1").partition("?")
        self.log.append(f"{method} {place}")
        kind = f"{method} /{place.split('/')[1]}"
        if not self.has_batches:
            return 404, {"error": {"message": f"Invalid URL ({method} {path})"}}
        if (steps := self.failures.get(kind)) and (step := steps.pop(0)):
            if not step.get("after"):
                return step["status"], {"error": {"message": "scripted"}}
            self._take(kind, place, query, body)
            return step["status"], {"error": {"message": "the answer is lost"}}
        return self._take(kind, place, query, body)

    def _take(self, kind: str, place: str, query: str, body: bytes) -> tuple[int, object] | bytes:
        with self._lock:
            if kind == "POST /files":
                return 200, self._upload(body)
            if kind == "POST /batches":
                return 200, self._create(json.loads(body))
            if kind == "GET /batches":
                return self._shown(place, query)
            content = self._files.get(place.split("/")[2])
            return (404, {"error": {"message": "no such file"}}) if content is None else content

    def _upload(self, body: bytes) -> dict[str, object]:
        boundary = body.split(b"\r\n", 1)[0]
        parts = [part.partition(b"\r\n\r\n") for part in body.split(boundary)[1:-1]]
        content = {
            head.split(b'name="')[1].split(b'"')[0]: value.removesuffix(b"\r\n")
            for head, _, value in parts
        }
        assert content[b"purpose"] == b"batch"
        return {"id": self._keep(content[b"file"]), "object": "file", "purpose": "batch"}

    def _keep(self, content: bytes) -> str:
        name = f"file-{next(self._numbers)}"
        self._files[name] = content
        return name

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        assert body["endpoint"] == "/v1/chat/completions"
        assert body["completion_window"] == "24h"
        requests = [json.loads(line) for line in self._files[body["input_file_id"]].splitlines()]
        assert len({row["custom_id"] for row in requests}) == len(requests)
        fault = self.faults[min(len(self.batches), len(self.faults) - 1)]
        batch = {
            "id": f"batch_{next(self._numbers)}",
            "object": "batch",
            "status": "validating",
            "metadata": body.get("metadata"),
            "request_counts": {"total": len(requests), "completed": 0, "failed": 0},
            "hidden": {"requests": requests, "fault": fault, "polls": self.polls},
        }
        self.batches[str(batch["id"])] = batch
        self.requests.update(row["custom_id"] for row in requests)
        return _visible(batch)

    def _shown(self, place: str, query: str) -> tuple[int, object]:
        if place == "/batches":
            return 200, self._listed(query)
        batch = self.batches.get(place.split("/")[2])
        if batch is None:
            return 404, {"error": {"message": "no such batch"}}
        hidden = batch["hidden"]
        if batch["status"] in ("validating", "in_progress", "finalizing"):
            hidden["polls"] -= 1
            batch["status"] = "in_progress"
            if hidden["polls"] < 0:
                self._finish(batch, hidden["requests"], hidden["fault"])
        return 200, _visible(batch)

    def _listed(self, query: str) -> dict[str, object]:
        """Return a page of the batches, the newest first; a page has two at most."""
        words = dict(word.split("=") for word in query.split("&") if word)
        batches = [_visible(batch) for batch in reversed(self.batches.values())]
        names = [batch["id"] for batch in batches]
        start = names.index(words["after"]) + 1 if "after" in words else 0
        return {"data": batches[start : start + 2], "has_more": len(batches) > start + 2}

    def _finish(
        self, batch: dict[str, Any], requests: list[dict[str, Any]], fault: Mapping[str, Any]
    ) -> None:
        batch["status"] = fault.get("status", "completed")
        if batch["status"] == "failed":
            batch["errors"] = {"data": [{"code": fault["code"], "message": fault["message"]}]}
        if batch["status"] == "failed" and "answered" not in fault:
            return
        answered = fault.get("answered", len(requests) - fault.get("forget", 0))
        replies, errors = [fault.get("garbage", b"")], list[bytes]()
        for place, row in enumerate(requests):
            if place >= answered:
                if batch["status"] == "expired":
                    error = {"code": "batch_expired", "message": "too late"}
                    errors.append(_line(row["custom_id"], None, error))
                continue
            if place in fault.get("lines", {}):
                message = fault.get("message", "scripted")
                status, body = fault["lines"][place], {"error": {"message": message}}
            else:
                status, body = self._answer(row["body"])
            line = _line(
                row["custom_id"], {"status_code": status, "body": body}, fault.get("error")
            )
            (replies if status == 200 else errors).extend([line] * (1 + fault.get("repeat", 0)))
        replies.append(fault.get("more", b""))
        batch["output_file_id"] = self._keep(b"".join(replies))
        batch["error_file_id"] = self._keep(b"".join(errors)) if errors else None
        batch["request_counts"] |= {"completed": len(replies), "failed": len(errors)}


def _visible(batch: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in batch.items() if name != "hidden"}


def _line(key: str, response: object, error: object = None) -> bytes:
    row = {"id": "x", "custom_id": key, "response": response, "error": error}
    return json.dumps(row).encode() + b"\n"
