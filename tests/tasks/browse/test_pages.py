"""Laws of the pages: they show what the store has, filters leave what they say, texts run nothing.

As a folder every link leads to a file of it.

Covers `tasks.browse.opened`, `tasks.browse.app`.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from infra.errors import PublishError, SettingsError
from infra.identity import RecipeId
from infra.settings import StoreSettings
from infra.store import annotations, open_database
from infra.store.browsing import FACETS, empty_snapshot, index_exported
from tasks.benchmarks import columns_of, write_benchmark
from tasks.benchmarks.rows import EVIDENCE
from tasks.browse.guard import HEADERS
from tasks.browse.opened import TABLES, ExportSnapshot, StoreSnapshots
from tasks.browse.pages import write_bundle
from tests.fakes.benchmarks import agents_benchmark
from tests.fakes.browsing import HOSTILE, client_of, judged, judged_store, pairs_of
from tests.fakes.stores import whole_store

_TAG = re.compile(r"<[^>]*>")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Open a browser on a store with all that one has, which no test changes."""
    with client_of(whole_store(tmp_path_factory.mktemp("browsed") / "store")) as opened:
        yield opened


def text_of(page: str) -> str:
    return html.unescape(_TAG.sub("", page))


def _keys(link: str) -> list[str]:
    return re.findall(r"[?&](\w+)=", link)


def links(page: str, name: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(rf'href="(/{name}\?[^"]+)"', page)]


def test_a_list_leads_to_each_pair_with_its_judgement_and_to_its_query(client: TestClient) -> None:
    listed = client.get("/pairs").text
    assert "7 pairs" in text_of(listed)
    assert len(set(links(listed, "pair"))) == 7
    shown = [text_of(client.get(link).text) for link in links(listed, "pair")]
    tested = next(text for text in shown if "sum_of_squares" in text)
    for told in ("Verdict: 1", "Test runs", "Model calls", "def sum_of_squares"):
        assert told in tested
    assert any("No agent has judged this pair" in text for text in shown)
    query = text_of(client.get(links(listed, "query")[0]).text)
    assert "2 candidates" in query


@pytest.mark.parametrize("facet", FACETS)
def test_each_value_of_a_filter_leaves_as_many_pairs_as_it_says(
    client: TestClient, facet: str
) -> None:
    page = client.get("/pairs").text
    choice = re.search(rf'<select name="{facet}">(.*?)</select>', page, re.DOTALL)
    values = re.findall(r'value="([^"]+)"[^>]*>[^<]*\(([\d,]+)\)', choice[1]) if choice else []
    for value, number in values:
        left = client.get("/pairs", params={facet: html.unescape(value)}).text
        assert re.search(rf"\b{number} pairs?<", left), (facet, value)
    assert bool(values) == (facet in ("status", "label", "support", "path", "model", "recipe"))


def test_texts_of_query_and_code_are_filters_whatever_their_capitals(client: TestClient) -> None:
    assert "1 pair<" in client.get("/pairs", params={"code": "DEF sum_of"}).text
    assert "2 pairs<" in client.get("/pairs", params={"query": "Reverse THE"}).text
    assert "No pair is left" in client.get("/pairs", params={"query": "100%_"}).text


def test_pages_of_fifty_have_each_pair_once_in_each_order(tmp_path: Path) -> None:
    texts = tuple(f"query number {n:03}" for n in range(120))
    client = client_of(judged_store(tmp_path / "store", texts))
    for sort in ("query", "slowest", "dearest"):
        seen: list[str] = []
        sizes: list[int] = []
        address = f"/pairs?sort={sort}"
        while address:
            page = client.get(address).text
            here = list(dict.fromkeys(links(page, "pair")))
            seen, sizes = seen + here, [*sizes, len(here)]
            found = re.search(r'rel="next" href="([^"]+)"', page)
            address = html.unescape(found[1]) if found else ""
        assert sizes == [50, 50, 20]
        assert len(set(seen)) == 120


def test_a_pair_shows_tests_mutants_cost_and_what_former_recipes_said(tmp_path: Path) -> None:
    database = judged_store(tmp_path / "store", ("reverse a list",))
    [pair] = pairs_of(("reverse a list",))
    other = judged(pair, RecipeId("s" * 20), "another reason", label=0)
    annotations.add_annotations(database, [other])
    client = client_of(database)
    listed = client.get("/pairs").text
    assert "recipes differ" in text_of(listed)
    text = text_of(client.get(links(listed, "pair")[0]).text)
    for told in ("Verdict: 0", "By former settings: 1", "another reason", "$0.002",
                 "reverse a list → z", "survived"):  # fmt: skip
        assert told in text, told


