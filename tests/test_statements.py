"""The law of what is said: each name in a text is that of a thing which is there.

Texts are the pages, the next release's changes, helps, docstrings, comments of SQL, what settings
mean, deployments and the papers' figures. Things are commands, options, settings, targets, files,
modules and names of this program. Numbers of the packaged sample are those of its run, which
`tests.flows.test_benchmark` compares with the same file; pictures show what is there today.
"""

import ast
import builtins
import json
import keyword
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import filter as matching
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
from pydantic import BaseModel

from flows.cli.tools import Kind
from flows.options import fields_of, overrides_of
from infra.errors import SettingsError
from infra.settings import CONFIGURATION_SUMMARIES, Settings, load_settings
from infra.settings.origins import _OTHER_VARIABLES
from infra.settings.presets import preset_names
from sandbox.contract import BEHAVIOURS
from tasks.encoders import encoders
from tasks.estimators import estimators
from tasks.filters import filters
from tasks.metrics import metrics
from tasks.reports.kape import KapeReport, kape_document
from tasks.retrievers import retrievers
from tasks.sources import WRITTEN, sources
from tasks.studies import studies, study_text
from tasks.suites import suites
from tasks.training.models import models
from tasks.training.recipes import RECIPES
from tests.flows.cli.test_commands import EVERY, examples_of, root
from tests.flows.deployed import DEPLOYMENTS, FORMS
from tests.test_layout import MODULES, PACKAGES, ROOT
from tests.test_readme import CHAPTERS, MESSAGES

PUBLISHED = "tasks/studies/published.toml"
SHOWN = ROOT / "infra" / "deploy" / "screenshots" / "shown.json"
SAMPLE = tomllib.loads((ROOT / "tests" / "flows" / "sample_numbers.toml").read_text("utf-8"))

# What is there.

