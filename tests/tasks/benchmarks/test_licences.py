"""Laws of licences: their names from texts, and code that is left out of published benchmarks.

Covers `tasks.benchmarks.licences`.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.records import Code, Label, SourceInfo
from tasks.benchmarks import write_benchmark
from tasks.benchmarks.benchmark import Benchmark, check_benchmark
from tasks.benchmarks.licences import (
    ONLY_UNLICENSED,
    PAIR_OF_UNLICENSED,
    UNKNOWN,
    UNLICENSED,
    licence_of,
    licence_of_repository,
    permits_redistribution,
    without_unlicensed,
)
from tasks.inputs.formats.export import read_benchmark
from tests.fakes.benchmarks import CODES, agents_benchmark, people_benchmark

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


def test_a_phrase_is_of_whole_words_and_what_is_denied_is_not_granted() -> None:
    for text, name in [
        ("MIT License", "MIT"),
        ("The MIT License (MIT)\n\nCopyright (c) 2020 us", "MIT"),
        ("MIT Licence Copyright (c) 2020 us", "MIT"),
        ("Copyright 2020 us\n\n# MIT License #\n\nSee elsewhere.", "MIT"),
        ("License: MIT License", "MIT"),
        ("This Agreement does not permit Licensee to copy the Software.", UNKNOWN),
        ("We do not permit licenses of this code.", UNKNOWN),
        ("This is not under the MIT license.", UNKNOWN),
        ("Parts that others wrote are under\nthe MIT license of their authors.", UNKNOWN),
        ("MIT License terms do not apply here.", UNKNOWN),
        ("This is not licensed under the Apache License, Version 2.0.", UNKNOWN),
        ("It may never be used under version 3 of the GNU General Public License.", UNKNOWN),
        ("You may not use this file except in compliance with the Apache License, Version 2.0",
         "Apache-2.0"),
        ("Microboost Software License", UNKNOWN),
        ("Subartistic License 2.0", UNKNOWN),
        ("Artistic License 2.01", UNKNOWN),
    ]:  # fmt: skip
        assert licence_of([text]) == name


GNU = "GNU General Public License"
BY_FSF = "as published by the Free Software Foundation"
MPL_2 = (
    "Mozilla Public License Version 2.0\n==================================\n\n1.12. Secondary "
    f"License\n means either the {GNU}, Version 2.0, the GNU Lesser General Public License, "
    "Version 2.1, the GNU Affero General Public License, Version 3.0, or any later versions"
)
GPL_3 = (
    f"{GNU.upper()}\n   Version 3, 29 June 2007\n\n13. Use with the GNU Affero General Public "
    "License.\n permission to link under version 3 of the GNU Affero General Public License"
)
LGPL_3 = (
    "GNU LESSER GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007\n\n This incorporates the terms "
    f"and conditions of version 3 of the {GNU}"
)
EPL_2 = (
    "Eclipse Public License - v 2.0\n\nExhibit A: Secondary Licenses: "
    f"{GNU}, version 2 with the GNU Classpath Exception"
)
MIT_TEXT = "Permission is hereby granted, free of charge, to any person obtaining a copy"


def test_a_text_is_under_the_licence_that_stands_first_whichever_it_names() -> None:
    for text, name in [
        (MPL_2, "MPL-2.0"), (GPL_3, "GPL-3.0"), (LGPL_3, "LGPL-3.0"), (EPL_2, "EPL-2.0"),
        *((f"Foo - Copyright (C) 2020 version 2 us\n\n{text}", name) for text, name in (
            (MPL_2, "MPL-2.0"), (GPL_3, "GPL-3.0"), (LGPL_3, "LGPL-3.0"), (EPL_2, "EPL-2.0"),
        )),
        (f"{LGPL_3}\n\n{GPL_3}", "LGPL-3.0"),
        (f"MIT License\n\n{MIT_TEXT}\n\nIt bundles foo, which is under:\n{GPL_3}", "MIT"),
        (f"{MPL_2}\n\nfoo.py:\n{MIT_TEXT}", "MPL-2.0"),
        (f"{GNU.upper()}\n Version 1, February 1989", "GPL-1.0"),
        ("MOZILLA PUBLIC LICENSE\n Version 1.1\n\nor the GNU General Public License Version 2",
         "MPL-1.1"),
        ("European Union Public Licence V. 1.1 ... Appendix: Eclipse Public License v. 1.0",
         UNKNOWN),
        (f"CeCILL FREE SOFTWARE LICENSE AGREEMENT ... {GNU} version 2", UNKNOWN),
        ("GNU Free Documentation License Version 1.3 ... such as the GNU General Public License",
         UNKNOWN),
        (f"{MIT_TEXT}\n\nfor data:\nAttribution-NonCommercial 4.0", "CC-BY-NC-4.0"),
        ("Change License: Apache License, Version 2.0\n\nBusiness Source License 1.1", "BUSL-1.1"),
        (f"licensed under the {GNU} version 3 or later", "GPL-3.0"),
        (f"under the terms of version 2 of the {GNU} {BY_FSF}", "GPL-2.0"),
        (f"under version 2, or (at your option) any later version, of the {GNU}", "GPL-2.0"),
        (f"under the terms of the {GNU}\n * {BY_FSF};\n * either version 2 of it", "GPL-2.0"),
        (f"under the GNU Lesser {GNU[4:]} {BY_FSF}, either version 2.1 of it", "LGPL-2.1"),
        (f"{GNU} v3 (GPLv3)", "GPL-3.0"),
        (f"{GNU} version 3.2", UNKNOWN),
        ("subject to the terms of the Mozilla Public License, v. 2.0", "MPL-2.0"),
        ("Mozilla Public License 2.0 (MPL 2.0)", "MPL-2.0"),
        ("made available under the terms of the Eclipse Public License v1.0", "EPL-1.0"),
        ('Licensed under the Apache License, Version 2.0 (the "License")', "Apache-2.0"),
    ]:  # fmt: skip
        assert licence_of([text]) == name


TEXTS = Path("/usr/share/common-licenses")
NAMES = {
    "Apache-2.0": "Apache-2.0", "BSD": "BSD-3-Clause", "CC0-1.0": "CC0-1.0", "GPL-1": "GPL-1.0",
    "GPL-2": "GPL-2.0", "GPL-3": "GPL-3.0", "LGPL-2": "LGPL-2.0", "LGPL-2.1": "LGPL-2.1",
    "LGPL-3": "LGPL-3.0", "MPL-1.1": "MPL-1.1", "MPL-2.0": "MPL-2.0",
}  # fmt: skip


@pytest.mark.skipif(not TEXTS.is_dir(), reason=f"there are no licences in {TEXTS}")
def test_whole_texts_are_recognised_or_unknown_but_never_another() -> None:
    """Those of Debian: files of other names, such as GFDL-1.3, are unknown."""
    files = [file for file in sorted(TEXTS.iterdir()) if file.is_file() and not file.is_symlink()]
    found = {file.name: licence_of([file.read_text("utf-8", "replace")]) for file in files}
    assert found == {name: NAMES.get(name, UNKNOWN) for name in found}


def test_what_is_not_known_to_permit_redistribution_does_not() -> None:
    for licence, permitted in [
        ("BUSL-1.1", False), ("SSPL-1.0", False), ("MPL-1.1", True), ("GPL-1.0", True),
        ("MIT", True), ("mit", True), ("GPL-3.0-or-later", True), ("LGPL-2.1+", True), ("", False),
        ("CC-BY-SA-3.0", True), (UNKNOWN, False), ("CC-BY-NC-4.0", False), ("proprietary", False),
        ("MIT OR Apache-2.0", True), ("BUSL-1.1 OR MIT", True), ("MIT AND BUSL-1.1", False),
        ("(MIT OR BUSL-1.1) AND ISC", False), ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("Apache-2.0 WITH LLVM-exception", True), ("()", False), ("MIT OR ", False), ("OR", False),
    ]:  # fmt: skip
        assert permits_redistribution(licence) is permitted


def licensed(codes: Sequence[Code], *licences: str) -> tuple[Code, ...]:
    changed = zip(codes, licences, strict=True)
    return tuple(code.model_copy(update={"licence": licence}) for code, licence in changed)


def test_labels_evidence_and_queries_follow_the_code_that_is_left_out(tmp_path: Path) -> None:
    made = agents_benchmark()
    codes = licensed(made.codes, "", "MIT", UNKNOWN, "GPL-3.0")
    kept = without_unlicensed(made.model_copy(update={"codes": codes}))
    lost = codes[2].code_id
    assert [code.code_id for code in kept.codes] == [c.code_id for c in codes if c.code_id != lost]
    assert lost not in {label.code_id for label in kept.labels}
    assert lost not in {pair.code_id for pair in kept.undecided}
    assert lost not in {annotation.code_id for annotation in kept.evidence}
    assert len(kept.queries) == len(made.queries) - 1
    assert kept.dropped == {UNLICENSED: 1, PAIR_OF_UNLICENSED: 1, ONLY_UNLICENSED: 1}
    check_benchmark(kept)
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


def of_sources(codes: Sequence[Code], *names: str) -> tuple[Code, ...]:
    changed = zip(codes, names, strict=True)
    return tuple(code.model_copy(update={"source": name}) for code, name in changed)


def described(name: str, licence: str) -> SourceInfo:
    return SourceInfo(name=name, licence=licence, revision="1", location="here")


def of_source(licence: str, codes: Sequence[Code]) -> Benchmark:
    """Return a benchmark of codes from one source."""
    sources = (described("mine", licence),)
    return people_benchmark().model_copy(update={"codes": codes, "sources": sources})


@pytest.mark.parametrize(
    "licence", [UNKNOWN, "proprietary", "CC-BY-NC-4.0", "", "MIT AND BUSL-1.1"]
)
def test_code_without_a_licence_is_left_out_where_its_source_permits_nothing(licence: str) -> None:
    kept = without_unlicensed(of_source(licence, licensed(CODES, "", "MIT", "", "")))
    assert [code.licence for code in kept.codes] == ["MIT"]
    assert kept.dropped[UNLICENSED] == 3


def test_each_code_is_under_the_licence_of_its_own_source() -> None:
    made = people_benchmark()
    codes = of_sources(made.codes, "free", "closed", "unheard of", "free")
    sources = (described("free", "MIT"), described("closed", UNKNOWN))
    kept = without_unlicensed(made.model_copy(update={"codes": codes, "sources": sources}))
    # Of a source that is not among the benchmark's nothing is known.
    assert [code.source for code in kept.codes] == ["free", "free"]


def test_of_two_sources_with_one_name_both_must_permit_it() -> None:
    made = people_benchmark()
    codes = of_sources(made.codes, *["jsonl"] * 4)
    sources = (described("jsonl", "MIT"), described("jsonl", UNKNOWN))
    kept = without_unlicensed(made.model_copy(update={"codes": codes, "sources": sources}))
    assert not kept.codes


def test_written_answers_stay_beside_code_of_unknown_licence() -> None:
    written = CODES[0].model_copy(update={"origin": "generated:openai/gpt-4o"})
    kept = without_unlicensed(of_source(UNKNOWN, (written, *CODES[1:])))
    assert [code.origin for code in kept.codes] == ["generated:openai/gpt-4o"]


def test_beirs_metadata_has_what_is_known_of_a_code(tmp_path: Path) -> None:
    made = people_benchmark()
    codes = licensed(made.codes, "MIT", "", "", "")
    write_benchmark(made.model_copy(update={"codes": codes}), tmp_path / "export")
    lines = (tmp_path / "export" / "beir" / "corpus.jsonl").read_text().splitlines()
    assert sum('"metadata": {"licence": "MIT"}' in line for line in lines) == 1
    assert sum("metadata" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("licences", "repository", "name"),
    [
        ({"LICENSE": "MIT License"}, ".", "MIT"),
        ({"LICENSE": "MIT License"}, "package", UNKNOWN),
        ({"LICENSE": "MIT License"}, "", UNKNOWN),
        ({"LICENSE": "MIT License", "package/src/COPYING": "CC0 1.0"}, ".", "CC0-1.0"),
        ({"LICENSE": "MIT License", "package/LICENSE": "All rights reserved."}, ".", UNKNOWN),
        ({"LICENSE": "MIT License", "package/licences.py": "NAMES = 'CC0 1.0'"}, ".", "MIT"),
    ],
)
def test_code_is_under_the_nearest_licence_up_to_the_root_of_its_repository(
    licences: dict[str, str], repository: str, name: str, tmp_path: Path
) -> None:
    code = tmp_path / "package" / "src"
    code.mkdir(parents=True)
    for file, text in licences.items():
        (tmp_path / file).write_text(text)
    if repository:
        (tmp_path / repository / ".git").mkdir()
    assert licence_of_repository(code) == name