def test_methods_lead_to_their_queries_alone_and_against_another(client: TestClient) -> None:
    methods = client.get("/methods").text
    one = links(methods, "method")[0]
    page = client.get(one).text
    assert "Best queries" in page
    assert "Worst queries" in page
    assert client.get(f"{one}&other=nothing").status_code == 200
    assert client.get("/method?benchmark=x&metric=y&method=z").status_code == 404


def test_a_pair_leads_to_the_next_one_and_back(client: TestClient) -> None:
    listed = list(dict.fromkeys(links(client.get("/pairs").text, "pair")))
    for place, link in enumerate(listed):
        steps = re.findall(r'rel="(prev|next)" href="([^"]+)"', client.get(link).text)
        wanted = {"prev": listed[place - 1]} if place else {}
        wanted |= {"next": listed[place + 1]} if place + 1 < len(listed) else {}
        assert {way: html.unescape(to) for way, to in steps} == wanted


def test_what_the_labels_say_is_drawn_and_counted(client: TestClient, tmp_path: Path) -> None:
    page = client.get("/figures").text
    assert page.count("<figure") == page.count("<svg") == 3
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in page.split("<tr>")]
    assert ["1", "2"] in rows, "two queries have one match"
    assert "by reading" in page
    assert "screened" not in page
    empty = client_of(open_database(StoreSettings(folder=tmp_path / "empty")))
    assert "No pair has a label yet" in empty.get("/figures").text


def test_the_words_are_explained(client: TestClient) -> None:
    assert 'href="/words"' in client.get("/pairs").text
    assert "arbiter against the run" in client.get("/words").text


def test_pairs_are_found_by_a_text_of_their_code(client: TestClient) -> None:
    assert "No pair is left" in client.get("/pairs?code=nothing").text
    assert "1 pair<" in client.get("/pairs?code=sum_of").text


def test_hostile_texts_are_shown_and_nothing_of_them_is_obeyed(tmp_path: Path) -> None:
    client = client_of(judged_store(tmp_path / "store", HOSTILE))
    listed = client.get("/pairs").text
    pages = [listed]
    for link in dict.fromkeys([*links(listed, "pair"), *links(listed, "query")]):
        answer = client.get(link)
        assert answer.status_code == 200
        pages.append(answer.text)
    assert len(pages) == 1 + 2 * len(HOSTILE)
    for page in pages:
        assert len(page) < 300_000  # a line of a megabyte is shown in part
        assert page.count("<script") == 1  # the pages' own file
        assert "<img" not in page
        assert "49" not in re.findall(r"<h1>.*?</h1>", page)
        assert not re.search("[\x00\x1b\u202a-\u202e\u2066-\u2069\u200b]", page)
    assert "⟨U+202E⟩" in "".join(pages)
    assert "⟨U+001B⟩[31m" in "".join(pages)


