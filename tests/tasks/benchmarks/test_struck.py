"""Laws of what is published of an error: no secret that an earlier version stored is in it.

Covers `tasks.benchmarks.struck`.
"""

from pathlib import Path

import pyarrow as pa
import pytest

from infra.records import LanguageModelCall
from tasks.benchmarks import RecordedAnnotations, write_benchmark
from tasks.benchmarks.evidence import ExportedAnnotations
from tasks.benchmarks.struck import without_secrets
from tests.fakes.benchmarks import agents_benchmark

[ONE] = agents_benchmark().evidence
SECRET = "sk-of-an-earlier/version+1"
CALL = LanguageModelCall(
    role="screener", attempt=1, model="m", prompt_digest="d", status="refused", reply="see a://b@c"
)
ERRORS = [f"401: {SECRET}", "401: sk-of-an-earlier%2Fversion%2B1", "no way to http://me:word@host"]


@pytest.mark.parametrize("error", ERRORS)
def test_no_secret_in_stored_evidence_is_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    calls = (*ONE.calls, CALL.model_copy(update={"error": error}), CALL)
    stored = ONE.model_copy(update={"calls": calls, "reason": f"declined ({error})"})
    plain = ONE.model_copy(update={"code_id": "c9"})
    evidence = RecordedAnnotations((stored, plain))
    benchmark = agents_benchmark().model_copy(update={"evidence": evidence})
    write_benchmark(benchmark, tmp_path / "export")
    shown, same = ExportedAnnotations(tmp_path / "export")
    struck = shown.calls[-2].error
    assert "***" in struck
    assert shown.reason == f"declined ({struck})"
    for secret in (SECRET, "%2Fversion", "me:word"):
        assert secret not in struck
    update = {"calls": (*calls[:-2], calls[-2].model_copy(update={"error": struck}), CALL)}
    assert shown == stored.model_copy(update={**update, "reason": shown.reason}), "all else stays"
    assert same == plain


def test_reasons_alone_are_struck_as_those_of_undecided_pairs_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    table = pa.table({"query_id": ["1", "2"], "reason": [f"said {SECRET}", None]})
    assert without_secrets(table)["reason"].to_pylist() == ["said ***", None]
    empty = table.slice(0, 0)
    assert without_secrets(empty) == empty