FILES = [
    path.relative_to(ROOT)
    for folder in (*PACKAGES, "tests", ".ci", ".")
    for path in (ROOT.glob("*") if folder == "." else (ROOT / folder).rglob("*"))
    if "__pycache__" not in path.parts
]
# Files that are no Python and whose words are names of the program.
_DATA = (".sql", ".go", ".js", ".jinja", ".sh", ".example")
_DATA_FILES = ("pyproject.toml", "constraints.txt", "Dockerfile", "specs.toml", "compose.yaml")
DATA = [
    path for path in FILES if path.suffix in _DATA or path.name in (*_DATA_FILES, "cosqa.yaml")
]  # fmt: skip
# Names of other programs and of published files, and examples of names.
OTHERS = {
    "bpf", "concurrency_limit", "io_uring", "libGL.so.1", "namespace", "num_ctx",
    "relevanceeval.py", "runsc", "prefect.db", "tf.gather_nd", "simple", "sklearn.svm", "trec_eval",
    "test_agent_codebase.json", "void", "xllamacpp",
    "test_agent_pairs.json", "test_agent_query.json", "train.tsv", "vocab.desc.json",
    "funnel-python-source", "readJSONFile_2", "stdlib-sample-agents",
}  # fmt: skip
PROGRAMS = {"cosqa", "docker", "git", "go", "hf", "import", "make", "pip", "prefect", "python"}
SECTIONS = Settings.sections()
OPTIONS = {
    words: {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    for words, command in EVERY.items()
}
COMMON = {"--help", "--traceback", "--version"}
# Of pip, llama.cpp and vLLM.
THEIRS = {"--only-binary", "--max-model-len", "--max-num-seqs", "--port"}
ANY_OPTION = COMMON.union(*OPTIONS.values(), THEIRS)
GROUPS = {words.split()[1] for words in EVERY if words.count(" ") == 2}
TARGETS = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
VARIABLES = _OTHER_VARIABLES.union(
    f"COSQA_{section}__{key}".upper() for section, model in SECTIONS.items()
    for key in model.model_fields
)  # fmt: skip
SOURCE_KEYS = {key for name in sources for key in sources.get(name).Options.model_fields}
VALUES: dict[str, Iterable[str]] = {  # of options
    "--source": sources, "--preset": preset_names(), "--recipe": RECIPES, "--encoder": encoders,
    "--configuration": CONFIGURATION_SUMMARIES, "--method": [*retrievers, *encoders],
    "--base": [*encoders, *models],
}  # fmt: skip
KINDS = (encoders, estimators, filters, metrics, retrievers, sources, studies, suites, models)


@cache
def trees() -> dict[Path, ast.Module]:
    return {module: ast.parse((ROOT / module).read_text("utf-8")) for module in MODULES}


def names_in(tree: ast.Module) -> Iterator[str]:
    """Yield identifiers, and texts without a blank, docstrings aside."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.arg(arg=name) | ast.alias(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Constant(value=str(text)) if id(node) not in prose and " " not in text:
                yield text


@cache
def names() -> frozenset[str]:
    """Return the names of the program."""
    found = {*keyword.kwlist, *dir(builtins), *sys.stdlib_module_names, *OTHERS}
    for tree in trees().values():
        found |= {*names_in(tree)}
    for kind in (*KINDS, preset_names(), RECIPES, CONFIGURATION_SUMMARIES):
        found |= {*kind}
    for path in FILES:
        found |= {path.stem, path.name}
    for file in DATA:
        code = re.sub(r"(?m)(#|--|//) .*$", "", (ROOT / file).read_text("utf-8"))
        found |= {*re.findall(r"[\w.-]+", code)}
    return frozenset(found)


@cache
def words_of_names() -> frozenset[str]:
    """Return the words that names are made of."""
    return frozenset(word.lower() for name in names() for word in re.findall(r"[A-Z]?[a-z]+", name))


def module_is_there(name: str) -> bool:
    """Return whether a dotted name is that of a module, or of something in one."""
    parts = name.strip(".").split(".")
    for length in range(len(parts), 1, -1):
        path = ROOT.joinpath(*parts[:length])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.is_file():
            return {*parts[length:]} - {"NAME"} <= names_of(file)
    return False


@cache
def names_of(file: Path) -> set[str]:
    return {*names_in(ast.parse(file.read_text("utf-8")))}


_FILE = re.compile(r"(.+)\.(?:bin|html|md|py|sql|sqlite|toml|txt)")
_TABLE = re.compile(r"(.+?)(\.(?:csv|h5|json|jsonl|parquet|tsv))(?:\.gz)?")  # of a part's name


def name_is_there(name: str, place: str) -> bool:
    """Return whether a name is one of the program's or of its files, seen from a page's folder."""
    if re.search("[A-Z]{3}", name):
        return True  # a form with a place to fill in
    if "/" in name:
        folders = (ROOT, (ROOT / place).parent)
        last = name.rstrip("/").rpartition("/")[2]
        return any([*each.glob(name.rstrip("/"))] for each in folders) or last in names()
    if "*" in name or name.endswith("-"):
        return bool(matching(names(), name.rstrip("*") + "*"))
    if name in names() or _FILE.fullmatch(name):
        return name in names()
    table = _TABLE.fullmatch(name)
    parts = [*table[1].split("."), table[2]] if table else name.strip(".").split(".")
    return module_is_there(name) or all(part in names() for part in parts)


# What is said.


class Text(NamedTuple):
    """What is said, and where: in a file, or as the help of something."""

    place: str
    words: str


_TAKEN_AWAY = re.compile(
    r"\b(withdrawn|gone|no longer|no option|refused|in place of|is no)\b", re.IGNORECASE
)


@cache
def texts() -> tuple[Text, ...]:
    """Return all texts."""
    return tuple(_texts())


def _texts() -> Iterator[Text]:
    for page in (ROOT / "README.md", *CHAPTERS):
        yield Text(page.relative_to(ROOT).as_posix(), page.read_text("utf-8"))
    yield from helps()
    for module, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield Text(module.as_posix(), ast.get_docstring(node) or "")
    for name in ("prefect.yaml", PUBLISHED, "CHANGELOG.md"):
        yield Text(name, (ROOT / name).read_text("utf-8"))
    for file in ROOT.glob("infra/store/*.sql"):
        comments = re.findall(r"--(.*)", file.read_text("utf-8"))
        yield Text(file.relative_to(ROOT).as_posix(), "\n".join(comments))


def helps() -> Iterator[Text]:
    """Yield what commands, options, settings, studies and deployments say of themselves."""
    for words, command in EVERY.items():
        lines = "".join(f"\n`{line}`" for line in examples_of(command))
        yield Text(f"{words} --help", (command.help or "") + lines)
        for option in command.params:
            yield Text(f"{words}, {option.name}", getattr(option, "help", "") or "")
    yield Text("cosqa --help", root().help or "")
    for section, model in SECTIONS.items():
        for key, field in model.model_fields.items():
            yield Text(f"setting {section}.{key}", field.description or "")
    for name in studies:
        yield Text(f"study {name}", f"`{study_text(name).command}`")
    for name, deployment in DEPLOYMENTS.items():
        yield Text(f"deployment {name} --help", deployment["description"])


def next_release(page: str) -> str:
    """Return the entries of the next release, without the subjects that group them."""
    entries = page.partition("\n## Unreleased\n")[2].partition("\n## ")[0]
    return re.sub(r"\n### .*\n", "", entries)


def what_is_there_now(page: str) -> str:
    """Return the sentences of the next release that do not say what was taken away."""
    entries = re.split(r"\n(?=- )", next_release(page))
    sentences = [each for entry in entries for each in re.split(r"(?<=\.)\s+(?=[A-Z`])", entry)]
    return "\n\n".join(each for each in sentences if not _TAKEN_AWAY.search(each))


_BASH = re.compile(r"```bash\n(.*?)```", re.DOTALL)
_BLOCK = re.compile(r"```\w*\n.*?```", re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_COMMAND = re.compile(r'^command = "(.*)"$', re.MULTILINE)  # in published.toml


def spans(words: str) -> Iterator[str]:
    """Yield what a text gives as code: lines of blocks, what is in backticks, commands of TOML."""
    for block in _BASH.findall(words):
        yield from (re.split(r"(?:^|\s+)# ", line)[0] for line in block.splitlines())
    yield from (" ".join(span.split()) for _, span in _SPAN.findall(_BLOCK.sub("", words)))
    yield from _COMMAND.findall(words)


def command_lines(words: str) -> Iterator[list[str]]:
    """Yield the words of each command line, whose program may be left out."""
    for span in spans(words):
        for part in re.split(r" && |,? then |,? and (?=cosqa )|, (?=cosqa )", span):
            try:
                line = shlex.split(re.sub(r"^([A-Z_]+=\S+ )+", "", part))
            except ValueError:
                continue
            if not line:
                continue
            first = line[0]
            if first.startswith("bench_"):
                yield ["python", "-m", f"tests.bench.{first}", *line[1:]]
            elif len(line) > 1 and (first in GROUPS or f"cosqa {first}" in OPTIONS):
                yield ["cosqa", *line]
            else:
                yield line


# What is said and is not there.


def command_faults(text: Text) -> Iterator[str]:
    """Yield commands, targets and modules that are not there, and options that commands lack."""
    for line in command_lines(text.words):
        match line:
            case ["make", *rest]:
                yield from (word for word in rest if word not in TARGETS and "=" not in word)
            case ["cosqa", *rest]:
                yield from cosqa_faults([word for word in rest if word not in COMMON])
            case ["python", "-m", module, *rest]:
                yield from program_faults(module, rest)
            case [first, *_] if first.startswith("--"):
                yield from {*flags(line)} - ANY_OPTION
            case [first, _, *_] if is_page(text) and first not in PROGRAMS:
                is_message = " ".join(line) in MESSAGES
                if not is_message and all(re.fullmatch(r"[a-z-]+", word) for word in line):
                    yield " ".join(line)


def program_faults(module: str, words: list[str]) -> Iterator[str]:
    """Yield a module that is not there, and options that its files do not name."""
    if not module_is_there(module):
        yield module
    files = [path for path in FILES if path.as_posix().startswith(module.replace(".", "/"))]
    code = "".join(path.read_text("utf-8") for path in files if path.suffix == ".py")
    yield from (flag for flag in flags(words) if not re.search(f'"(--)?{flag[2:]}"', code))


def is_page(text: Text) -> bool:
    return text.place.endswith((".md", "--help"))


def flags(words: Iterable[str]) -> Iterator[str]:
    return (word.partition("=")[0] for word in words if re.match(r"--[a-z]", word))


def cosqa_faults(words: list[str]) -> Iterator[str]:
    length = 2 if words[:1] and words[0] in GROUPS else 1
    path, rest = " ".join(["cosqa", *words[:length]]), words[length:]
    if len(words) < length or not re.fullmatch("cosqa( [a-z][a-z-]*)+", path):
        return  # a group, or a place to fill in
    if path not in OPTIONS:
        yield path
        return
    yield from {*flags(rest)} - OPTIONS[path]
    takes = [option for option in EVERY[path].params if option.param_type_name == "argument"]
    if rest and re.fullmatch("[a-z][a-z-]*", rest[0]) and not takes:
        yield f"{path} {rest[0]}"
    if path == "cosqa list" and rest:
        yield from {rest[0]} - {*get_args(Kind), "KIND"}
    for flag, value in pairwise(rest):
        yield from argument_faults(flag, value)


def argument_faults(flag: str, value: str) -> Iterator[str]:
    """Yield what an option is given and does not take."""
    if flag == "--set":
        yield from value_faults(value)
    elif flag == "--metric":
        yield from {re.split("[-@]", value)[0]} - {name.partition("-")[0] for name in metrics}
    else:
        for part in value.split("+") if flag in VALUES else ():
            yield from {*re.findall(r"^[a-z][\w.-]*$", part)} - {*VALUES[flag]}


def value_faults(pair: str) -> Iterator[str]:
    """Yield ``section.key=value`` that is refused; what is to be filled in is none."""
    name, _, value = pair.partition("=")
    if re.search("[A-Z]{3}", pair) or value in ("", "..."):
        return
    try:
        load_settings(overrides_of(lambda: None, {"sets": [pair]}), "")
    except SettingsError:
        yield pair
    if name == "source.filters":
        yield from {*value.split(",")} - {*filters}


def option_faults(text: Text) -> Iterator[str]:
    """Yield options between other words that no command has; of a help, that its own has not."""
    known = OPTIONS.get(re.split(" --help|,", text.place)[0], set()) or ANY_OPTION
    prose = _SPAN.sub("", _BLOCK.sub("", _COMMAND.sub("", text.words)))
    prose = re.sub(r"(?m)^ *#  .*", "", prose)  # commands of other programs
    yield from {*re.findall(r"(?<![\w-])--[a-z][a-z-]*\b", prose)} - known


_ASSIGNED = re.compile(r"COSQA_([A-Z]+)__([A-Z_]+)='?((?<=')[^'\n]+|[\w.:/\[\]]+)")


def setting_faults(text: Text) -> Iterator[str]:
    """Yield variables and ``section.key`` that are no setting."""
    for section, key, value in _ASSIGNED.findall(text.words):
        yield from value_faults(f"{section}.{key}={value}".lower())
    section = ""
    for name in re.findall(r"COSQA_[A-Z_]+(?:…)?|…__[A-Z_]+", text.words):
        full = name.replace("…", f"COSQA_{section}") if name[0] == "…" else name
        section, _, key = full.removeprefix("COSQA_").partition("__")
        is_form = section == "SECTION" or key in ("…", "X")
        if full not in VARIABLES and not (is_form and section.lower() in (*SECTIONS, "section")):
            yield full
    pattern = rf"(?<![\w./])({'|'.join(SECTIONS)})\.([a-z_]+)(?![\w/(])"
    for section, key in re.findall(pattern, text.words):
        known = {*SECTIONS[section].model_fields}
        if section == "source":
            known |= {*SOURCE_KEYS, *sources, WRITTEN}
        dotted = f"{section}.{key}"
        is_file = _FILE.fullmatch(dotted) or _TABLE.fullmatch(dotted)
        if key not in known and not is_file and not module_is_there(dotted):
            yield dotted


_OURS = f"(?<![\\w./-])(?:{'|'.join(PACKAGES)}|tests)"


def file_faults(text: Text) -> Iterator[str]:
    """Yield files and modules that are not there."""
    for path in re.findall(rf"{_OURS}(?:/[\w.*-]*\w)+", text.words):
        is_made = re.search("[A-Z]{3}", path) or (ROOT / f"{path}.example").exists()
        if not [*ROOT.glob(path)] and not is_made:
            yield path
    for name in re.findall(rf"{_OURS}(?:\.\w+)+(?![\w/(])", text.words):
        section, _, key = name.partition(".")
        is_setting = section in SECTIONS and key in SECTIONS[section].model_fields
        if not (module_is_there(name) or is_setting or name_is_there(name, "")):
            yield name


def name_faults(text: Text) -> Iterator[str]:
    """Yield single names in backticks that are none of the program's."""
    for span in spans(text.words):
        if re.fullmatch(r"[a-z_][\w.*/-]*", span) and not name_is_there(span, text.place):
            yield span


_ENGLISH = {"agree", "an", "commented", "ctrl", "significance", "that", "their", "them", "tune"}


def summary_faults(text: Text) -> Iterator[str]:
    """Yield words of a help's first sentence that no name of the program has."""
    if text.place.endswith(" --help") and text.place != "cosqa --help":
        first = re.split(r"(?<=\.)\s", text.words)[0].lower()
        known = words_of_names() | _ENGLISH
        yield from (w for w in re.findall("[a-z]+", first) if not {w, w.rstrip("s")} & known)


# Sentences on the packaged sample → what the run says.
def _support(*kinds: str) -> str:
    return str(sum(SAMPLE["support"].get(kind, 0) for kind in kinds))


_RUN, _DOUBTED = _support("valid_oracle"), _support("overruled")
_READ = _support("screened", "void_oracle")
_NONE, *_SOME = SAMPLE["queries_by_matches"]
_MATCHES = f"{SAMPLE['matches']}; {', '.join(map(str, [*_SOME, _NONE]))}"
_SCORES: dict[str, dict[str, float]] = SAMPLE["scores"]
_MRR = ", ".join(f"{_SCORES[name]['MRR']:.3f}"[1:] for name in ("bm25", "tf-idf", "minilm"))


def _usual(command: str, name: str) -> str:
    """Return what an option is where it is not given."""
    [option] = [each for each in EVERY[command].params if each.name == name]
    return str(option.default)


NUMBERS = {
    r"on pages, at http://127\.0\.0\.1:(\d+)": _usual("cosqa browse", "port"),
    r"their\s+first (\d+) without a\s+grade": _usual("cosqa repair", "pool"),
    r"in the UI at http://127\.0\.0\.1:(\d+)": _usual("cosqa server", "port"),
    r"rest on a run; on a run that an arbiter doubts; on reading \| (.+?) \|":
        f"{_RUN}; {_DOUBTED}; {_READ}",
    r"matches; queries with one[^|]*\| (.+?) \|": _MATCHES,
    r"MRR by BM25, TF-IDF, all-MiniLM-L6-v2[^|]*\| (.+?) \|": _MRR,
    r"([\d,]+) pairs of \d+ queries, by recorded": f"{SAMPLE['pairs']:,}",
    r"pairs of (\d+) queries, by recorded": str(SAMPLE["queries"]),
    r"packaged sample: (\d+) queries": str(SAMPLE["queries"]),
    r"scores (\d+) web-style queries": str(SAMPLE["queries"]),
    r"packaged sample[^.]*?([\d,]+)\s+functions": f"{SAMPLE['functions']:,}",
    r"sample, (\d+) queries": str(SAMPLE["scored_queries"]),
    r"embeds ([\d,]+) texts": f"{SAMPLE['queries'] + SAMPLE['functions']:,}",
    r"(\d+)\s+(?:behaviours of `cosqa sandbox check`|checks\b)": str(len(BEHAVIOURS)),
}  # fmt: skip
_SCORE_TABLE = re.compile(r"\| sample, [^|]*\|(.*)\|\n\| --.*\n((?:\|.*\n)+)")
_ROWS = {  # what a row without a method's name is of
    "bag of words": "bag-of-words", "TF-IDF": "tf-idf", "BM25": "bm25",
    "all-MiniLM-L6-v2, by which the candidates were found": "minilm",
}  # fmt: skip


def number_faults(text: Text) -> Iterator[str]:
    """Yield numbers that are not those of the run, and rows that a table of its scores lacks."""
    if text.place.endswith("README.md"):
        for pattern, right in NUMBERS.items():
            yield from (said for said in re.findall(pattern, text.words) if said != right)
        for header, rows in _SCORE_TABLE.findall(text.words):
            yield from _score_faults(cells(header), [cells(row) for row in rows.splitlines()])


_SETTING = re.compile(
    rf"COSQA_([A-Z]+)__([A-Z_]+)|(?<![\w./])({'|'.join(SECTIONS)})\.([a-z_]+)(?![\w/(])"
)
_DEFAULTS = {
    str(field.default) for model in SECTIONS.values() for field in model.model_fields.values()
}
_NUMBER = re.compile(r"(?<![\w.:-])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w:]|\.\d)")
_STATEMENT = re.compile(r"(?<=[.:;])\s+|\n\s*\n|\n(?=\|)|\n(?=- )")


def default_faults(text: Text) -> Iterator[str]:
    """Yield numbers beside a setting's name, in a sentence or row of a page, but its default.

    Likewise what is called the default, and is none of any setting.
    """
    if not text.place.endswith(".md") or text.place == "CHANGELOG.md":
        return
    yield from {*re.findall(r"`([\w-]+)` \(default\)", text.words)} - _DEFAULTS
    for statement in _STATEMENT.split(_BLOCK.sub("\n\n", text.words)):
        names = [span for _, span in _SPAN.findall(statement) if "=" not in span]
        named = [
            f"{upper or lower}.{variable or key}".lower()
            for name in names
            for upper, variable, lower, key in _SETTING.findall(name)
        ]
        right = {number for name in named for number in defaults_of(name)}
        said = _NUMBER.findall(_SPAN.sub("`", statement)) if named else []
        yield from (
            f"{named[0]}: {each}" for each in said if float(each.replace(",", "")) not in right
        )


def defaults_of(name: str) -> Iterator[float]:
    """Yield a setting's default where it is a number; of a source's option that of each source."""
    section, key = name.split(".")
    models: list[type[BaseModel]] = [SECTIONS[section]] if section in SECTIONS else []
    models += [sources.get(each).Options for each in sources] if section == "source" else []
    for model in models:
        default = model.model_fields[key].default if key in model.model_fields else None
        if isinstance(default, int | float):
            yield float(default)


_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "ten": 10, "twelve": 12,
    "fifteen": 15, "twenty": 20, "fifty": 50, "hundred": 100,
}  # fmt: skip
_LIMITER, _GOLD = "agents/llm/limiter.py", "tasks/stages/annotate/gold.py"
_TRANSFORMER, _FUNCTIONS = "tasks/encoders/_transformer.py", "tasks/corpus/functions.py"
# Statements of pages, in which # is a number → the module and constant that has it, divided.
CONSTANTS = {
    "# requests are sent at first": (_LIMITER, "_FIRST", 1),
    "at first, # times as many": (_LIMITER, "_FIRST_STEP", 1),
    "# times that before the first reply": (_LIMITER, "_FIRST_TIMES", 1),
    "a # times the mean of replies": (_LIMITER, "_TIMES", 1),
    "a reply may have # MB": ("agents/llm/reply.py", "_LONGEST_REPLY", 2**20),
    "at least # of the specification's hold": ("agents/committee/specified.py", "FEWEST_HELD", 1),
    "run asks # of them": (_GOLD, "ENOUGH", 1),
    "a known label: # are asked": (_GOLD, "ENOUGH", 1),
    "asks the model # packaged pairs": ("tasks/stages/check_model.py", "QUESTIONS", 1),
    "less than # MiB free": ("agents/llm/ledger.py", "_ROOM_MB", 1),
    "nothing is heard for # seconds": ("tasks/stages/annotate/ledger_actor.py", "_SILENT_S", 1),
    "shards of # or more": ("tasks/stages/annotate/shards.py", "_SHARD_PAIRS", 1),
    "after # days it fails": ("flows/runtime/approval.py", "_PATIENCE_S", 24 * 3600),
    "Fewer than # texts are embedded": ("tasks/stages/vectors.py", "_FEW", 1),
    "from its #th text on": (_TRANSFORMER, "_FEWEST_COMPILED", 1),
    "texts of more than # tokens": (_TRANSFORMER, "_LONGEST_COMPILED", 1),
    "files of more than # MB": (_FUNCTIONS, "_LARGEST", 10**6),
    "from # identifiers on": ("tasks/filters/near_duplicates.py", "FEWEST_IDENTIFIERS", 1),
    "# in the log and all in": ("tasks/stages/collect.py", "_MOST_NOTES", 1),
    "that change one to # functions": ("tasks/sources/commits.py", "_MOST_FUNCTIONS", 1),
    "fewer than # words or more": ("tasks/sources/commits.py", "_LEAST_WORDS", 1),
    "or more than # characters, and": ("tasks/sources/commits.py", "_LONGEST", 1),
    "fewer than # words, or": ("tasks/corpus/written.py", "_FEWEST", 1),
    "or over # characters": ("tasks/corpus/written.py", "_LONGEST", 1),
    "text of more than # characters the middle": (
        "tasks/stages/label/sheets.py", "_LONGEST_CELL", 1,
    ),
    "ranks # methods a question": ("tasks/suites/neural_code_search.py", "DEEPEST", 1),
    "# a query and language": ("tasks/suites/codesearchnet.py", "DEEPEST", 1),
    "more than # of the answer's features": ("tasks/corpus/aroma.py", "THRESHOLD", 1),
    "among its first # too": ("tasks/reports/circularity.py", "_POOL", 1),
    "at least # random pairs": ("tasks/reports/corrected.py", "MIN_SAMPLED", 1),
}  # fmt: skip


