"""The packaged sample: web-style queries over functions of CPython's standard library.

Its texts are shipped (``sample/``, read as those of source jsonl), so that they are the same on
whatever release of Python it runs; `agents.llm.recorded` has the replies by which it is judged.
"""

from pathlib import Path

from pydantic import Field

from infra.records import SourceInfo
from tasks.sources import sources
from tasks.sources.jsonl import JsonLinesOptions, JsonLinesSource


class SampleOptions(JsonLinesOptions):
    """The options of source stdlib-sample."""

    path: Path = Field(
        Path(__file__).with_name("sample"), description="Another folder of the same form."
    )


@sources.register("stdlib-sample")
class StandardLibrarySample(JsonLinesSource):
    """40 queries and 1,000 functions of the standard library of CPython 3.11.7."""

    Options = SampleOptions

    @property
    def info(self) -> SourceInfo:
        """Origin and licence of the functions."""
        return SourceInfo(
            name="stdlib-sample", licence="PSF-2.0", revision="3.11.7",
            location="standard library of CPython",
        )  # fmt: skip
