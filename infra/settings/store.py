"""The section of the store: where it is."""

from pathlib import Path

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
        """The file of what is paid for: replies and what was spent; see `infra.journal`."""
        return self.folder / "journal.sqlite"