def constant_faults(text: Text) -> Iterator[str]:
    """Yield statements of a page whose number is not that of the program."""
    words = " ".join(text.words.split())
    for statement, (module, name, unit) in CONSTANTS.items() if is_page(text) else ():
        pattern = re.escape(statement).replace(r"\#", r"([\d.,]+|[A-Za-z]+)")
        for found in re.finditer(pattern, words):
            said = found[1].lower().replace(",", "")
            if said not in _WORDS and not re.fullmatch(r"[\d.]+", said):
                yield f"{found[0]}: no number"
            elif float(_WORDS.get(said, said)) != constants_of(module)[name] / unit:
                yield found[0]


@cache
def constants_of(module: str) -> dict[str, float]:
    """Return the numbers that a module gives names to."""
    found: dict[str, float] = {}
    for node in trees()[Path(module)].body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            pairs = zip(node.targets[0].elts, getattr(node.value, "elts", ()), strict=True)
        elif isinstance(node, ast.Assign):
            pairs = zip(node.targets, [node.value], strict=True)
        else:
            continue
        for target, value in pairs:
            if not any(isinstance(each, ast.Name | ast.Call) for each in ast.walk(value)):
                number = eval(ast.unparse(value), {})
                found[ast.unparse(target)] = number
    return found


def test_each_number_of_the_program_is_said_somewhere() -> None:
    said = " ".join(" ".join(text.words for text in texts() if is_page(text)).split())
    parts = {statement: statement.split("#") for statement in CONSTANTS}
    assert [each for each, (*_, last) in parts.items() if last not in said] == []


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("| ").split("|")]


