"""The sections of the store: where it is, and how long it keeps what."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from infra.settings.section import Section


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
        """The file of what is paid for: replies, what was spent, batches; see `infra.journal`."""
        return self.folder / "journal.sqlite"

    @property
    def refused(self) -> Path:
        """Folder of annotations that the database would not take."""
        return self.folder / "refused"


class RetentionSettings(Section):
    """What `cosqa store prune` removes once no present label needs it."""

    superseded_days: int | None = Field(
        365,
        ge=0,
        le=36_500,
        description="Days after which an annotation is removed, with its calls and executions, "
        "where labels of recipes that came into use later have taken its place. 0 removes it at "
        "once; 36500 keeps it for good (so too in the next three).",
    )
    outputs_days: int | None = Field(
        90,
        ge=0,
        le=36_500,
        description="Days after which what programs printed is removed, results stay.",
    )
    replies_days: int | None = Field(
        180,
        ge=0,
        le=36_500,
        description="Days after which a model's reply is removed from the replies that are not "
        "paid for twice; those of annotations that stay are in the database too.",
    )
    searches_days: int | None = Field(
        90,
        ge=0,
        le=36_500,
        description="Days after which candidates are removed where a later search of the same "
        "collection has taken their place; the same search finds them again.",
    )
    protect: tuple[Literal["current", "published"], ...] = Field(
        ("current", "published"),
        description="Labels whose evidence is kept whole however old it is: those that stand, and "
        "those of benchmarks that have been published.",
    )
