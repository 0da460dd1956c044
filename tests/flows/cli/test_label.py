"""``cosqa label``: what a person types, and what is printed.

Covers `flows.cli.label`, `tasks.stages.label.report`.
"""

import json
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.cli.label import label_sample
from infra.errors import CosqaError, SettingsError, SourceError, StoreError
from infra.store import Database, samples
from tests.tasks.stages.generate.world import judged_store
from tests.tasks.stages.label.world import read, save


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.chdir(tmp_path)
    return judged_store(tmp_path, rounds=3)[0]


def label(*words: str) -> str:
    """Run `cosqa label` in this folder; return what it printed."""
    done = CliRunner().invoke(app, ["label", *words, "--store", "store"])
    if done.exception:
        raise done.exception
    return done.stdout


def sheets(printed: str) -> list[Path]:
    return [Path(line) for line in printed.splitlines() if line.endswith(".csv")]


def fill(file: Path, *ones: str) -> str:
    """Grade a sheet: 1 on these items, 0 on others; return its name."""
    rows = [row | {"grade": str(int(row["item"] in ones))} for row in read(file)]
    save(file, rows)
    return str(file)


@pytest.mark.parametrize(
    "words",
    [
        ("label", "sample", "--annotator", "ann"),
        ("label", "sample", "--annotator", "ann", "--sample", "s1f0c9a"),
        ("label", "sample", "--annotator", "ann", "--answers", "3", "--benchmark", "."),
        ("label", "read", "ann.csv"),
        ("label", "results", "s1f0c9a"),
        ("annotate", "--plan", "--source", "jsonl", "--path", ".", "--model", "openai/m"),
        (
            *("benchmark", "--plan", "--source", "jsonl", "--path", ".", "--model", "openai/m"),
            *("--set", "annotation.configuration=single"),
        ),
        ("challenge", "annotations", "s1f0c9a", "--output", "grades.csv"),
    ],
)
def test_where_no_store_is_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("queries", "codes"):
        (tmp_path / f"{name}.jsonl").write_text('{"id": "1", "query": "add", "code": "a = 1"}\n')
    done = CliRunner().invoke(app, [*words, "--store", "nowhere"])
    assert isinstance(done.exception, StoreError)
    assert "there is no store at nowhere" in str(done.exception)
    assert not (tmp_path / "nowhere").exists()


def test_two_people_label_a_sample_and_a_third_what_they_disagree_on(database: Database) -> None:
    printed = label("sample", "--pairs", "5", "--annotator", "ann", "--annotator", "bob")
    assert "5 items" in printed
    ann, bob = sheets(printed)
    assert ann.parent == Path("cosqa-benchmarks/sheets").resolve() or ann.is_file()
    printed = label("read", fill(ann, "1", "2"))
    assert "not done, and left out below: bob" in printed
    assert "alpha" not in printed
    printed = label("read", fill(bob, "2", "3"))
    assert "5 items labelled blind by two or more" in printed
    assert "in conflict: 2 items (1, 3)" in printed
    assert "decided by majority: 3 of 5 items, 2 as 0, 1 as 1" in printed
    [sample] = samples.samples_in(database)
    printed = label("sample", "--conflicts-of", sample.sample_id, "--annotator", "cam")
    [cam] = sheets(printed)
    printed = label("read", fill(cam, "1"))
    assert "in conflict" not in printed
    assert "decided by majority: 5 of 5 items, 3 as 0, 2 as 1" in printed
    [dan] = sheets(label("sample", "--sample", sample.sample_id, "--annotator", "dan"))
    assert len(read(dan)) == 5


