"""Pages of a snapshot and their HTML: pairs, a pair, a query with candidates, methods, queries.

A page's parameters come from its address, so that they may be anything. Templates make HTML of it,
and escape all text: on a server, or as a static folder. In the folder each page that another one
leads to is written once, from the list of all pairs on; there are no forms, so that lists come by
one filter each.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from jinja2 import Environment

import tasks.reports
from infra.errors import CosqaError
from infra.identity import BenchmarkId, CodeId, PairKey, QueryId, mark_of
from infra.store import annotations
from infra.store.browsing import (
    FACETS,
    SORTS,
    ListedPair,
    Order,
    Scored,
    Snapshot,
    Wanted,
    facet_values,
    find_pair,
    find_pairs,
    label_shape,
    pairs_beside,
    pairs_of_query,
    people_on,
    recipes_of_pair,
    scored_methods,
    scores_of_queries,
)
from infra.store.corpus import functions_of, texts_of
from tasks.benchmarks.writer import atomic_folder
from tasks.reports.evidence import code_facts, judgement_blocks
from tasks.reports.figures import Dot, dots_figure
from tasks.reports.labels import shape_figures
from tasks.reports.render import environment
from tasks.reports.text import format_cost, format_duration, format_words, visible
from tasks.stages.specifications import specified_part
from tasks.statistics.intervals import Interval

Parameters = Mapping[str, str]
_FILTERS = ("query", "code", *FACETS, "sort")
_MOST_RECIPES = 10  # of a pair's history, with all evidence
_MOST_PAIRS = 1 << 62  # a number beyond it is none that the database could compare
_HERE = Path(__file__).parent
_LINE = 200
_FIRST = "pairs"

Link = Callable[..., str]  # a page's name and its parameters → its address


class NoSuchPageError(CosqaError):
    """An address names nothing that is there."""


@dataclass(frozen=True)
class Page:
    """A template's name and what it shows."""

    template: str
    shown: Mapping[str, Any]


def pairs_page(snapshot: Snapshot, asked: Parameters) -> Page:
    """Return the list of pairs that filters leave, fifty a page."""
    wanted = Wanted(
        facets={facet: asked[facet] for facet in FACETS if asked.get(facet)},
        query=asked.get("query", "").strip(),
        code=asked.get("code", "").strip(),
        sort=asked["sort"] if asked.get("sort") in SORTS else "query",
        after=_place(asked.get("after", "")),
    )
    listed = find_pairs(snapshot, wanted)
    kept = {name: asked[name] for name in _FILTERS if asked.get(name)}
    last = listed.pairs[-1] if listed.more else None
    return Page(
        "pairs",
        {
            "listed": listed,
            "wanted": wanted,
            "facets": facet_values(snapshot),
            "sorts": tuple(SORTS),
            "kept": kept,
            "further": last and kept | {"after": f"{last.place!r},{last.number}"},
        },
    )


def _place(text: str) -> tuple[float, int] | None:
    place, _, number = text.partition(",")
    try:
        found = float(place), int(number)
    except ValueError:
        return None
    return found if abs(found[1]) < _MOST_PAIRS else None


def pair_page(snapshot: Snapshot, asked: Parameters, labelled: Collection[str] = ()) -> Page:
    """Return a pair with all that is known of it, by each recipe that judged it.

    ``labelled`` has the samples that the reader has labelled.
    """
    key = PairKey(QueryId(asked.get("query", "")), CodeId(asked.get("code", "")))
    pair = find_pair(snapshot, key)
    if not pair:
        raise NoSuchPageError(f"no pair has query {key.query_id} and code {key.code_id}")
    history = evidence_of(snapshot, pair)
    return Page(
        "pair",
        {
            "pair": pair,
            "texts": texts_of(snapshot, pair.key),
            "facts": [code_facts(functions_of(snapshot, pair.code_id))],
            "beside": pairs_beside(snapshot, pair),
            "people": people_on(snapshot, pair.key, labelled),
            "history": history,
        },
    )


def evidence_of(snapshot: Snapshot, pair: ListedPair) -> list[dict[str, Any]]:
    """Return each recipe's judgement of a pair, that of its label first, then the newest."""
    found = []
    ids = recipes_of_pair(snapshot, pair.key)
    for recipe_id in sorted(ids[:_MOST_RECIPES], key=lambda recipe: recipe != pair.recipe):
        for one in annotations.load_annotations(snapshot, recipe_id, [pair.key]):
            model = annotations.model_of(annotations.load_recipes(snapshot).get(recipe_id, {}))
            blocks = [*judgement_blocks(one, specified_part(one))]
            found.append({"one": one, "model": model, "blocks": blocks})
    return found


def query_page(snapshot: Snapshot, asked: Parameters) -> Page:
    """Return a query with its candidates side by side."""
    pairs = pairs_of_query(snapshot, QueryId(asked.get("query", "")))
    if not pairs:
        raise NoSuchPageError(f"no query {asked.get('query', '')} has a candidate")
    texts = texts_of(snapshot, [name for pair in pairs for name in pair.key])
    return Page("query", {"pairs": pairs, "texts": texts})


