"""The law of the pages: what they tell people to type is taken, and their links lead somewhere."""

import ast
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import typer

from flows.cli.app import app
from infra.records import Code, Query
from tests.test_layout import MODULES, PACKAGES, ROOT

FIRST = ROOT / "README.md"
CHAPTERS = sorted(
    page for folder in (*PACKAGES, "tests") for page in (ROOT / folder).rglob("*.md")
)  # fmt: skip
PAGES = {page: page.read_text("utf-8") for page in (FIRST, *CHAPTERS)}
_BLOCK = re.compile(r"```.*?```", re.DOTALL)
LINES = [
    words
    for page in PAGES.values()
    for block in re.findall(r"```bash\n(.*?)```", page, flags=re.DOTALL)
    for line in block.splitlines()
    if (words := shlex.split(line, comments=True))
]


def commands(program: str) -> list[list[str]]:
    return [words[1:] for words in LINES if words[0] == program]


def test_every_command_and_option_exists() -> None:
    for words in commands("cosqa"):
        group = typer.main.get_command(app)
        with group.make_context("cosqa", list(words)) as context:
            name, command, rest = group.resolve_command(context, list(words))  # type: ignore[attr-defined]
            command.make_context(name, rest, parent=context)


# Links.


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that a page links to, each with the heading that is meant."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)", PAGES[page]):
        path, _, heading = target.partition("#")
        yield ((page.parent / path).resolve() if path else page), heading


def headings(page: str) -> set[str]:
    """Return the names by which a page's headings are linked to."""
    titles = re.findall(r"(?m)^#+ (.+)$", _BLOCK.sub("", page))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_leads_to_a_file_and_to_a_heading_of_it() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {target.name}#{heading}"
        for page in PAGES
        for target, heading in links(page)
        if not target.exists() or (heading and heading not in headings(PAGES[target]))
    ]
    assert wrong == []


def test_every_page_is_reached_from_the_first() -> None:
    reached, waiting = {FIRST}, [FIRST]
    while waiting:
        found = {target for target, _ in links(waiting.pop()) if target in PAGES}
        waiting += found - reached
        reached |= found
    assert reached == {*PAGES}


def test_the_page_of_layers_names_every_folder_of_tasks() -> None:
    folders = {path.parent.name for path in ROOT.glob("tasks/*/__init__.py")}
    assert folders <= {*re.findall(r"\b(\w+)(?=[/`])", PAGES[ROOT / "infra" / "README.md"])}


def test_the_glossary_has_the_words_that_stay() -> None:
    words = {
        "claim", "recipe", "round", "gold question", "oracle", "screener", "arbiter", "adapter",
    }  # fmt: skip
    assert words <= {*re.findall(r"(?m)^\| ([a-z ]+) \|", PAGES[ROOT / "tasks" / "README.md"])}


# The example.


def test_the_pair_that_is_judged_as_an_example_is_one_of_the_packaged_sample() -> None:
    page = PAGES[ROOT / "agents" / "README.md"].partition("\n## Configurations\n")[0]
    folder = ROOT / "tasks" / "sources" / "sample"
    files = (folder / "queries.jsonl", folder / "codes.jsonl", *ROOT.glob("agents/llm/recorded/*"))
    sample = "".join(file.read_text("utf-8") for file in files if file.suffix == ".jsonl")
    blocks = re.findall(r"```\n(.*?)```", page, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line]
    assert len(lines) > 10
    told = [json.dumps(line.removeprefix("query: "), ensure_ascii=False)[1:-1] for line in lines]
    assert [line for line in told if line not in sample] == []
    [(query, code)] = re.findall(r"cosqa pair\s(q\w+) (c\w+)`", page)
    texts = {str(text) for line in sample.splitlines() for text in json.loads(line).values()}
    assert len({text for text in texts if Query.of(text).query_id.startswith(query)}) == 1
    assert len({text for text in texts if Code.of(text).code_id.startswith(code)}) == 1


# Length and repetition.


def test_the_first_page_has_6_kilobytes_at_most_and_begins_with_the_two_commands() -> None:
    assert len(PAGES[FIRST].encode()) <= 6 * 1024
    assert [words[:2] for words in LINES[:2]] == [["make", "run"], ["make", "test"]]
    assert PAGES[FIRST].index("make run") < 1000


def test_no_page_has_a_few_lines_only() -> None:
    assert [page.name for page, words in PAGES.items() if len(words.split()) < 150] == []


def sentences(page: str) -> Iterator[str]:
    """Yield the sentences of a page's prose with seven words or more."""
    prose = re.sub(r"(?m)^\|.*$", "", _BLOCK.sub("\n\n", page))
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", prose):
        for sentence in re.split(r"(?<=[.:;])\s+", " ".join(paragraph.split())):
            if len(sentence.split()) >= 7:
                yield sentence


def test_no_sentence_is_said_twice() -> None:
    said = Counter(each for page in PAGES.values() for each in sentences(page))
    assert [each for each, times in said.items() if times > 1] == []


# Errors.

ERRORS = PAGES[ROOT / "flows" / "ERRORS.md"]
MESSAGES = re.findall(r"(?m)^\| `(.+?)` \|", ERRORS)


def wording(node: ast.AST) -> str:
    """Return what a text says, each value in it as an ellipsis."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(wording, node.values))
    return str(node.value).replace("{}", "…") if isinstance(node, ast.Constant) else "…"


def texts_of(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module, docstrings aside."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if isinstance(node, ast.JoinedStr) or (is_text and id(node) not in prose):
            yield re.sub("…+", "…", " ".join(wording(node).split()))


def unsaid(messages: list[str]) -> list[str]:
    """Return the messages that no text of the program has."""
    trees = (ast.parse((ROOT / module).read_text("utf-8")) for module in MODULES)
    texts = "\n".join(text for tree in trees for text in texts_of(tree))
    texts += (ROOT / "infra" / "docker" / "ensure_engine.sh").read_text("utf-8")
    return [message for message in messages if message not in texts]


def test_each_error_on_the_page_is_one_that_the_program_prints() -> None:
    assert len(MESSAGES) >= 30
    assert unsaid(MESSAGES) == []
    assert unsaid(["the store … is written by …"]) == ["the store … is written by …"]


def test_each_error_has_a_meaning_and_a_first_step() -> None:
    rows = [row.strip("| ").split(" | ") for row in re.findall(r"(?m)^\| `.+$", ERRORS)]
    assert [row for row in rows if len(row) != 3 or not all(row)] == []
