"""Laws of labelling on the pages: blind first, both votes kept, nothing of others, nothing lost.

Covers `tasks.browse.labelling`, `tasks.browse.holders`.
"""

import html
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from infra.errors import StoreLockedError
from infra.records import ExecutionResult, GivenVote
from infra.settings import SandboxSettings
from infra.store import Database, samples
from infra.store.samples import Sample, SampleItem
from infra.store.votes import load_votes
from tasks.browse.app import browse_app
from tasks.browse.guard import Guard
from tasks.browse.labelling import Labelling
from tasks.browse.opened import StoreSnapshots
from tasks.stages.label.results import label_results
from tasks.stages.label.sheets import read_sheets
from tests.fakes.browsing import ADDRESS, HOSTILE, PORT, client_of, judged_store, pairs_of
from tests.tasks.stages.label.world import filled

TEXTS = ("reverse a list", "sum of squares", "first word of a sentence")


def sample_of(database: Database, texts: tuple[str, ...], **told: Any) -> Sample:
    """Return a stored sample of the pairs of these texts."""
    items = tuple(
        SampleItem(query_id=pair.query.query_id, code_id=pair.code.code_id, position=n)
        for n, pair in enumerate(pairs_of(texts), start=1)
    )  # fmt: skip
    sample = Sample(collection="", items=items, **told)
    samples.add_sample(database, sample)
    return sample


class Person:
    """A browser of its own, in which somebody labels."""

    def __init__(self, app: Any, sample: Sample, name: str) -> None:
        self.client = TestClient(app, base_url=ADDRESS)
        self.sample, self.name = sample, name
        self.page = self.client.get(f"/sample?sample={sample.sample_id}").text

    def send(self, action: str, **fields: object) -> Any:
        token = re.search(r'name="csrf" value="(\w+)"', self.page)
        form = {"csrf": token[1] if token else "", "sample": self.sample.sample_id, **fields}
        answer = self.client.post(f"/{action}", data=form, headers={"Origin": ADDRESS})
        self.page = answer.text if answer.status_code != 403 else self.page
        return answer

    def begin(self, **fields: object) -> Any:
        return self.send("begin", annotator=self.name, **fields)

    def vote(self, grade: str, **fields: object) -> Any:
        position = re.search(r'name="position" value="(\d+)"', self.page)
        assert position, self.page
        return self.send("vote", position=position[1], grade=grade, **fields)

    def label_all(self, grades: dict[str, str]) -> None:
        """Label all items blind, each by what its query says."""
        while "evidence unlocked" not in self.page:
            query = re.search(r"<h1><bdi>(.*?)</bdi>", self.page, re.DOTALL)
            assert query, self.page
            self.vote(grades[html.unescape(query[1])])


def begun(app: Any, sample: Sample, *names: str) -> list[Person]:
    """Return people who have begun to label a sample."""
    people = [Person(app, sample, name) for name in names]
    assert [person.begin().status_code for person in people] == [200] * len(people)
    return people


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return judged_store(tmp_path / "store", TEXTS)


@pytest.fixture
def sample(database: Database) -> Sample:
    return sample_of(database, TEXTS)


def app_of(database: Database) -> Any:
    labelling = Labelling(database, SandboxSettings())
    return browse_app(StoreSnapshots(database.settings), Guard("127.0.0.1", PORT), labelling)


def test_a_vote_is_stored_when_the_page_says_so_with_all_that_was_entered(
    database: Database, sample: Sample
) -> None:
    ann = Person(app_of(database), sample, "Ann")
    assert ann.begin().status_code == 200
    assert "item 1 of 3 · 0 labelled" in ann.page
    ann.vote("1", note="a\r\nnote", is_ambiguity="on", program="from target import f")
    assert "item 2 of 3 · 1 labelled" in ann.page
    [vote] = load_votes(database, sample.origin)
    assert (vote.annotator, vote.phase, vote.relevance) == ("Ann", "blind", 1.0)
    assert (vote.note, vote.notes, vote.program) == (
        "a\nnote",
        ("ambiguity",),
        "from target import f",
    )
    assert vote.minutes is not None
    assert vote.execution is None
    ann.vote("undecided")
    assert load_votes(database, sample.origin)[1].relevance is None


