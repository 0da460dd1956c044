"""References that stages pass to one another: small records of ids; the store has the data."""

from functools import cached_property

from infra.collected import StoredCollection
from infra.identity import RecipeId, SearchId
from infra.records import Record
from tasks.reports.text import counted


class FileReference:
    """Base of references to files, whose content is read once, on demand, in cached properties.

    A worker that is sent one reads the files anew: what was read stays where it was.
    """

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes, without what was read."""
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }


class SearchReference(Record):
    """Reference to a search for candidates in a collection."""

    search_id: SearchId
    collection: str
    queries: int
    candidates: int


class CollectedSource(Record):
    """A source's collections, and the search over the first one, which the agents annotate."""

    collections: tuple[StoredCollection, ...]
    search: SearchReference

    @property
    def main(self) -> StoredCollection:
        """The collection whose pairs the agents annotate."""
        return self.collections[0]


class RecipeReference(Record):
    """Reference to a recipe: everything that could change a label of the agents.

    Attributes:
        recipe_id: Digest of the recipe.
        model: The language model.
        sandbox: The engine and the image that programs run in; empty if none are run.
        labelling_round: The round in which pairs are judged, from 1.
    """

    recipe_id: RecipeId
    model: str
    sandbox: str = ""
    labelling_round: int = 1


class JudgedPairs(Record):
    """Counts of the pairs that a run judged.

    Attributes:
        pairs: Number of judged pairs.
        failed: Number of pairs that could not be judged.
        most_often: The path on which most of those failed.
        standing: Why a run that was to rank methods ended, and how these stand.
    """

    pairs: int = 0
    failed: int = 0
    most_often: str = ""
    standing: str = ""

    def __add__(self, other: "JudgedPairs") -> "JudgedPairs":
        """Return the sum over two runs, with what failed most often in the worse one."""
        return JudgedPairs(
            pairs=self.pairs + other.pairs,
            failed=self.failed + other.failed,
            most_often=max(self, other, key=lambda each: each.failed).most_often,
        )

    def __str__(self) -> str:
        """Return a sentence: ``12 of 200 pairs failed, most often: connection lost``."""
        pairs, ending = counted(self.pairs, "pairs"), f"; {self.standing}" * bool(self.standing)
        if not self.failed:
            return f"{pairs} judged{ending}"
        return f"{self.failed:,} of {pairs} failed, most often: {self.most_often}{ending}"