def _score_faults(metrics: list[str], rows: list[list[str]]) -> Iterator[str]:
    named = {
        found[1] if (found := re.search("`(.+)`", name)) else _ROWS.get(name, name): scores
        for name, *scores in rows
    }
    yield from _SCORES.keys() ^ named.keys()
    for method in _SCORES.keys() & named.keys():
        right = [f"{_SCORES[method][metric]:.4f}".removeprefix("0") for metric in metrics]
        yield from (
            said for said, wanted in zip(named[method], right, strict=True) if said != wanted
        )


def table_faults(text: Text) -> Iterator[str]:
    """Yield commands, studies and methods of published tables that are not there."""
    if text.place == PUBLISHED:
        content = tomllib.loads(text.words)
        yield from {table["study"] for table in content["tables"]} - content["studies"].keys()
        for name, study in content["studies"].items():
            command = study.get("command", "cosqa study")
            yield from [] if command.rpartition("cosqa ")[2].startswith(_COMPUTING) else [command]
            yield from [] if name in studies or "command" in study else [name]
        methods = {*encoders, *retrievers, *models}
        for ours in content["names"].values():
            if ours.keys() & methods:
                yield from (name for name in ours.keys() - methods if ":" not in name)


def kape_faults(text: Text) -> Iterator[str]:
    """Yield tables that a help or docstring gives the study of KAPE, and its page has not."""
    if text.place == "cosqa study-kape --help":
        page = kape_document(KapeReport(generated_at="", studied=()))
        said = " ".join(text.words.split()).lower()
        yield from (each.title for each in page.sections if each.title.lower() not in said)
    if text.place.startswith("flows/") and "KAPE" in text.words:
        for first, last in re.findall(r"(?:Tables?|and|,) (\d+)(?: to (\d+))?", text.words):
            yield from {*map(str, range(int(first), int(last or first) + 1))} - _KAPE_TABLES
        yield from re.findall(r"Figures? \d+", text.words)


