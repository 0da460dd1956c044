"""A language is one file: it is collected, judged, exported and shown with nothing else edited."""

import json
import subprocess
import sys
from pathlib import Path

from tests.fakes.llm_server import KEY, ScriptedServer

NEW = """
from dataclasses import dataclass

from infra.languages import Language, languages


@dataclass
class Rule:
    name: str
    first_line: int
    text: str
    documentation: str
    in_class = has_error = False
    returns_value = True
    parameters = ("x",)

    @property
    def last_line(self):
        return self.first_line + self.text.count(chr(10))

    @property
    def text_without_documentation(self):
        return self.text


@languages.register("toy")
class Toy(Language):
    name = "toy"
    title = "Toy"
    suffixes = (".toy",)

    def functions_of(self, text):
        if "?" in text:
            raise SyntaxError("what")
        found, line = [], 1
        for part in text.split(";"):
            note, _, body = part.strip().rpartition("--")
            if body.strip():
                found.append(Rule(body.split()[0], line, body.strip(), note.strip()))
            line += part.count(chr(10))
        return found

    def signature_of(self, code):
        return ""

    def is_special(self, name):
        return name == "begin"
"""
LOOK = """
import json, sys
import infra.languages as package
package.__path__.append(sys.argv[1])
from infra.settings import SourceSettings
from tasks.sources import open_source
from infra.collected import whole

settings = SourceSettings(name="source-code", path=sys.argv[2])
contents = {name: whole(each) for name, each in open_source(settings).read().items()}
main, pairs = contents.values()
languages = {code.code_id: code.language for code in pairs.codes}
print(json.dumps({
    "names": package.languages.names(),
    "codes": [[code.language, code.name] for code in main.codes],
    "dropped": main.dropped,
    "pairs": [[query.text, languages[label.code_id]]
              for query, label in zip(pairs.queries, pairs.labels)],
}))
"""
JUDGE = """
import sys
import infra.languages as package
package.__path__.append(sys.argv[1])
from pathlib import Path

from agents import recipe_of
from flows.cli.show import pair as show
from infra.collected import whole
from infra.identity import SearchId
from infra.records import Candidate, Pair
from infra.settings import (AnnotationSettings, LanguageModelSettings, PublishSettings, Settings,
    SourceSettings, StoreSettings)
from infra.store import annotations, candidates, corpus, open_database
from tasks.benchmarks.writer import write_benchmark
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.sources import open_source
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.compare_annotators import annotate_in_process
from tasks.stages.labels import labelled_benchmark, labels_of_agents

_, _, files, store, address, key = sys.argv
settings = Settings(
    store=StoreSettings(folder=Path(store)),
    llm=LanguageModelSettings(model="openai/scripted", base_url=address, api_key=key),
    annotation=AnnotationSettings(configuration="single", gold_questions=0),
)
source = SourceSettings(name="source-code", path=files)
*_, content = (whole(each) for each in open_source(source).read().values())
database, search = open_database(settings.store), SearchId("s")
corpus.replace_collections(database, "print", {"c": content}, annotated="c")
found = [Pair(query=query, code=code) for query in content.queries for code in content.codes]
candidates.record_search(database, search, "c", ["made"], len(content.codes))
candidates.add_candidates(database, search, [
    Candidate(query_id=query, code_id=code, rank=1 + rank % len(content.codes), similarity=1,
              by_encoder={})
    for rank, (query, code) in enumerate(pair.key for pair in found)
])
recipe = current_recipe(settings.committee)
annotate_in_process(found, recipe, settings.committee, settings.store)
bodies = {recipe.recipe_id: recipe_of(settings.committee, recipe.sandbox)}
annotations.record_recipes(database, bodies, used_on="c")
(stored,) = corpus.collections_of(database, "print")
reference = SearchReference(search_id=search, collection="c", queries=len(content.queries),
    candidates=len(found))
labels = labels_of_agents(database, CollectedSource(collections=(stored,), search=reference))
benchmark = labelled_benchmark(database, labels, PublishSettings())
write_benchmark(benchmark, Path(store) / "export")
for one in found:
    if one.code.language == "toy":
        show(settings.store, *one.key)
"""
PROGRAM = """Adds one to it -- plus x is
  x
  and 1;
begin x is
  nothing
  at all
"""


def run(script: str, folder: Path, *arguments: str) -> str:
    """Return what a script prints that knows the new language and is given a folder of files."""
    (folder / "more").mkdir()
    (folder / "more" / "toy.py").write_text(NEW)
    (folder / "corpus").mkdir()
    (folder / "corpus" / "a.toy").write_text(PROGRAM)
    (folder / "corpus" / "damaged.toy").write_text("?")
    (folder / "corpus" / "a.rb").write_text("# Gives it back.\ndef same(x)\n  x\nend\n")
    (folder / "corpus" / "LICENSE").write_text("MIT License\n")
    command = [sys.executable, "-c", script, str(folder / "more"), str(folder / "corpus")]
    done = subprocess.run([*command, *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_language_is_one_new_file(tmp_path: Path) -> None:
    found = json.loads(run(LOOK, tmp_path))
    assert "toy" in found["names"]
    assert found["codes"] == [["ruby", "same"], ["toy", "plus"]]
    assert found["dropped"] == {"constructor or special method": 1, "file does not parse": 1}
    assert sorted(found["pairs"]) == [["Adds one to it", "toy"], ["Gives it back.", "ruby"]]


def test_a_new_language_is_judged_by_reading_exported_and_shown(tmp_path: Path) -> None:
    reply = {"asked": "one more", "deviations": "none", "verdict": "answers"}
    rules = [{"role": "exact_judge", "query": "*", "steps": [{"reply": reply}]}]
    with ScriptedServer(rules) as server:
        shown = run(JUDGE, tmp_path, str(tmp_path / "store"), server.base_url, KEY)
        told = {call["messages"][0]["content"].splitlines()[1] for call in server.calls}
    assert told == {
        "You judge whether Ruby code answers a web query, by reading it.",
        "You judge whether Toy code answers a web query, by reading it.",
    }
    assert "plus x is" in shown
    assert "read alone, by reading" in shown
    export = tmp_path / "store" / "export"
    codes = (export / "beir" / "corpus.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["metadata"]["language"] for line in codes} == {"ruby", "toy"}