def test_results_say_how_right_the_agents_are_beside_the_papers_and_write_the_truth(
    database: Database, tmp_path: Path
) -> None:
    people = ("ann", "bob", "cam")
    words = [word for name in people for word in ("--annotator", name)]
    for file in sheets(label("sample", "--pairs", "6", *words)):
        label("read", fill(file, "1"))
    [sample] = samples.samples_in(database)
    truth = tmp_path / "truth.jsonl"
    printed = label("results", sample.sample_id, "--truth", str(truth))
    assert "the agents by the majority" in printed
    assert "Krippendorff's alpha 0.818 (v2, section on agreement)" in " ".join(printed.split())
    assert "alternative annotator test" in printed
    assert "the agents may" in printed
    assert len(truth.read_text("utf-8").splitlines()) == 6


def test_a_preference_is_printed_for_all_and_for_each_person(
    database: Database, tmp_path: Path
) -> None:
    for name in ("ours", "theirs"):
        rows = [{"query": f"q {n}", "code": f"def {name}(): return {n}"} for n in range(8)]
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ("preference", "ours.jsonl", "theirs.jsonl", "--annotator", "ann")
    [file] = sheets(label(*words))
    rows = read(file)
    assert not any("grade" in row or "program" in row for row in rows)
    own = [row | {"choice": "A" if "ours" in row["code_a"] else "b"} for row in rows]
    save(file, own[:6] + [row | {"choice": "?"} for row in own[6:]])
    printed = label("read", str(file))
    assert ["ann", "6", "1.000", "(0.610", "to", "1.000)"] in map(str.split, printed.splitlines())
    for bad in ("C", "1"):
        save(file, [row | {"choice": bad} for row in own])
        with pytest.raises(SourceError, match=f":2: choice '{bad}': it must be A, B"):
            label("read", str(file))


def test_answers_of_methods_are_judged_blind_and_counted(
    database: Database, tmp_path: Path
) -> None:
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    for name, kind in (("queries", "q"), ("corpus", "c")):
        rows = [{"_id": f"{kind}{n}", "text": f"{kind} text {n}"} for n in range(3)]
        (beir / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (beir / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"q{n}\tc0\t{int(not n)}\n" for n in range(3))
    )
    for name, code in (("first", 0), ("second", 1)):
        lines = [f"q{n} Q0 c{code} 1 1.0 {name}\n" for n in range(3)]
        (tmp_path / f"{name}.trec").write_text("".join(lines))
    words = ["sample", "--benchmark", "beir", "--answers", "3", "--annotator", "ann"]
    [file] = sheets(label(*words, "--run", "first.trec", "--run", "second.trec"))
    rows = [row | {"grade": str(int(row["code"] == "c text 1"))} for row in read(file)]
    assert len(rows) == 6
    save(file, rows)
    printed = label("read", str(file))
    assert [line.split()[:4] for line in printed.splitlines() if " of 3 " in line] == [
        ["first", "0.0", "of", "3"],
        ["second", "3.0", "of", "3"],
    ]


def test_each_stratum_is_explained_in_the_help_and_on_the_page() -> None:
    choices, option = get_args(get_type_hints(label_sample, include_extras=True)["stratum"])
    page = (Path(__file__).parents[3] / "tasks/browse/README.md").read_text("utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| `--stratum")]
    for stratum in get_args(get_args(choices)[0]):
        assert stratum in option.help
        assert any(stratum in line for line in listed), stratum


def test_what_is_no_sample_or_no_name_is_refused(database: Database) -> None:
    bad: list[tuple[tuple[str, ...], str, type[CosqaError]]] = [
        (("--annotator", "../x"), "letters, digits, and", SettingsError),
        (("--annotator", "a" * 65), "64 at most", SettingsError),
        (("--annotator", "a", "--answers", "1"), "name it with --benchmark", SettingsError),
        (
            ("--annotator", "a", "--sample", "s0"),
            "holds no sample 's0'; it holds none",
            SourceError,
        ),
        (("--annotator", "a", "--sample", "s", "--conflicts-of", "s"), "one of", SettingsError),
    ]
    for words, told, kind in bad:
        with pytest.raises(kind, match=told):
            label("sample", *words)
    assert samples.samples_in(database) == []
