"""A scripted OpenAI-compatible server, in a thread or as a process of its own.

A script is a list of rules; the first rule whose role, query and piece of code fit answers, with
its steps one after the other for each pair, the last one for ever after:

    [{"role": "screener", "query": "*", "steps": [
        {"status": 429, "retry_after": "0.1"},
        {"reply": {"reason": "…", "verdict": "unclear"}}]}]

A step is ``reply`` (an object, sent in the form that was asked for), ``text`` (sent as it is) or
``status`` (an HTTP error, with ``message`` and ``retry_after``); ``delay_s`` may stand beside each.

``python -m tests.fakes.llm_server --script rules.json --log calls.jsonl`` prints its address.
"""

import argparse
import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

KEY = "scripted-key"
FORMATS = ("json_schema", "json_object")

Rule = Mapping[str, Any]


class ScriptedServer:
    """The server; ``base_url`` is its address and ``calls`` what it was asked, in order.

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
        self._script = script
        self._formats = formats
        self._log = log
        self._turns: Counter[tuple[int, str, str]] = Counter()
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"scripted": self})
        self._http = _Server(("127.0.0.1", port), handler)
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def serve(self) -> None:
        """Answer until shut down."""
        self._http.serve_forever(poll_interval=0.02)

    def count(self, role: str) -> int:
        """Return how often an agent has asked."""
        return sum(call["role"] == role for call in self.calls)

    def answer(self, request: dict[str, Any], key: str) -> Mapping[str, Any]:
        """Return the step for a request, and remember the request."""
        messages = request["messages"]
        call = {
            "role": _found(r"\ARole: (\w+)", messages[0]["content"]),
            "query": _fenced("query", messages[1]["content"]),
            "code": _fenced("code", messages[1]["content"]),
            "format": request.get("response_format", {}).get("type", "text"),
            "messages": messages,
        }
        with self._lock:
            self.calls.append(call)
            if self._log:
                with self._log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(call) + "\n")
            if key != KEY:
                return {"status": 401, "message": "Incorrect API key provided"}
            if call["format"] not in (*self._formats, "text"):
                return {"status": 400, "message": "response_format is not supported"}
            return self._step(call)

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        for number, rule in enumerate(self._script):
            if _fits(rule, call):
                place = number, call["query"], call["code"]
                turn = self._turns[place]
                self._turns[place] += 1
                step: Mapping[str, Any] = rule["steps"][min(turn, len(rule["steps"]) - 1)]
                return step
        return {"status": 404, "message": f"nothing is scripted for {call['role']}"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay quiet: clients that time out hang up."""


class _Handler(BaseHTTPRequestHandler):
    scripted: ScriptedServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        step = self.scripted.answer(request, key)
        time.sleep(step.get("delay_s", 0))
        if "status" in step:
            body = {"error": {"message": step.get("message", "scripted"), "type": "scripted"}}
            self._send(step["status"], body, step.get("retry_after"))
        else:
            self._send(200, _completion(request, _text(step, request)))

    def _send(self, status: int, body: object, retry_after: str | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


def _fits(rule: Rule, call: Mapping[str, Any]) -> bool:
    return (
        rule["role"] == call["role"]
        and rule.get("query", "*") in ("*", call["query"])
        and rule.get("code", "") in call["code"]
    )


def _text(step: Mapping[str, Any], request: Mapping[str, Any]) -> str:
    if "text" in step:
        return str(step["text"])
    if "response_format" in request:
        return json.dumps(step["reply"])
    return "\n".join(f"=== {field} ===\n{value}" for field, value in step["reply"].items())


def _completion(request: Mapping[str, Any], text: str) -> dict[str, Any]:
    asked = sum(len(message["content"].split()) for message in request["messages"])
    said = len(text.split())
    message = {"role": "assistant", "content": text}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "total_tokens": asked + said,
        },
    }


def _fenced(name: str, content: str) -> str:
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
