import json
import subprocess
import sys
from pathlib import Path

import httpx

from tests.fakes.llm_server import KEY

SCRIPT = [
    {"role": "screener", "query": "sort a list", "steps": [{"status": 429}, {"text": "sorted"}]},
    {"role": "screener", "query": "*", "code": "def g", "steps": [{"text": "by code"}]},
    {"role": "screener", "query": "*", "steps": [{"text": "any"}]},
]


def ask(address: str, query: str, code: str = "def f") -> tuple[int, str]:
    user = f"<<<query 1a\n{query}\n1a>>>\n<<<code 2b\n{code}\n2b>>>"
    messages = [
        {"role": "system", "content": "Role: screener\n…"},
        {"role": "user", "content": user},
    ]
    headers = {"Authorization": f"Bearer {KEY}"}
    body = {"model": "m", "messages": messages}
    response = httpx.post(f"{address}/chat/completions", json=body, headers=headers)
    told = response.json()
    return response.status_code, (
        told["choices"][0]["message"]["content"] if response.is_success else ""
    )


def test_as_a_process_it_follows_its_script_and_logs_each_call(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "calls.jsonl"
    script.write_text(json.dumps(SCRIPT))
    command = [
        sys.executable,
        "-m",
        "tests.fakes.llm_server",
        "--script",
        str(script),
        "--log",
        str(log),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            answers = [ask(address, "sort a list") for _ in range(3)]
            answers.append(ask(address, "reverse", "def g"))
            answers.append(ask(address, "reverse"))
        finally:
            process.kill()
    expected = [(429, ""), (200, "sorted"), (200, "sorted"), (200, "by code"), (200, "any")]
    assert answers == expected
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    assert [call["query"] for call in calls] == ["sort a list"] * 3 + ["reverse"] * 2
    assert {call["role"] for call in calls} == {"screener"}