def methods_page(snapshot: Snapshot, asked: Parameters) -> Page:  # noqa: ARG001 - a page's
    """Return all methods with their mean scores, by benchmark and metric."""
    tables: dict[tuple[str, str], list[Scored]] = {}
    dots: dict[tuple[str, str], list[Dot]] = {}
    for one in scored_methods(snapshot):
        place = one.benchmark, one.metric
        interval = None
        if one.half is not None:
            ends = max(0.0, one.mean - one.half), min(1.0, one.mean + one.half)
            interval = Interval(one.mean, *ends)
        tables.setdefault(place, []).append(one)
        dots.setdefault(place, []).append(Dot(one.method, one.mean, interval))
    drawn = {place: dots_figure(place[1], found) for place, found in dots.items()}
    return Page("methods", {"tables": tables, "drawn": drawn})


def figures_page(snapshot: Snapshot, asked: Parameters) -> Page:  # noqa: ARG001 - a page's
    """Return the figures of the labels of all pairs."""
    return Page("figures", {"figures": [*shape_figures(label_shape(snapshot))]})


def words_page(snapshot: Snapshot, asked: Parameters) -> Page:  # noqa: ARG001 - a page's
    """Return the table of words."""
    return Page("words", {})


def method_page(snapshot: Snapshot, asked: Parameters) -> Page:
    """Return a method's best and worst queries, alone or compared with another method."""
    benchmark, metric = BenchmarkId(asked.get("benchmark", "")), asked.get("metric", "")
    of_metric = [
        each
        for each in scored_methods(snapshot)
        if each.benchmark_id == benchmark and each.metric == metric
    ]
    by_key = {each.method_key: each for each in of_metric}
    method, other = (by_key.get(asked.get(name, "")) for name in ("method", "other"))
    if method is None:
        raise NoSuchPageError("no such method is scored on that benchmark by that metric")
    keys = (method.method_key, other.method_key if other else "")
    orders: tuple[Order, ...] = get_args(Order)
    lists = {order: scores_of_queries(snapshot, benchmark, metric, keys, order) for order in orders}
    return Page("method", {"method": method, "other": other, "others": of_metric, "lists": lists})


PAGES: Mapping[str, Callable[[Snapshot, Parameters], Page]] = {
    "pairs": pairs_page,
    "pair": pair_page,
    "query": query_page,
    "methods": methods_page,
    "method": method_page,
    "figures": figures_page,
    "words": words_page,
}


def html_of(page: Page, snapshot: Snapshot, link: Link, **more: Any) -> str:  # noqa: ANN401
    """Return a page, whose template knows ``more`` too, such as who labels."""
    template = _environment().get_template(f"{page.template}.html.jinja")
    known = {"live": False, "labels": False, "csrf": "", **more}
    return template.render(page.shown, snapshot=snapshot, link=link, page=page.template, **known)


@cache
def static_files() -> dict[str, bytes]:
    """Return name → content of style sheet and script, which pages load from beside them."""
    base = Path(tasks.reports.__file__).with_name("page.css")
    own = _HERE / "static"
    return {
        "style.css": base.read_bytes() + (own / "browse.css").read_bytes(),
        "script.js": (own / "browse.js").read_bytes(),
    }


@cache
def _environment() -> Environment:
    made = environment(_HERE / "templates")
    made.filters |= {
        "line": lambda text: visible(" ".join(str(text).split()), _LINE),
        "words": lambda text: format_words(visible(str(text), _LINE)),
        "money": lambda amount: "" if amount is None else format_cost(amount),
        "duration": lambda seconds: "" if seconds is None else format_duration(seconds),
    }
    return made


def write_bundle(snapshot: Snapshot, folder: Path) -> int:
    """Write all pages into a folder, in place of those of an earlier time; return their number.

    Raises:
        PublishError: The folder has other files.
    """
    known: dict[str, tuple[str, dict[str, str]]] = {}
    waiting: deque[str] = deque()

    def link(page: str, **parameters: object) -> str:
        given = {name: str(value) for name, value in parameters.items() if value not in ("", None)}
        name = f"{page}-{mark_of(given)}.html" if given else f"{page}.html"
        name = "index.html" if name == f"{_FIRST}.html" else name
        if name not in known:
            known[name] = (page, given)
            waiting.append(name)
        return name

    with atomic_folder(folder, _own) as partial:
        for name, content in static_files().items():
            (partial / name).write_bytes(content)
        link(_FIRST)
        while waiting:
            name = waiting.popleft()
            page, given = known[name]
            html = html_of(PAGES[page](snapshot, given), snapshot, link)
            (partial / name).write_text(html, encoding="utf-8")
    return len(known)


def _own(folder: Path) -> set[str]:
    """Return the files of a folder that an earlier bundle may have written."""
    pages = {file.name for name in PAGES for file in folder.glob(f"{name}*.html")}
    return {"index.html", *static_files(), *pages}
