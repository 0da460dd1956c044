"""A language is one file: it is collected, filtered, paired and named with nothing else edited."""

import json
import subprocess
import sys
from pathlib import Path

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
PROGRAM = """Adds one to it -- plus x is
  x
  and 1;
begin x is
  nothing
  at all
"""


def test_a_new_language_is_one_new_file(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "toy.py").write_text(NEW)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.toy").write_text(PROGRAM)
    (tmp_path / "corpus" / "damaged.toy").write_text("?")
    (tmp_path / "corpus" / "a.rb").write_text("# Gives it back.\ndef same(x)\n  x\nend\n")
    printed = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path / "more"), str(tmp_path / "corpus")],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = json.loads(printed)
    assert "toy" in found["names"]
    assert found["codes"] == [["ruby", "same"], ["toy", "plus"]]
    assert found["dropped"] == {"constructor or special method": 1, "file does not parse": 1}
    assert sorted(found["pairs"]) == [["Adds one to it", "toy"], ["Gives it back.", "ruby"]]