# Commands that print such tables: `collect`, for one, prints none.
_COMPUTING = ("label read", "label results", "study", "suite ")
_KAPE_TABLES = {
    str(number)
    for first, last in re.findall(
        r"\(Tables? (\d)(?: to (\d))?\)", (ROOT / "tasks/reports/kape.py").read_text("utf-8")
    )
    for number in range(int(first), int(last or first) + 1)
}

CHECKS: tuple[Callable[[Text], Iterator[str]], ...] = (
    command_faults, option_faults, setting_faults, file_faults, name_faults, summary_faults,
    number_faults, default_faults, constant_faults, table_faults, kape_faults,
)  # fmt: skip


def faults(text: Text) -> list[str]:
    """Return what a text says that is not so."""
    words = what_is_there_now(text.words) if text.place == "CHANGELOG.md" else text.words
    return [name for check in CHECKS for name in check(Text(text.place, words))]


def picture_faults(shown: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield questions and tasks on the pictures that are not there, and such that they lack."""
    titles = {field.title for _, field in fields_of(FORMS["annotate"]) if field.title}
    yield from titles ^ {*shown["form"]}
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "tasks/stages").rglob("*.py"))
    templates = re.findall(r'@stage\(\s*"[\w-]+",\s*"(.+?)"', source)
    patterns = [re.sub(r"\\{.*?\\}", ".+", re.escape(each)) for each in templates]
    patterns.append(r"[a-z-]+( \w+)?, \d\d [A-Z][a-z]+ \d\d:\d\d")  # a run's, see `run_name`
    for name in (*shown["graph"], *shown["run"]):
        if not any(re.fullmatch(pattern, name) for pattern in patterns):
            yield name


def test_what_is_said_is_so() -> None:
    wrong = {f"{text.place}: {name}" for text in texts() for name in faults(text)}
    assert not wrong, "\n".join(["said, and not so:", *sorted(wrong)])


# Withdrawn, while other things have these names: an option of `label sample`, what is refused,
# Prefect's work, a module, a word.
NAMES_OF_OTHERS = {"--pairs", "do_lower_case", "cosqa.*", "judge", "tested"}
_GONE = re.compile(r"((?:`[^`]+`[,:]?\s+(?:and\s+)?)+)(?:is|are)\s+(?:withdrawn|gone)")


def withdrawn(page: str) -> Iterator[str]:
    """Yield what the next release's changes call withdrawn."""
    for sentence in re.split(r"(?<=[.;])\s+", next_release(page)):
        is_list = sentence.startswith("- Withdrawn")
        listed = sentence if is_list else " ".join(_GONE.findall(sentence))
        yield from spans(re.sub(r"\(.*?\)", "", listed, flags=re.DOTALL))


def still_there(page: str) -> set[str]:
    return {each for each in withdrawn(page) if not faults(Text("README.md", f"`{each}`"))}


def test_what_is_withdrawn_is_not_there() -> None:
    page = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert still_there(page) == NAMES_OF_OTHERS
    put_back = page.replace(
        "`lower_case` is", "`lower_case`, `query_adapter` and `code_adapter` are"
    )
    assert still_there(put_back) == NAMES_OF_OTHERS | {"query_adapter", "code_adapter"}


def test_each_number_of_the_sample_is_said_somewhere() -> None:
    said = "\n".join(text.words for text in texts() if text.place.endswith("README.md"))
    assert [pattern for pattern in NUMBERS if not re.search(pattern, said)] == []
    assert _SCORE_TABLE.search(said)


def test_pictures_show_what_is_there_today() -> None:
    shown: dict[str, list[str]] = json.loads(SHOWN.read_text("utf-8"))
    assert [*picture_faults(shown)] == []
    assert {*shown} == {path.stem for path in SHOWN.parent.glob("*.png")}


_KAPE_PAGE = (
    "The page has tables of each encoder on each data set: what was found, data and truth, "
    "estimates by budget, estimates for similar and for different queries, number of neighbours "
    "and weightings, queries and their nearest training queries; and the paper's tables."
)
_ALL_FIGURES = (
    "Computes the tables and figures of the paper for each encoder on each data set, next to the "
    "published ones: estimates by budget, by number of neighbours and by weighting."
)
# Place, what is said there, and what was said and is not so → the word by which it is found.
WRONG = (
    ("README.md", f"| {_RUN}; {_DOUBTED}; {_READ} |", "| 140; 8; 52 |", "140; 8; 52"),
    ("tasks/benchmarks/README.md", "(`elasticsearch`)", "(`lucene-2`)", "elasticsearch"),
    ("agents/README.md", "`COSQA_ANNOTATION__IN_FLIGHT` (64)",
     "`COSQA_ANNOTATION__IN_FLIGHT` (256)", "annotation.in_flight: 256"),
    ("agents/README.md", "`spec` (default)", "`paper` (default)", "paper"),
    ("tasks/search/README.md", "`search.top_k` (20)", "`search.top_k` (5)", "search.top_k: 5"),
    ("agents/README.md", "Six requests are sent", "Four requests are sent",
     "Four requests are sent at first"),
    ("flows/README.md", "`annotation.seed`", "`--random-seed`", "--random-seed"),
    ("infra/store/schema.sql", "`infra.store.annotations`", "`infra.store.annotation_writer`",
     "infra.store.annotation_writer"),
    ("cosqa study-kape --help", _KAPE_PAGE, _ALL_FIGURES, "What was found"),
    ("flows/study.py", "what KAPE's Tables 1 to 7 hold,",
     "Tables 1 to 9 of KAPE", "9"),
    ("cosqa compare-annotators --help", "the agents, and", "the agents, a baseline, and",
     "baseline"),
    ("CHANGELOG.md", "`annotation.seed`, where", "`--random-seed`, where", "--random-seed"),
    ("CHANGELOG.md", "`--set source.annotations=annotationStore.csv`",
     "`--source-option annotations=annotationStore.csv`", "--source-option"),
    ("CHANGELOG.md", "`cosqa study-training`", "`cosqa study training`", "cosqa study training"),
    (PUBLISHED, "Lucene.bm25 =", "Lucene.bm26 =", "bm26"),
    (PUBLISHED, "cosqa label results SAMPLE", "cosqa suite agreement SHEETS",
     "cosqa suite agreement"),
    (PUBLISHED, "--source staqc, then cosqa study", "--source staqc",
     "cosqa collect --source staqc"),
)  # fmt: skip


@pytest.mark.parametrize(("place", "right", "wrong", "found"), WRONG)
def test_what_was_said_and_is_not_so_is_found(
    place: str, right: str, wrong: str, found: str
) -> None:
    said = [text.words for text in texts() if text.place == place and right in text.words]
    assert said
    for words in said:
        assert found not in faults(Text(place, words))
        assert found in faults(Text(place, words.replace(right, wrong)))


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("`cosqa store prune` empties it", "cosqa store prune"),
        ("`cosqa benchmark sample` takes it", "cosqa benchmark sample"),
        ("`cosqa collect --method bm25` scores", "--method"),
        ("as by `label write`", "cosqa label write"),
        ("`annotators compare` draws pairs", "annotators compare"),
        ("`cosqa list judges` has them", "judges"),
        ("`cosqa leaderboard --metric NDGC@10`", "NDGC"),
        ("`cosqa leaderboard --method bm25+minilm-l12`", "minilm-l12"),
        ("`cosqa collect --source stack-overflow --path Posts.xml`", "stack-overflow"),
        ("`cosqa train --base tree-lstm --data FOLDER`", "tree-lstm"),
        ("`cosqa collect --set source.filters=testable,short`", "short"),
        ("`cosqa annotate --set annotation.rounds=0`", "annotation.rounds=0"),
        ("`COSQA_SEARCH__FUSION=maximum cosqa collect`", "search.fusion=maximum"),
        ("COSQA_LLM__BUDGET bounds it", "COSQA_LLM__BUDGET"),
        ("what llm.budget leaves", "llm.budget"),
        ("with --budget alone", "--budget"),
        ("`python -m tests.chaos --rounds 3`", "--rounds"),
        ("`bench_search --times 3`", "--times"),
        ("`make docs`", "docs"),
        ("`python -m tests.bench.bench_nothing`", "tests.bench.bench_nothing"),
        ("infra/deploy/compose.yml starts it", "infra/deploy/compose.yml"),
        ("`infra.store.labels.no_such_name` does", "infra.store.labels.no_such_name"),
        ("the encoder `all-minilm-l3`", "all-minilm-l3"),
        ("`sandbox.memory_mb` (1,024) bounds it", "sandbox.memory_mb: 1,024"),
        ("- at most `COSQA_LLM__MAX_RETRIES` (5)", "llm.max_retries: 5"),
        ("| name |\n| `gates.min_mutation_score` | .4 of them |", "gates.min_mutation_score: .4"),
        ("`source.documentation_queries`, 250 in each", "source.documentation_queries: 250"),
        ("and writes `statistics.html`", "statistics.html"),
    ],
)
def test_what_is_not_there_is_found_in_any_page(sentence: str, found: str) -> None:
    assert found in faults(Text("flows/README.md", sentence))


@pytest.mark.parametrize(
    ("picture", "name"),
    [
        ("form", "Distribution"),
        (
            "run",
            "annotate 22 of 22 pending pairs of jsonl: new queries 6, new codes 1, outdated 15",
        ),
        (
            "graph",
            "annotate-pairs / judge pairs of python-source by embedded/smollm2-135m-instruct",
        ),
    ],
)
def test_a_picture_of_a_former_program_is_found(picture: str, name: str) -> None:
    shown: dict[str, list[str]] = json.loads(SHOWN.read_text("utf-8"))
    assert [*picture_faults(shown | {picture: [*shown[picture], name]})] == [name]
