"""Neural Code Search's files, made of any folder of Java repositories.

    python -m tests.bench.neural_code_search_data REPOSITORIES FOLDER [--train 8000]

Writes FOLDER/data: the corpus as published, and questions that are the first paragraphs of
documentation of methods with five lines or more; the answer is the method without it, and it stays
in the corpus as the only example. FOLDER/docs.jsonl has pairs of documentation and method of other
methods (what UNIF's GitHub set is), FOLDER/names.jsonl pairs of a method's name as words and the
method without it: a stand-in for its Stack Overflow set, of which a machine without the dump has
none.
"""

import argparse
import json
import random
import re
from collections import Counter
from pathlib import Path

from infra.text import words
from tasks.corpus.functions import find_functions
from tasks.corpus.neural_code_search import CORPUS, QUESTIONS, Method, read_methods, write_corpus
from tasks.corpus.source_files import folder, languages_of
from tasks.filters.documentation import first_paragraph

_FEWEST_LINES = 5


def documented_methods(repositories: Path, data: Path) -> list[tuple[str, Method, str]]:
    """Return the first paragraph, the line of the corpus and the text of documented methods."""
    files = folder(repositories, languages_of(("java",)))
    documented: list[tuple[str, Method, str]] = []
    taken = set()
    lines = read_methods(data / CORPUS)
    for (_, method), function in zip(lines, find_functions(files, Counter()), strict=True):
        code = function.code
        paragraph = first_paragraph(code.documentation)
        is_long = code.last_line - code.first_line + 1 >= _FEWEST_LINES
        if paragraph and is_long and paragraph not in taken and "{@inheritDoc" not in paragraph:
            taken.add(paragraph)
            documented.append((paragraph, method, code.text))
    return documented


def main() -> None:
    """Write the files and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=287)
    parser.add_argument("--train", type=int, default=8_000)
    options = parser.parse_args()
    data = options.folder / "data"
    data.mkdir(parents=True)
    counts = write_corpus(options.repositories, data)
    documented = documented_methods(options.repositories, data)
    random.Random(0).shuffle(documented)
    asked, others = documented[: options.questions], documented[options.questions :]
    questions = [
        {"stackoverflow_id": method.id, "question": text, "answer": code, "examples": [method.id]}
        for text, method, code in asked
    ]
    (data / QUESTIONS).write_text(json.dumps(questions), "utf-8")
    held = {code for _, _, code in asked}
    some = [each for each in others if each[2] not in held][: options.train]
    named = [
        (" ".join(words(method.method_name)), re.sub(rf"\b{method.method_name}\b", "_", code))
        for _, method, code in some
    ]
    pairs = {"docs": [(text, code) for text, _, code in some], "names": named}
    for name, of in pairs.items():
        rows = (
            json.dumps({"query": query, "code": code, "label": 1}) for query, code in of if query
        )
        (options.folder / f"{name}.jsonl").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    print(dict(counts), f"{len(asked)} questions", f"{len(some):,} pairs")


if __name__ == "__main__":
    main()
