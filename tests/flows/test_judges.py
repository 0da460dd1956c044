"""The law of several judges: a cheap one judges all pairs, a dear one those in doubt.

Which label stands where they differ, and its confidence, is seen in the export.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tasks.stages.annotate.canaries import canaries_of
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.flows.world import Case, World, environment, read

pytestmark = [pytest.mark.slow]

MATCHES, CONFIRMED = 8, 6  # the cheap judge sees so many, the dear one agrees to so many
CASES = [
    Case(
        f"python multiply a number by {number}",
        f"def times_{number}(value):\n    return value * {number}",
        (),
    )
    for number in range(40)
]


def script() -> list[dict[str, Any]]:
    """Return what the judges say: both know the canaries, and they differ on two pairs."""
    verdicts = ("does_not_answer", "answers")
    canaries = [
        read(verdicts[item.label])
        | {"query": item.pair.query.text, "code": item.pair.code.text.removesuffix("\n")}
        for item in canaries_of(0)
    ]
    judged = [
        read(verdicts[number < matches]) | {"query": case.query, "model": model}
        for model, matches in (("cheap", MATCHES), ("dear", CONFIRMED))
        for number, case in enumerate(CASES)
    ]
    return canaries + judged


def asked(model: ScriptedServer, name: str) -> int:
    """Return how many candidates a model was asked about."""
    queries = {case.query for case in CASES}
    return sum(call["model"] == name and call["query"] in queries for call in model.calls)


@pytest.mark.nightly
def test_a_dear_judge_gets_what_a_cheap_one_leaves_in_doubt_and_the_likelier_label_is_published(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer(script()) as model, ScriptedServer(script()) as own:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ANNOTATION__CONFIGURATION="single",
                COSQA_ANNOTATION__JUDGES='["openai/cheap", "openai/dear"]',
                COSQA_ANNOTATION__JUDGE_ADDRESSES=json.dumps({"openai/cheap": own.base_url}),
                COSQA_ANNOTATION__JUDGE_KEYS='{"openai/cheap": "OWN_SERVERS_KEY"}',
                OWN_SERVERS_KEY=KEY,
                COSQA_ANNOTATION__ESCALATION="doubt",
                COSQA_ANNOTATION__CANARIES="12",
            ),
        )
        world.write(CASES, labels=False)
        assert world.run("collect").returncode == 0
        plan = " ".join(world.run("annotate", "--plan").stdout.split())
        assert "at most, since further judges get pairs in doubt alone" in plan
        judged = world.run("annotate")
        assert judged.returncode == 0, judged.stdout[-5000:]
        assert (asked(own, "cheap"), asked(model, "dear")) == (len(CASES), MATCHES)
        assert "Nothing was left to do" in world.run("annotate").stdout
        assert (asked(own, "cheap"), asked(model, "dear")) == (len(CASES), MATCHES)
        published = world.run("publish")
        assert published.returncode == 0, published.stdout[-5000:]
    folder = world.output / "jsonl-agents"
    labels = pq.read_table(folder / "labels.parquet").to_pylist()
    assert sum(row["relevance"] for row in labels) == CONFIRMED, "the dear judge knows the canaries"
    assert {row["origin"].partition(", ")[2] for row in labels} == {"2 judges"}
    by_label = sorted((row["relevance"], row["confidence"]) for row in labels)
    assert by_label[0][1] < by_label[-1][1], "the least sure label is one on which they differ"
    figures = json.loads((folder / "manifest.json").read_text())["confidence"]
    judges = {item["model"]: (item["labels"], item["known"]) for item in figures["judges"]}
    assert judges == {"openai/cheap": (40, 4), "openai/dear": (8, 4)}
    assert figures["calibration"]["canaries"]["labels"] == 4
    assert "openai/dear" in (folder / "README.md").read_text()
