"""Laws of licences: their names from texts, and code that is left out of published benchmarks.

Covers `tasks.benchmarks.redistribution`.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.identity import MARK_DIGITS
from infra.records import Code, Label
from tasks.benchmarks import read_benchmark, write_benchmark
from tasks.benchmarks.benchmark import benchmark_fingerprint, check_benchmark
from tasks.benchmarks.licences import UNKNOWN, licence_of, permits_redistribution
from tasks.benchmarks.redistribution import (
    ONLY_UNLICENSED,
    PAIR_OF_UNLICENSED,
    UNLICENSED,
    without_unlicensed,
)
from tests.fakes.benchmarks import agents_benchmark, people_benchmark
from tests.fakes.former import with_former_ids

BSD = "Redistribution and use in source and binary forms, with or without\nmodification, "


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Permission is hereby granted, free of charge, to any person\n obtaining a copy", "MIT"),
        ("            Apache License\n         Version 2.0, January", "Apache-2.0"),
        (f"{BSD} Neither the name may be used to endorse or promote products", "BSD-3-Clause"),
        (f"{BSD} Redistributions in binary form must reproduce", "BSD-2-Clause"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", "GPL-3.0"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991", "GPL-2.0"),
        ("GNU LESSER GENERAL PUBLIC LICENSE Version 3 ... GNU General Public License", "LGPL-3.0"),
        ("GNU AFFERO GENERAL PUBLIC LICENSE Version 3 ... GNU General Public License", "AGPL-3.0"),
        ("Mozilla Public License Version 2.0", "MPL-2.0"),
        ("This is free and unencumbered software released into the public domain.", "Unlicense"),
        ("CC0 1.0 Universal", "CC0-1.0"),
        ("Permission to use, copy, modify, and/or distribute this software for any purpose", "ISC"),
        ("Creative Commons Attribution-NonCommercial 4.0", "CC-BY-NC-4.0"),
        ("All rights reserved.", UNKNOWN),
        ("", UNKNOWN),
    ],
)  # fmt: skip
def test_a_licence_is_recognised_by_its_phrases(text: str, name: str) -> None:
    assert licence_of(["by us", text]) == name


@pytest.mark.parametrize(
    ("licence", "permitted"),
    [
        ("MIT", True), ("mit", True), ("GPL-3.0-or-later", True), ("LGPL-2.1+", True), ("", True),
        ("CC-BY-SA-3.0", True), (UNKNOWN, False), ("CC-BY-NC-4.0", False), ("proprietary", False),
    ],
)  # fmt: skip
def test_what_is_not_known_to_permit_redistribution_does_not(licence: str, permitted: bool) -> None:
    assert permits_redistribution(licence) is permitted


def licensed(codes: Sequence[Code], *licences: str) -> tuple[Code, ...]:
    changed = zip(codes, licences, strict=True)
    return tuple(code.model_copy(update={"licence": licence}) for code, licence in changed)


def test_labels_evidence_and_queries_follow_the_code_that_is_left_out(tmp_path: Path) -> None:
    made = agents_benchmark(demo=False)
    codes = licensed(made.codes, "", "MIT", UNKNOWN, "GPL-3.0")
    kept = without_unlicensed(made.model_copy(update={"codes": codes}))
    lost = codes[2].code_id
    assert [code.code_id for code in kept.codes] == [c.code_id for c in codes if c.code_id != lost]
    assert lost not in {label.code_id for label in kept.labels}
    assert lost not in {pair.code_id for pair in kept.undecided}
    assert lost not in {annotation.code_id for annotation in kept.evidence}
    assert len(kept.queries) == len(made.queries) - 1
    assert kept.dropped == {UNLICENSED: 1, PAIR_OF_UNLICENSED: 1, ONLY_UNLICENSED: 1}
    check_benchmark(kept, allow_demo=False)
    manifest = write_benchmark(kept, tmp_path / "export")
    assert manifest.dropped[UNLICENSED] == 1
    assert UNLICENSED in (tmp_path / "export" / "README.md").read_text()
    again = read_benchmark(tmp_path / "export")
    assert {code.licence for code in again.codes} == {"", "MIT", "GPL-3.0"}


def test_a_query_with_another_judged_pair_stays() -> None:
    made = people_benchmark()
    label = Label(
        query_id=made.queries[0].query_id, code_id=made.codes[0].code_id, origin="people",
        relevance=0,
    )  # fmt: skip
    codes = licensed(made.codes, "MIT", "MIT", UNKNOWN, "MIT")
    changed = made.model_copy(update={"codes": codes, "labels": (*made.labels, label)})
    kept = without_unlicensed(changed)
    assert kept.queries == made.queries
    assert len(kept.labels) == len(made.labels)


def test_code_under_the_licence_of_its_source_is_published_unchanged() -> None:
    made = people_benchmark()
    assert without_unlicensed(made) is made


def test_the_fingerprint_of_records_without_the_added_fields_is_that_of_earlier_releases() -> None:
    split = with_former_ids(people_benchmark())
    assert benchmark_fingerprint(split, digits=MARK_DIGITS) == "ce651c5cb757ddf1e682"
    queries = (split.queries[0].model_copy(update={"split": "dev"}), *split.queries[1:])
    assert (
        benchmark_fingerprint(split.model_copy(update={"queries": queries}), digits=MARK_DIGITS)
        != "ce651c5cb757ddf1e682"
    )


def test_beirs_metadata_has_what_is_known_of_a_code(tmp_path: Path) -> None:
    made = people_benchmark()
    codes = licensed(made.codes, "MIT", "", "", "")
    write_benchmark(made.model_copy(update={"codes": codes}), tmp_path / "export")
    lines = (tmp_path / "export" / "beir" / "corpus.jsonl").read_text().splitlines()
    assert sum('"metadata": {"licence": "MIT"}' in line for line in lines) == 1
    assert sum("metadata" in line for line in lines) == 1