def test_evidence_is_unlocked_when_all_is_labelled_and_both_votes_are_kept(
    database: Database, sample: Sample
) -> None:
    [ann] = begun(app_of(database), sample, "Ann")
    for _ in TEXTS:
        assert "Test runs" not in ann.page
        for page in ("/pairs", "/methods", "/query?query=x"):  # nor on any other page
            assert "You label a sample blind" in ann.client.get(page).text
        ann.vote("1")
    assert "evidence unlocked" in ann.page
    assert "Test runs" in ann.page
    assert ann.client.get("/pairs").status_code == 200
    ann.vote("0", note="the test shows it")
    votes = load_votes(database, sample.origin)
    assert [vote.phase for vote in votes] == ["blind"] * 3 + ["revised"]
    assert votes[3].relevance == 0.0
    assert {vote.relevance for vote in votes[:3]} == {1.0}


def test_agreement_is_shown_when_two_are_done_and_a_third_gets_the_conflicts(
    database: Database, sample: Sample
) -> None:
    app = app_of(database)
    ann, ben = begun(app, sample, "Ann", "Ben")
    ann.label_all(dict(zip(TEXTS, "110", strict=True)))
    assert "alpha" not in ben.client.get(f"/sample?sample={sample.sample_id}").text
    ben.label_all(dict(zip(TEXTS, "100", strict=True)))
    page = ben.client.get(f"/sample?sample={sample.sample_id}").text
    # Of 6 ratings 3 are 1; D_o = 2/6 of pairs differ, D_e = 2·3·3/(6·5): alpha = 1 - (1/3)/(3/5).
    assert f'id="alpha">{1 - (1 / 3) / (3 / 5):.3f}<' in page
    cat = Person(app, sample, "Cat")
    assert "only the 1 on which the others disagree" in cat.page
    cat.begin(conflicts="on")
    assert "item 1 of 1" in cat.page
    assert TEXTS[1] in cat.page


def test_a_pair_shows_peoples_votes_when_all_who_label_it_are_done(
    database: Database, sample: Sample
) -> None:
    app = app_of(database)
    people = [Person(app, sample, name) for name in ("Ann", "Ben")]
    for person in people:
        person.begin()
    for person in people:
        while "evidence unlocked" not in person.page:
            person.vote("1", note=f"said by {person.name}")
    key = pairs_of(TEXTS)[0].key
    shown = client_of(database).get(f"/pair?query={key.query_id}&code={key.code_id}").text
    assert "said by Ann" in shown
    assert "said by Ben" in shown
    samples.assign(database, sample, "Cat")
    shown = client_of(database).get(f"/pair?query={key.query_id}&code={key.code_id}").text
    assert "said by" not in shown


def test_a_sample_that_was_drawn_since_the_copy_can_be_labelled(database: Database) -> None:
    app = app_of(database)
    sample = sample_of(database, TEXTS)
    ann = Person(app, sample, "Ann")
    assert "item 1 of 3" in ann.begin().text
    assert "evidence unlocked" not in ann.vote("1").text
    assert ann.client.get("/sample?sample=none").status_code == 400


def test_nobody_reads_another_before_both_are_done(database: Database, sample: Sample) -> None:
    app = app_of(database)
    ann, ben = begun(app, sample, "Ann", "Ben")
    ann.vote("1", note="Ann's secret note")
    for person in (ben, Person(app, sample, "Ann")):
        for page in (f"/item?sample={sample.sample_id}", f"/sample?sample={sample.sample_id}",
                     "/label", "/pairs"):  # fmt: skip
            assert "secret note" not in person.client.get(page).text
    other = Person(app, sample, "Ann").begin()  # another browser under a name that is taken
    assert other.status_code == 400
    assert "in another browser" in html.unescape(other.text)


def test_a_name_is_one_browsers_in_each_of_its_samples(database: Database) -> None:
    app, drawn = app_of(database), [sample_of(database, TEXTS, seed=seed) for seed in range(3)]
    first = Person(app, drawn[0], "Carla")
    for sample in drawn:
        first.sample = sample
        assert first.begin().status_code == 200
    for sample in drawn:
        other = Person(app, sample, " Carla ")
        assert other.begin().status_code == 400
        assert "in another browser" in html.unescape(other.page)
    first.send("leave")
    assert Person(app, drawn[-1], "Carla").begin().status_code == 200
    assert Person(app, drawn[0], "Carla").begin().status_code == 400


