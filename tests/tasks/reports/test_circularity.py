"""Laws of flags for circularity: whoever a benchmark may favour is named with the reason."""

import json
from pathlib import Path

import numpy as np
import pytest

from infra.records import Annotation
from tasks.benchmarks import Benchmark, qrels_of
from tasks.benchmarks.evidence import RecordedAnnotations
from tasks.benchmarks.runs import Rankings
from tasks.encoders import encoders
from tasks.reports.circularity import circularity_of, circularity_section, families
from tasks.training.encoder import write_queries
from tests.fakes.benchmarks import rank_scores
from tests.fakes.checkpoints import make_checkpoint
from tests.tasks.reports.cases import benchmark, run

METRIC = "NDCG@10"


def judged_by(model: str, **update: object) -> Benchmark:
    """Return a benchmark whose labels a model gave, on candidates of MiniLM."""
    recipe = {"model": {"model": model}}
    return benchmark().model_copy(update={"recipe": recipe, "found_by": ("minilm",), **update})


@pytest.fixture
def trained(tmp_path: Path) -> str:
    """The name of an encoder whose folder says that it was trained on ten of the queries."""
    folder = make_checkpoint("minilm", tmp_path / "mine", 16)
    write_queries(folder, [query.text.upper() for query in benchmark().queries[:10]] + ["other"])
    return encoders.adopt(f"checkpoint:mine={folder}?like=minilm")


def test_three_methods_are_flagged_with_their_reason_and_an_innocent_one_is_not(
    trained: str,
) -> None:
    of = judged_by("openai/gpt-4o-mini")
    theirs = encoders.adopt("api:openai/text-embedding-3-small")
    names = ("minilm", trained, f"bm25+{theirs}", "bm25", "of-another-system")
    rankings = {name: run(of, 0.2) for name in names}
    found = circularity_of(of, rankings, qrels_of(of.labels), METRIC)
    assert {flag.method: flag.reasons for flag in found.flags} == {
        "minilm": ("minilm found the candidates",),
        trained: (f"{trained} was trained on 10 of the 40 queries",),
        f"bm25+{theirs}": (f"{theirs} is of the judge's family (openai)",),
    }


def ranked(of: Benchmark, *steps: int) -> Rankings:
    """Return rankings whose first results are the codes that many steps after a query's own."""
    codes = sorted(code.code_id for code in of.codes)
    queries = sorted(query.query_id for query in of.queries)
    scores = np.zeros((len(queries), len(codes)))
    own = {query.query_id: n for n, query in enumerate(of.queries)}
    at = {code.code_id: place for place, code in enumerate(of.codes)}
    for row, query in enumerate(queries):
        for column, code in enumerate(codes):
            step = (at[code] - own[query]) % 60
            scores[row, column] = 100 - steps.index(step) if step in steps else -step
    return rank_scores(queries, codes, scores, len(steps))


def test_the_score_on_pairs_that_others_found_leaves_out_what_a_method_alone_found() -> None:
    of = judged_by("m")
    rankings = {"minilm": ranked(of, 0, 1), "bm25": ranked(of, 1)}
    [flag] = circularity_of(of, rankings, qrels_of(of.labels), METRIC).flags
    assert flag.score == pytest.approx(1.0)
    assert flag.on_shared == pytest.approx(1 / np.log2(3)), "its second result is the only match"
    shared = {"minilm": ranked(of, 0, 1), "bm25": ranked(of, 1, 0)}
    [flag] = circularity_of(of, shared, qrels_of(of.labels), METRIC).flags
    assert flag.on_shared == flag.score


def test_the_order_on_labels_that_rest_on_runs_is_compared_to_the_full_order() -> None:
    of = judged_by("m")
    proved = tuple(
        Annotation.model_validate(
            {
                "query_id": label.query_id,
                "code_id": label.code_id,
                "recipe_id": "r",
                "status": "labelled",
                "label": int(label.relevance),
                "path": "p",
                "support": "valid_oracle",
            }
        )
        for place, label in enumerate(of.labels)
        if place % 4 == 1
    )
    of = of.model_copy(update={"evidence": RecordedAnnotations(proved)})
    rankings = {"both": ranked(of, 0, 1), "own": ranked(of, 0, 5, 1), "next": ranked(of, 1, 5)}
    found = circularity_of(of, rankings, qrels_of(of.labels), METRIC)
    assert (found.executed, found.flags) == (40, ())
    assert found.tau == pytest.approx(-1 / 3)
    text = json.dumps([str(block) for block in circularity_section(found).blocks])
    assert "40 labels rest on a run alone" in text
    none = circularity_of(judged_by("m"), rankings, qrels_of(of.labels), METRIC)
    assert (none.executed, none.tau) == (0, None)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-4o-mini", {"openai"}),
        ("azure/gpt-4o", {"openai"}),
        ("openai/text-embedding-3-small", {"openai"}),
        ("openai/Qwen2.5-Coder-1.5B", {"qwen"}),
        ("ollama/qwen2.5-coder:7b", {"qwen"}),
        ("Qwen/Qwen3-Embedding-0.6B", {"qwen"}),
        ("vertex_ai/gemini-2.0-flash", {"google"}),
        ("openrouter/anthropic/claude-3.5-sonnet", {"anthropic"}),
        ("sentence-transformers/all-MiniLM-L6-v2", set()),
        ("deepseek/deepseek-chat", {"deepseek"}),
        ("checkpoint", set()),
        ("", set()),
    ],
)
def test_a_model_s_name_tells_its_family(model: str, expected: set[str]) -> None:
    assert families(model) == expected