@pytest.mark.parametrize(
    "address",
    ["/pair?query=a&code=b", "/query?query=x%00", "/pair", "/nothing", "/method",
     "/pair?query=%ff%fe&code=%ed%a0%80"],
)  # fmt: skip
def test_what_is_not_there_says_so(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert "Not here" in answer.text


@pytest.fixture(scope="module")
def two_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Open a browser on a list of two pages, which lead on."""
    texts = tuple(f"query number {n:03}" for n in range(51))
    with client_of(judged_store(tmp_path_factory.mktemp("browsed") / "store", texts)) as opened:
        yield opened


@pytest.mark.parametrize(
    "query",
    ["after=1e999,x", "after=nan,1", "after=inf,99999999999999999999", "after=1," + "9" * 39,
     "after=1,-" + "9" * 26, "after=-inf,9223372036854775808", "after=1,1&after=,", "sort=x",
     "label='--", "query=%00", "code=%ff", "status=" + "x" * 10_000, "page=1", "self=1", "=",
     "a%20b=%ed%a0%80"],
)  # fmt: skip
def test_any_filter_has_an_answer(two_pages: TestClient, query: str) -> None:
    assert two_pages.get(f"/pairs?{query}").status_code == 200


_ODD = ("", "-1", "1e999", "nan", "9" * 40, "%00", "%ff%ed%a0%80", "x" * 50_000, "{{7*7}}")


@pytest.mark.parametrize("page", ["pair", "query", "method", "label", "sample", "item"])
def test_no_value_of_a_parameter_is_an_error_of_the_server(client: TestClient, page: str) -> None:
    names = {name for link in links(client.get(f"/{page}s").text, page) for name in [*_keys(link)]}
    for name in {*names, "query", "code", "sample", "position", "page"}:
        for value in (*_ODD, f"x&{name}=x"):
            answer = client.get(f"/{page}?{name}={value}")
            assert answer.status_code in (200, 400, 404), (name, value[:20])


def test_every_answer_has_the_headers_that_keep_strangers_out(client: TestClient) -> None:
    for address in ("/", "/pairs", "/nothing", "/style.css", "/script.js"):
        answer = client.get(address)
        assert (
            HEADERS.items()
            <= dict(answer.headers.items())
            | {name: answer.headers[name] for name in HEADERS}.items()
        )
    assert " style=" not in client.get("/pairs").text


def test_a_store_that_changes_is_shown_as_it_is_a_little_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.browse.opened._PAUSE_S", 0.0)
    monkeypatch.setattr("tasks.browse.opened._SHARE", 0)
    database = judged_store(tmp_path / "store", ("one query",))
    copies = StoreSnapshots(database.settings)
    client = client_of(copies)
    assert "1 pair<" in client.get("/pairs").text
    judged_store(tmp_path / "store", ("one query", "another query"))
    with copies._turn:  # a copy is being taken: pages answer from the former one
        assert "1 pair<" in client.get("/pairs").text
    client.get("/pairs")
    with copies._turn:
        pass
    assert "2 pairs<" in client.get("/pairs").text


def test_pages_answer_while_a_writer_holds_the_store(tmp_path: Path) -> None:
    database = judged_store(tmp_path / "store", ("one query",))
    client = client_of(database)
    with database.transaction() as tx:
        tx.execute("DELETE FROM annotations")
        assert "1 pair<" in client.get("/pairs").text


def test_a_copy_leaves_no_file(tmp_path: Path) -> None:
    database = judged_store(tmp_path / "store", ("one query",))
    before = sorted(path.name for path in database.settings.folder.iterdir())
    client_of(database).get("/pairs")
    assert sorted(path.name for path in database.settings.folder.iterdir()) == before


def test_an_exported_folder_is_shown_with_its_evidence(tmp_path: Path) -> None:
    benchmark = agents_benchmark()
    write_benchmark(benchmark, tmp_path / "export", include_undecided=True)
    client = client_of(ExportSnapshot(tmp_path / "export"))
    listed = client.get("/pairs").text
    assert "3 pairs" in text_of(listed)
    assert ">undecided</span>" in listed
    assert ">Label</a>" not in listed
    [evidence] = benchmark.evidence
    shown = client.get(f"/pair?query={evidence.query_id}&code={evidence.code_id}").text
    assert evidence.executions[0].program.splitlines()[0] in text_of(shown)


def test_evidence_that_no_store_could_hold_is_refused(tmp_path: Path) -> None:
    [evidence] = agents_benchmark().evidence
    batch = pa.RecordBatch.from_pylist(
        [evidence.model_dump(exclude={"executions"}) | {"executions": [], "status": "odd"}],
        schema=EVIDENCE,
    )
    columns = columns_of(agents_benchmark())
    tables = {name: getattr(columns, name).table for name in TABLES}
    with pytest.raises(PublishError, match=r"cannot be shown: .*CHECK"):
        index_exported(empty_snapshot(tmp_path), "n", tables, {}, [batch])


def test_a_folder_in_beirs_form_is_shown(tmp_path: Path) -> None:
    write_benchmark(agents_benchmark(), tmp_path / "export")
    beir = next(path.parent for path in (tmp_path / "export").rglob("corpus.jsonl"))
    client = client_of(ExportSnapshot(beir))
    assert "pairs<" in client.get("/pairs").text


def test_what_is_no_export_or_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match="no exported folder"):
        ExportSnapshot(tmp_path)
    write_benchmark(agents_benchmark(), tmp_path / "export")
    file = tmp_path / "export" / "codes.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000, pa.int32()), ["x" * 100_000])
    pq.write_table(pa.table({"text": texts.cast(pa.string())}), file)
    assert file.stat().st_size < 1_000_000
    monkeypatch.setattr("tasks.browse.opened._MOST_MB", 50)
    with pytest.raises(PublishError, match="unpacked: not read"):
        ExportSnapshot(tmp_path / "export")


def test_every_link_leads_to_a_file_and_every_pair_has_one(tmp_path: Path) -> None:
    snapshot = StoreSnapshots(whole_store(tmp_path / "store").settings).current()
    number = write_bundle(snapshot, tmp_path / "pages")
    pages = list((tmp_path / "pages").glob("*.html"))
    assert len(pages) == number
    for page in pages:
        text = page.read_text("utf-8")
        assert "<form" not in text
        for link in re.findall(r'(?:href|src)="([^"#]+)"', text):
            assert link == "data:," or (page.parent / html.unescape(link)).is_file(), link
    assert len(list((tmp_path / "pages").glob("pair-*.html"))) == 7


def test_pages_are_written_anew_and_other_files_are_left_alone(tmp_path: Path) -> None:
    snapshot = StoreSnapshots(judged_store(tmp_path / "store", HOSTILE[:3]).settings).current()
    folder = tmp_path / "pages"
    assert write_bundle(snapshot, folder) == write_bundle(snapshot, folder)
    (folder / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(PublishError, match=r"notes\.txt"):
        write_bundle(snapshot, folder)