def test_a_name_that_another_browser_has_goes_on_where_its_person_says_so(
    database: Database, sample: Sample
) -> None:
    app = app_of(database)
    lost, new = Person(app, sample, "Ann"), Person(app, sample, "Ann")
    lost.begin()
    lost.vote("1", note="a private note")
    assert new.begin().status_code == 400
    assert "Go on here as <bdi>Ann</bdi>" in new.page
    assert new.begin(here="on").status_code == 200
    assert "item 2 of 3 · 1 labelled" in new.page
    new.vote("0")
    assert "item 3 of 3" in new.page
    for item in (f"/item?sample={sample.sample_id}", f"/overview?sample={sample.sample_id}"):
        answer = lost.client.get(item)
        assert answer.status_code == 400
        assert "Ann goes on with this sample in another browser" in answer.text
    assert lost.vote("1").status_code == 400
    assert [vote.relevance for vote in load_votes(database, sample.origin)] == [1.0, 0.0]
    assert lost.begin(here="on").status_code == 200  # and back again
    assert "item 3 of 3" in lost.page
    assert new.client.get(f"/item?sample={sample.sample_id}").status_code == 400


@pytest.mark.parametrize("is_done", [False, True])
def test_whoever_takes_a_name_over_does_not_read_its_labels_before_all_may(
    database: Database, sample: Sample, *, is_done: bool
) -> None:
    app = app_of(database)
    ann = Person(app, sample, "Ann")
    ann.begin()
    for _ in range(3 if is_done else 1):
        ann.vote("1", note="a secret note", program="a secret program")
    ben = Person(app_of(database), sample, "Ann")  # of which a copy has Ann's votes
    ben.begin(here="on")
    key = pairs_of(TEXTS)[0].key
    addresses = [f"/item?sample={sample.sample_id}&position={n}" for n in (1, 2, 3)]
    addresses += [f"/overview?sample={sample.sample_id}", f"/sample?sample={sample.sample_id}",
                  f"/disagreements?sample={sample.sample_id}",
                  f"/pair?query={key.query_id}&code={key.code_id}"]  # fmt: skip
    for address in addresses:
        page = ben.client.get(address).text
        assert "secret" not in page
        assert " checked" not in page
    assert "given elsewhere" in ben.client.get(addresses[3]).text
    place = re.search(r"position=(\d+)", ben.client.get(addresses[3]).text)
    assert place
    ben.page = ben.client.get(f"/item?sample={sample.sample_id}&position={place[1]}").text
    ben.vote("0", note="given here")
    page = ben.client.get(f"/item?sample={sample.sample_id}&position={place[1]}").text
    assert "given here" in page


