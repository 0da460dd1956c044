"""The source of functions in Python files: a folder, a distribution or the standard library.

It is source ``source-code`` for Python alone, and reads the running interpreter's standard library,
which has queries of its own, where no files are named.
"""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from tasks.corpus.source_files import SourceFiles, standard_library
from tasks.sources import Languages, sources
from tasks.sources.source_code import SourceCode, SourceCodeOptions

STANDARD_LIBRARY_QUERIES = Path(__file__).with_name("stdlib_queries.jsonl")


class PythonOptions(SourceCodeOptions):
    """The options of source python-source."""

    languages: Languages = ("python",)
    queries: Path | None = Field(
        None,
        description="JSON Lines file of queries; the standard library has 40 of its own, and other "
        "files without any give the benchmark by documentation alone.",
    )


@sources.register("python-source")
class PythonSource(SourceCode):
    """Python files: their functions for annotation, and pairs by documentation."""

    Options = PythonOptions
    name: ClassVar[str] = "python-source"
    others: ClassVar[str] = "--source source-code reads them"

    def queries_of(self, options: SourceCodeOptions) -> Path | None:
        """Return the file of queries, of the standard library its own; else as `SourceCode`."""
        is_library = options.path is None and options.distribution is None
        own = STANDARD_LIBRARY_QUERIES if is_library else None
        return options.queries or own or super().queries_of(options)

    def files_of(self, options: SourceCodeOptions) -> SourceFiles:
        """Return the named files, or the standard library; errors as of `SourceCode`."""
        is_library = options.path is None and options.distribution is None
        return standard_library() if is_library else super().files_of(options)
