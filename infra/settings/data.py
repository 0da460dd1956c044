"""The sections of what goes in and where it is kept: the sources of queries and code, the store."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ConfigDict, Field

from infra.settings.section import Section


class SourceSettings(Section):
    """Input: a source and its own options, such as path."""

    # The options of the chosen source are further keys of this section; the source checks them.
    model_config = ConfigDict(extra="allow")

    name: str = Field(
        "python-source",
        description="Where queries and code come from; `cosqa list sources` prints the names.",
    )
    collection: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=100,
        description="Name of the collection in the store.",
    )
    codes: tuple[str, ...] = Field(
        (),
        description="Sources that code is read from in place of the source's own, in this order, "
        "each NAME or NAME=PATH. Likewise queries, where it is no file. Further options of such a "
        "source are keys with its name before them, such as codesearchnet.filters.",
    )
    reread: bool = Field(
        False,
        description="Read the source again even if no file, option or filter of it has changed.",
    )

    @property
    def options(self) -> dict[str, object]:
        """The keys that are given beside those of every source."""
        extra = (self.model_extra or {}).items()
        return {
            key: value
            for key, value in extra
            if value is not None and not isinstance(value, Mapping)
        }

    @property
    def options_of_parts(self) -> dict[str, Mapping[str, object]]:
        """Name of a source that queries or codes are taken from → its options."""
        extra = (self.model_extra or {}).items()
        return {key: value for key, value in extra if isinstance(value, Mapping)}

    @property
    def title(self) -> str:
        """The input's name in logs and in names of runs."""
        names = [text.partition("=")[0] for text in self.codes]
        return self.collection or "+".join(names) or self.name


class StoreSettings(Section):
    """The artifact store: a folder with the database, the vectors and the journal of replies."""

    folder: Path = Field(Path("cosqa-data"), description="Folder of the store; made when missing.")
    lock_timeout_s: float = Field(
        300.0,
        ge=0,
        description="Seconds to wait while another process holds the database; 600 at least while "
        "pairs are judged.",
    )

    @property
    def database(self) -> Path:
        """The DuckDB file."""
        return self.folder / "cosqa.duckdb"

    @property
    def vectors(self) -> Path:
        """Folder of the files that hold vectors."""
        return self.folder / "vectors"

    @property
    def journal(self) -> Path:
        """The file of what is paid for: replies and what was spent; see `infra.journal`."""
        return self.folder / "journal.sqlite"