def test_labels_of_a_sheet_are_not_read_by_whoever_begins_under_its_name(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    samples.assign(database, sample, "Ann")
    said = {"grade": "1", "comment": "said on the sheet"}
    file = filled(database, sample, "Ann", tmp_path, lambda row: row.update(said))
    read_sheets(database, [file], SandboxSettings())
    ann = Person(app_of(database), sample, "Ann")
    assert ann.begin().status_code == 200
    assert "Labelled in another browser or on a sheet" in ann.page
    assert "said on the sheet" not in ann.page


def test_a_browser_is_known_by_a_server_that_was_started_again(
    database: Database, sample: Sample
) -> None:
    [ann] = begun(app_of(database), sample, "Ann")
    ann.vote("1", note="mine")
    ann = _moved(ann, app_of(database))
    assert "Go on as <bdi>Ann</bdi>" in ann.page
    ann.page = ann.client.get(f"/item?sample={sample.sample_id}").text
    assert "item 2 of 3 · 1 labelled" in ann.page
    assert "mine" in ann.client.get(f"/overview?sample={sample.sample_id}").text
    other = Person(app_of(database), sample, "Ann")
    assert other.begin().status_code == 400
    cookie = next(each for each in ann.client.cookies.jar if "session" in each.name)
    kept = (database.settings.folder / "browse-names.json").read_text("utf-8")
    assert "Ann" in kept
    assert cookie.value not in kept
    (database.settings.folder / "browse-names.json").write_text("{damaged")
    assert Person(app_of(database), sample, "Ann").begin().status_code == 200


def test_a_browser_has_one_name_in_a_sample(database: Database, sample: Sample) -> None:
    ann, ben = begun(app_of(database), sample, "Ann", "Ben")
    ann.vote("1")
    ben.name = "Ann"
    for fields in ({}, {"here": "on"}):
        assert ben.begin(**fields).status_code == 400
        assert "labels the sample as Ben" in ben.page
    assert "1 labelled" in ann.client.get(f"/item?sample={sample.sample_id}").text


def test_a_sample_drawn_while_pages_are_open_is_seen_at_once(database: Database) -> None:
    client = client_of(database)
    app = app_of(database)
    person = Person(app, sample_of(database, TEXTS), "Ann")
    drawn = sample_of(database, TEXTS[:2])
    assert drawn.sample_id in person.client.get("/label").text
    assert client.get("/label").status_code == 404  # a folder's pages label nothing


def test_ones_own_items_are_listed_with_what_one_said_of_them(
    database: Database, sample: Sample
) -> None:
    [ann] = begun(app_of(database), sample, "Ann")
    ann.vote("undecided", note="why", is_ambiguity="on")
    page = ann.client.get(f"/overview?sample={sample.sample_id}").text
    assert "1 of 3 labelled" in page
    assert [page.count(text) for text in TEXTS] == [1, 1, 1]
    assert (page.count("undecided"), page.count("none yet"), page.count("why")) == (1, 2, 1)
    assert "ambiguity" in page


def test_a_supervisor_sees_who_differs_on_what_when_all_who_have_it_are_done(
    database: Database, sample: Sample
) -> None:
    app = app_of(database)
    ann, ben = Person(app, sample, "Ann"), Person(app, sample, "Ben")
    supervisor, address = Person(app, sample, ""), f"/disagreements?sample={sample.sample_id}"
    ann.begin()
    ben.begin()
    assert "You label a sample blind" in ann.client.get(address).text
    while "evidence unlocked" not in ann.page:
        ann.vote("1", note="Ann's note")
    assert "None, so far" in supervisor.client.get(address).text
    ben.label_all(dict(zip(TEXTS, "101", strict=True)))
    page = html.unescape(supervisor.client.get(address).text)
    assert "1 item of those that all their annotators have labelled, 1 without" in page
    assert f"--conflicts-of {sample.sample_id} --annotator NAME --store" in page
    for shown in ("<bdi>Ann</bdi>", "<bdi>Ben</bdi>", "Ann's note", TEXTS[1], "f1", "1 by maker"):
        assert shown in page
    assert TEXTS[2] not in page
    assert (
        "Where people differ</a>: 1, without a majority: 1"
        in supervisor.client.get(f"/sample?sample={sample.sample_id}").text
    )
    cat = Person(app, sample, "Cat")
    cat.begin(conflicts="on")
    assert "You label a sample blind" in cat.client.get(address).text
    assert "None, so far" in supervisor.client.get(address).text
    cat.vote("1")
    page = supervisor.client.get(address).text
    assert "annotators have labelled, 0 without" in page
    assert "no majority" not in page
    assert supervisor.client.get(f"{address}&first=x").status_code == 200


def test_pages_say_what_grades_and_difficulties_mean(database: Database, sample: Sample) -> None:
    ann = Person(app_of(database), sample, "Ann")
    for page in (ann.page, ann.begin().text):
        for word in ("1, answers", "undecided", "direction reversed", "int to string"):
            assert word in page


def test_one_persons_votes_are_shown_to_whoever_has_labelled_the_sample_too(
    database: Database,
) -> None:
    sample, app = sample_of(database, TEXTS), app_of(database)
    ann, eve = Person(app, sample, "Ann"), Person(app, sample, "Eve")
    ann.begin()
    while "evidence unlocked" not in ann.page:
        ann.vote("1", note="said by Ann")
    key = pairs_of(TEXTS)[0].key
    pair = f"/pair?query={key.query_id}&code={key.code_id}"
    app = app_of(database)  # its copy of the store has the votes
    ann, eve = (_moved(person, app) for person in (ann, eve))
    assert "said by Ann" not in eve.client.get(pair).text
    ann.begin()
    assert "said by Ann" in ann.client.get(pair).text
    eve.begin()
    assert eve.client.get(pair).status_code == 403
    while "evidence unlocked" not in eve.page:
        eve.vote("0", note="said by Eve")
    shown = Person(app_of(database), sample, "nobody").client.get(pair).text
    assert "said by Ann" in shown
    assert "said by Eve" in shown


def _moved(person: Person, app: Any) -> Person:
    """Return the same browser at another server of the store."""
    moved = Person(app, person.sample, person.name)
    moved.client.cookies = person.client.cookies
    moved.page = moved.client.get(f"/sample?sample={person.sample.sample_id}").text
    return moved


def test_each_annotator_has_an_order_of_its_own_and_the_same_after_a_restart(
    database: Database,
) -> None:
    texts = tuple(f"query {n}" for n in range(8))
    sample = sample_of(judged_store(database.settings.folder, texts), texts)
    orders = []
    for name in ("Ann", "Ben", "Ann"):
        person = Person(app_of(database), sample, name)
        person.begin(here="on")
        found = []
        for one in samples.items_for(database, sample, name):
            item = f"/item?sample={sample.sample_id}&position={one.position}"
            shown = person.client.get(item).text
            place = re.search(r"item (\d+) of 8", shown)
            found.append((int(place[1]) if place else 0, one.position))
        assert [place for place, _ in found] == [1, 2, 3, 4, 5, 6, 7, 8]
        orders.append([position for _, position in found])
    assert orders[0] == orders[2] != orders[1]


def test_sheets_with_the_same_grades_have_the_same_results(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    given = {
        "Ann": dict(zip(TEXTS, "110", strict=True)),
        "Ben": dict(zip(TEXTS, "100", strict=True)),
    }
    app = app_of(database)
    for name, grades in given.items():
        person = Person(app, sample, name)
        person.begin()
        person.label_all(grades)
    other = judged_store(tmp_path / "other", TEXTS)
    assert sample_of(other, TEXTS) == sample
    for name, grades in given.items():
        samples.assign(other, sample, name)

        def grade(row: dict[str, str], said: dict[str, str] = grades) -> None:
            row["grade"] = said[row["query"]]

        file = filled(other, sample, name, tmp_path, grade)
        read_sheets(other, [file], SandboxSettings())
    assert label_results(database, sample) == label_results(other, sample)


def test_a_forged_form_changes_nothing(database: Database, sample: Sample) -> None:
    ann, ben = begun(app_of(database), sample, "Ann", "Ben")
    token = re.search(r'name="csrf" value="(\w+)"', ann.page)
    assert token
    position = re.search(r'name="position" value="(\d+)"', ann.page)
    assert position
    form = {"sample": sample.sample_id, "position": position[1], "grade": "1"}
    good = {**form, "csrf": token[1]}
    refused = [
        ann.client.post("/vote", data=form, headers={"Origin": ADDRESS}),  # no token
        ann.client.post("/vote", data={**form, "csrf": "0" * 64}, headers={"Origin": ADDRESS}),
        ann.client.post("/vote", data=good, headers={"Origin": "http://evil.example"}),
        ann.client.post("/vote", data=good, headers={"Origin": "null"}),
        ann.client.post("/vote", data=good),  # no origin
        ben.client.post("/vote", data=good, headers={"Origin": ADDRESS}),  # another browser's
        ann.client.post(
            "/vote", data={**good, "note": "x" * 2_000_000}, headers={"Origin": ADDRESS}
        ),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert ann.client.get("/vote").status_code == 404
    assert load_votes(database, sample.origin) == []


@pytest.mark.parametrize(
    "fields",
    [{"grade": "4"}, {"grade": ""}, {"grade": "-1"}, {"grade": "1", "note": "x" * 10_001},
     {"grade": "1", "program": "x" * 100_001}],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_what_was_entered_is_kept(
    database: Database, sample: Sample, fields: dict[str, str]
) -> None:
    [ann] = begun(app_of(database), sample, "Ann")
    answer = ann.vote(**{"note": "kept", **fields})
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert "kept" in answer.text or len(fields.get("note", "")) > 1
    assert load_votes(database, sample.origin) == []


@pytest.mark.parametrize("position", ["99", "0", "x", ""])
def test_a_form_of_an_item_that_was_not_given_changes_nothing(
    database: Database, sample: Sample, position: str
) -> None:
    [ann] = begun(app_of(database), sample, "Ann")
    assert ann.send("vote", position=position, grade="1").status_code == 400
    assert load_votes(database, sample.origin) == []


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\x00b", "a\u202eb"])
def test_a_name_that_is_none_is_refused(database: Database, sample: Sample, name: str) -> None:
    person = Person(app_of(database), sample, name)
    assert person.begin().status_code == 400


def test_preferences_and_grades_from_0_to_3_are_stored_as_their_samples_say(
    database: Database,
) -> None:
    one, other, *_ = pairs_of(TEXTS)
    item = SampleItem(query_id=one.query.query_id, code_id=one.code.code_id, position=1,
                      rival_id=other.code.code_id, swapped=True)  # fmt: skip
    preference = Sample(collection="", kind="preference", items=(item,))
    samples.add_sample(database, preference)
    graded = sample_of(database, TEXTS[:1], scale="graded")
    app = app_of(database)
    for sample, grade, relevance, told in (
        (preference, "2", 1.0, "second code"),
        (graded, "3", 3.0, "<td>3</td>"),
    ):
        ann = Person(app, sample, "Ann")
        ann.begin()
        ann.vote(grade)
        assert [vote.relevance for vote in load_votes(database, sample.origin)] == [relevance]
        assert "checked" in ann.page
        page = ann.client.get(f"/overview?sample={sample.sample_id}").text
        assert told in re.sub(r">\s+|\s+<", lambda edge: edge[0].strip(), page)


class Boxes:
    """What stands for boxes: it notes programs, and waits for leave to end."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []
        self.starts, self.goes_on = threading.Event(), threading.Event()

    async def run(self, settings: SandboxSettings, programs: Any) -> list[ExecutionResult]:
        self.ran += programs
        self.starts.set()
        assert self.goes_on.wait(60)
        return [ExecutionResult(outcome="passed", asserts_executed=1, stdout="</pre><script>")]


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> Boxes:
    made = Boxes()
    monkeypatch.setattr("tasks.browse.labelling.run_programs", made.run)
    return made


def test_a_program_runs_where_boxes_run_and_its_result_is_stored_with_the_vote(
    database: Database, boxes: Boxes
) -> None:
    sample = sample_of(database, TEXTS[:1])
    ann = Person(app_of(database), sample, "Ann")
    ann.begin()
    boxes.goes_on.set()
    program = "from target import f0\nassert f0(1)"
    answer = ann.send("program", position=1, program=program, note="so far")
    assert "passed</span> in" in answer.text
    assert "so far" in answer.text
    assert "</pre><script>" not in answer.text
    assert boxes.ran == [(program, pairs_of(TEXTS)[0].code.text)]
    ann.vote("1", program=program)
    [vote] = load_votes(database, sample.origin)
    assert vote.execution is not None
    assert vote.execution.outcome == "passed"
    ann.vote("1", program="another program, which was not run")
    assert load_votes(database, sample.origin)[1].execution is None


def test_a_person_runs_one_program_at_a_time(database: Database, boxes: Boxes) -> None:
    sample = sample_of(database, TEXTS[:1])
    ann = Person(app_of(database), sample, "Ann")
    ann.begin()
    again = Person(ann.client.app, sample, "Ann")  # another tab
    again.client.cookies, again.page = ann.client.cookies, ann.page
    first = threading.Thread(
        target=ann.send, args=("program",), kwargs={"position": 1, "program": "1"}
    )
    first.start()
    assert boxes.starts.wait(60)
    assert "wait for its end" in again.send("program", position=1, program="2").text
    boxes.goes_on.set()
    first.join(60)
    assert [program for program, _ in boxes.ran] == ["1"]


def test_a_store_that_is_held_too_long_is_said_and_the_form_is_kept(
    database: Database, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    [ann] = begun(app_of(database), sample, "Ann")

    def held(*_: object) -> None:
        raise StoreLockedError("the store has been locked by another process for 30 s")

    monkeypatch.setattr("tasks.browse.labelling.record_votes", held)
    answer = ann.vote("1", note="my note")
    assert answer.status_code == 400
    assert "locked by another process" in answer.text
    assert "my note" in answer.text
    monkeypatch.undo()
    ann.vote("1", note="my note")
    assert [vote.note for vote in load_votes(database, sample.origin)] == ["my note"]


def test_hostile_names_and_notes_are_text(database: Database) -> None:
    texts = HOSTILE[:6]
    sample = sample_of(judged_store(database.settings.folder, texts), texts)
    ann = Person(app_of(database), sample, "<img src=x onerror=alert(1)>")
    assert ann.begin().status_code == 200
    for text in texts:
        answer = ann.vote("1", note=text, program=text)
        assert answer.status_code == 200
        assert answer.text.count("<script") == 1
        assert "<img" not in answer.text
    assert not re.search("[\x00\x1b\u202a-\u202e\u2066-\u2069]", ann.page)
    notes = {vote.note for vote in load_votes(database, sample.origin)}
    assert notes == {GivenVote.model_fields["note"].default or text for text in texts}
