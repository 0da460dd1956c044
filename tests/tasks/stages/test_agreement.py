"""Laws of the agreement that is logged: of a sample of the collection, from stored vectors."""

from pathlib import Path

import numpy as np
import pytest

from infra.collected import Collected
from infra.records import Code, Query, SourceInfo
from infra.settings import EncoderSettings, RaySettings, StoreSettings
from infra.store import corpus, open_database
from tasks.encoders import Kind
from tasks.stages.agreement import report_agreement
from tasks.stages.embed import encoder_key
from tests.fakes.vectors import add_file

INFO = SourceInfo(name="s", licence="MIT", revision="1", location="here")


def test_an_encoder_in_another_dtype_is_compared_with_itself_in_float32(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    codes = sorted((Code.of(f"def f{n}(): pass") for n in range(30)), key=lambda code: code.code_id)
    query = Query.of("make nothing")
    collected = Collected(info=INFO, codes=tuple(codes), queries=(query,))
    corpus.replace_collections(database, "p", {"c": collected}, "c")
    (collection,) = corpus.collections_of(database, "p")
    angles = np.linspace(0, 1, 30)
    exact = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    # The nearest 10 codes change places with the farthest.
    rows = {"minilm": exact, "minilm@bfloat16": exact[::-1].copy()}
    ids: dict[Kind, list[str]] = {
        "code": [code.code_id for code in codes],
        "query": [query.query_id],
    }
    for name, vectors_of_codes in rows.items():
        for kind, found in (("code", vectors_of_codes), ("query", exact[:1])):
            file = f"{name}-{kind}.arrow"
            add_file(database, encoder_key(name), kind, file, ids[kind], found)  # type: ignore[arg-type, index]
    arguments = (EncoderSettings(), RaySettings())
    with caplog.at_level("INFO"):
        told = report_agreement.fn(database, collection, "minilm@bfloat16", *arguments)
    assert told.startswith("top 20 of 1 queries over 30 codes 50.0% the same, cosine ")
    assert f"minilm@bfloat16 against minilm: {told}" in caplog.text
