"""Neural Code Search from end to end, on small files as they are published.

Covers `flows.challenge`, `tasks.stages.challenge.neural_code_search`.
"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.challenge import neural_code_search
from flows.cli.app import app
from flows.cli.output import print_document
from infra.errors import SourceError
from infra.records import query_id_of
from infra.settings import (
    EvaluationSettings,
    PublishSettings,
    Settings,
    SourceSettings,
    StoreSettings,
)
from tasks.corpus.neural_code_search import QUESTIONS, Question, write_corpus
from tasks.stages.challenge.neural_code_search import _reordered, sheet_document

JAVA = """class Keys {
    void hide(View view) {
        InputMethodManager manager = get(view);
        manager.hideSoftInput(view.getToken(), 0);
    }

    int hideKeyboardCount(int keyboard) {
        return keyboard + keyboard;
    }

    String join(List<String> parts) {
        StringBuilder builder = new StringBuilder();
        for (String part : parts) {
            builder.append(part);
        }
        return builder.toString();
    }
}
"""
ANSWERS = {
    "hide the soft keyboard input": (
        "InputMethodManager m = get(v);\nm.hideSoftInput(v.getToken(), 0);", [1],
    ),
    "join parts of a list": ("<Button android:id='@+id/x' />", [3, 99]),
    "what is the meaning": ("", []),
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "Keys.java").write_text(JAVA)
    write_corpus(tmp_path, tmp_path)
    rows = [
        {"stackoverflow_id": 10 * place, "question": text, "answer": answer, "examples": examples}
        for place, (text, (answer, examples)) in enumerate(ANSWERS.items(), 1)
    ]
    (tmp_path / QUESTIONS).write_text(json.dumps([*rows, rows[0]]))
    return tmp_path


def settings_of(data: Path, *methods: str) -> Settings:
    source = {"name": "neural-code-search", "path": data, "repositories": data}
    return Settings(
        source=SourceSettings.model_validate(source),
        store=StoreSettings(folder=data / "store"),
        publish=PublishSettings(folder=data / "out"),
        evaluation=EvaluationSettings(methods=methods),
    )


@pytest.mark.usefixtures("prefect_server")
def test_rankings_are_judged_by_answers_and_the_sheet_is_scored(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_of(data, "bm25")
    written = neural_code_search(data / QUESTIONS, settings, post_rank=True)
    assert written.file.read_text() == (
        "No.,StackOverflow ID,bm25 FRank,bm25_postrank (stand-in) FRank\n"
        "1,10,1,1\n2,20,NF,NF\n3,30,NF,NF\n4,10,1,1\n"
    )
    found = written.scores["bm25"]
    assert (found.answered, found.reciprocal_rank) == ({1: 2, 5: 2, 10: 2}, 1 / 2)
    assert (written.without_code, written.examples, written.accepted) == (1, 3, 2)
    print_document(sheet_document(written))
    said = capsys.readouterr().out
    assert "judge: accepts 2 of 3 examples" in said
    scored = CliRunner().invoke(app, ["suite", "neural-code-search", str(written.file)])
    assert "bm25_postrank (stand-in)" in scored.output
    assert neural_code_search(data / QUESTIONS, settings, post_rank=True) == written


def test_the_second_pass_puts_more_of_the_questions_words_first() -> None:
    asked = [Question(stackoverflow_id="1", question="hide the keyboard", answer="")]
    query = query_id_of(asked[0].question)
    texts = {"a": "f();", "b": "hideAll()", "c": "hide(keyboard)", "d": "hide(hide)"}
    assert _reordered({query: [*"abcd"]}, asked, texts) == {query: [*"cbda"]}


def test_bad_questions_are_refused_before_anything_is_read(data: Path) -> None:
    (data / QUESTIONS).write_text("[]")
    with pytest.raises(SourceError, match="holds no questions"):
        neural_code_search.fn(data / QUESTIONS, settings_of(data, "bm25"))


def test_a_corpus_is_written_by_a_command(data: Path) -> None:
    (data / "data").mkdir()
    done = CliRunner().invoke(app, ["challenge", "write-corpus", str(data), str(data / "data")])
    assert done.exit_code == 0, done.output
    assert "methods" in done.output
    assert (data / "data" / "search_corpus_1.tar.gz").is_file()
