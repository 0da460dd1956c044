"""Laws of the packaged sample: whose texts it has, and that its replies fit them."""

import json
from importlib.resources import files

import pytest

from agents.committee.configurations import CONFIGURATIONS
from agents.llm.prompt import fence, pair_section
from agents.llm.recorded import key_of, recording
from agents.llm.structured_output import read
from infra.collected import Collected
from infra.records import Pair
from infra.settings import Settings, load_settings
from tasks.benchmarks.licences import permits_redistribution
from tasks.sources import open_source
from tests.tasks.sources.reading import read_whole

SETTINGS: Settings = load_settings(preset="sample")
TEXT = (files("agents.llm.recorded") / "stdlib-sample.jsonl").read_text("utf-8")
LINES = [json.loads(line) for line in TEXT.splitlines()[1:]]
AGENTS = {agent.role: agent for agent in CONFIGURATIONS["spec"].agents}


@pytest.fixture(scope="module")
def sample() -> Collected:
    return read_whole(open_source(SETTINGS.source))["stdlib-sample"]


def test_every_function_says_where_it_is_from_and_may_be_redistributed(sample: Collected) -> None:
    assert len(sample.queries) == 40
    assert len(sample.codes) == 1_000
    for code in sample.codes:
        assert permits_redistribution(code.licence)
        assert code.licence == "PSF-2.0"
        assert code.url.startswith("https://github.com/python/cpython/blob/v3.11.7/Lib/")


def test_every_reply_is_readable_and_stands_once() -> None:
    assert len(recording(SETTINGS.llm.model)[1]) == len(LINES)
    for line in LINES:
        read(json.dumps(line["reply"]), AGENTS[line["role"]].reply_type)


def test_every_query_has_a_specification_and_five_screened_codes(sample: Collected) -> None:
    known = recording(SETTINGS.llm.model)[1]
    limit = SETTINGS.llm.max_code_characters
    for query in sample.queries:
        assert key_of("specifier", fence("query", query.text)) in known, query.text
        pairs = [pair_section(Pair(query=query, code=code), limit) for code in sample.codes]
        screened = sum(key_of("screener", pair) in known for pair in pairs)
        # One less where two of them are the same function but for names: that is judged once.
        assert SETTINGS.search.top_k - 1 <= screened <= SETTINGS.search.top_k, query.text
