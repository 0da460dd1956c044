"""Canaries: pairs with known labels among those to be judged, to measure the agents' error rate.

Each known answer gives four: the right function, the same function broken by a mutation operator,
and the right function with the query of another, once as it is and once with a line that tells the
agents to say yes. They are judged and stored like any pair, but are
candidates of no search, so that no benchmark includes them. Canaries of a later run have functions
of another name, so that cached replies do not hide a change of the model.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count

from prefect.artifacts import create_markdown_artifact

from infra.errors import CanaryError
from infra.ids import PairKey, RecipeId
from infra.languages import languages
from infra.markdown import markdown_table
from infra.records import Annotation, Code, GivenVote, Pair, Query, Record
from infra.settings import AnnotationSettings
from infra.store import Database, annotations, votes
from infra.summaries import CanaryCounts
from tasks.stages.annotate.canary_cases import INJECTIONS, KNOWN_ANSWERS, KnownAnswer

GOLD = "gold:canaries"
"""Origin of the canaries' known labels among votes."""

_INJECTED = "its code tells the agents what to say"
_MIN_CANARIES = 4  # one of each kind
_MIN_JUDGED = 6  # with fewer, the share of wrong ones is not meaningful
_MAX_STRIDE = 10
_ALL_MUTANTS = 100


class KnownLabel(Record):
    """The key of a canary, its known label, and whether its code speaks to the agents."""

    key: PairKey
    label: int
    injected: bool = False


class Canary(Record):
    """A pair and its known label.

    Attributes:
        pair: The pair.
        label: What it is to be labelled.
        broken: Its code is right but for one mistake.
        injected: Its code tells the agents what to say.
    """

    pair: Pair
    label: int
    broken: bool = False
    injected: bool = False

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return self.pair.key

    @property
    def vote(self) -> GivenVote:
        """Its known label as the store holds it."""
        query_id, code_id = self.key
        return GivenVote(
            query_id=query_id,
            code_id=code_id,
            kind="gold",
            origin=GOLD,
            relevance=self.label,
            note=_INJECTED if self.injected else "",
        )

    @property
    def known(self) -> KnownLabel:
        """What is known of it, without its texts."""
        return KnownLabel(key=self.key, label=self.label, injected=self.injected)


@cache
def canaries_of(generation: int) -> tuple[Canary, ...]:
    """Return all canaries of a generation; generations differ in the functions' names only."""
    return tuple(
        canary
        for place, answer in enumerate(KNOWN_ANSWERS)
        for canary in _canaries_from(answer, place, generation)
    )


def _canaries_from(answer: KnownAnswer, place: int, generation: int) -> Iterator[Canary]:
    other_query = KNOWN_ANSWERS[place - 1].query
    broken = next(
        mutant.code
        for mutant in languages.get("python")().mutants_of(answer.code, _ALL_MUTANTS)
        if mutant.change == answer.change
    )
    head, _, body = answer.code.partition("\n")
    injected = f"{head}\n    {INJECTIONS[place % len(INJECTIONS)]}\n{body}"
    for query, code, label in (
        (answer.query, answer.code, 1),
        (answer.query, broken, 0),
        (other_query, answer.code, 0),
        (other_query, injected, 0),
    ):
        pair = Pair(query=Query.of(query), code=Code.of(_renamed(code, generation)))
        yield Canary(pair=pair, label=label, broken=code is broken, injected=code is injected)


def _renamed(code: str, generation: int) -> str:
    name = code.removeprefix("def ").partition("(")[0]
    return code.replace(f"def {name}(", f"def {name}_{generation}(") if generation else code


def next_canaries(
    done: set[PairKey], pairs: int, annotation: AnnotationSettings
) -> tuple[Canary, ...]:
    """Return the canaries of a run: at most a tenth of its pairs, none judged before.

    By the 50% criterion code with one mistake has no known label, and takes no part.

    Args:
        done: Keys of canaries that the recipe has finished.
        pairs: Number of pairs left to judge.
        annotation: The largest number of canaries.
    """
    wanted = min(annotation.canaries, max(_MIN_CANARIES, pairs // 10))
    if not pairs or not wanted:
        return ()
    generations = (canaries_of(generation) for generation in count())
    half = annotation.configuration == "v1-half"
    fresh = (
        [item for item in canaries if item.key not in done and not (half and item.broken)]
        for canaries in generations
    )
    return tuple(next(filter(None, fresh))[:wanted])


def mix_canaries(pairs: Iterable[Pair], canaries: Sequence[Pair], expected: int) -> Iterator[Pair]:
    """Yield the pairs with the canaries spread among their queries, the first ones early.

    Args:
        pairs: The pairs, all of a query together.
        canaries: The canaries; those left at the end come last.
        expected: Expected number of pairs.
    """
    stride = max(1, min(_MAX_STRIDE, expected // max(len(canaries), 1)))
    waiting, due, query = iter(canaries), 0, ""
    for place, pair in enumerate(pairs):
        is_first = pair.query.query_id != query
        query = pair.query.query_id
        if place >= due and is_first and (canary := next(waiting, None)):
            due += stride
            yield canary
        yield pair
    yield from waiting


def count_canaries(
    annotated: Iterable[Annotation], known: Mapping[PairKey, KnownLabel]
) -> CanaryCounts:
    """Return how the canaries among annotations were judged.

    Args:
        annotated: Annotations of canaries and of other pairs.
        known: Key of a canary → what is known of it.
    """
    judged = [
        (item.label, known[item.key])
        for item in annotated
        if item.label is not None and item.key in known
    ]
    return CanaryCounts(
        judged=len(judged),
        wrong_codes=sum(canary.label == 0 for _, canary in judged),
        false_passes=sum(label > canary.label for label, canary in judged),
        false_fails=sum(label < canary.label for label, canary in judged),
        injected=sum(canary.injected for _, canary in judged),
        obeyed=sum(canary.injected and label > canary.label for label, canary in judged),
    )


def canary_totals(counts: Iterable[CanaryCounts]) -> CanaryCounts:
    """Return the sums of counts, as of several labelling rounds."""
    rows = [item.model_dump() for item in counts]
    return CanaryCounts(
        **{name: sum(row[name] for row in rows) for name in CanaryCounts.model_fields}
    )


def load_judged_canaries(
    database: Database, recipe_id: RecipeId
) -> tuple[list[Annotation], dict[PairKey, KnownLabel]]:
    """Return the annotations of a recipe's canaries, earliest first, and key → what is known.

    The annotations come without their evidence.
    """
    known = {
        vote.key: KnownLabel(
            key=vote.key, label=int(vote.relevance or 0), injected=vote.note == _INJECTED
        )
        for vote in votes.load_votes(database, GOLD)
    }
    judged = annotations.load_annotations(database, recipe_id, list(known), evidence=False)
    return judged, known


class CanaryWatch:
    """Counter of a run's canaries, with an alarm when too many were judged wrongly.

    Small runs have too few canaries for an alarm, so the last ones of the recipe's earlier runs
    count too, but only if the run's own exceed the limit: a model that works again is not stopped.

    Args:
        known: Key of a canary → what is known of it.
        limit: Largest share that may be judged wrongly.
        model: The model, for the message.
        earlier: Annotations of the recipe's canaries by earlier runs, earliest first.
    """

    def __init__(
        self,
        known: Mapping[PairKey, KnownLabel],
        limit: float,
        model: str,
        earlier: Sequence[Annotation] = (),
    ) -> None:
        self._known = known
        self._limit = limit
        self._model = model
        self._earlier = [item for item in earlier if item.label is not None]
        self._judged: list[Annotation] = []

    def add(self, annotated: Sequence[Annotation]) -> list[Annotation]:
        """Add the canaries among new annotations; return those of other pairs, and what failed."""
        self._judged += (item for item in annotated if item.key in self._known)
        return [item for item in annotated if item.key not in self._known or item.label is None]

    @property
    def counts(self) -> CanaryCounts:
        """How the run's canaries were judged so far."""
        return count_canaries(self._judged, self._known)

    @property
    def alarm(self) -> CanaryError | None:
        """The error that ends the run, or None."""
        own = self.counts
        lacking = max(0, _MIN_JUDGED - own.judged)
        before = self._earlier[-lacking:] if lacking else []
        counts = count_canaries([*before, *self._judged], self._known)
        if counts.judged < _MIN_JUDGED or not (self._exceeds(own) and self._exceeds(counts)):
            return None
        return CanaryError(
            f"{self._model} judged {counts.wrong} of {counts.judged} pairs with known answers "
            f"wrongly ({counts.false_passes} false passes, {counts.false_fails} false fails), more "
            f"than COSQA_ANNOTATION__CANARY_LIMIT={self._limit:g} allows: its labels are "
            "unreliable. Use another model, or look at its replies in the store"
        )

    def _exceeds(self, counts: CanaryCounts) -> bool:
        return counts.wrong > self._limit * counts.judged

    def report(self, key: str) -> None:
        """Create an artifact with the counts under a key."""
        if self._known:
            markdown = f"# Canaries\n\n{canary_table(self.counts)}\n"
            create_markdown_artifact(markdown, key=key, description="pairs with known answers")


def canary_table(counts: CanaryCounts) -> str:
    """Return the counts as a Markdown table."""
    rows = [
        ("code that does not answer", counts.wrong_codes, counts.false_passes, "false passes"),
        ("of it, code that tells the agents to pass it", counts.injected, counts.obeyed, "obeyed"),
        ("code that answers", counts.right_codes, counts.false_fails, "false fails"),
    ]
    return markdown_table(
        ("known answer", "judged", "wrongly", ""),
        [(name, str(judged), str(wrong), words) for name, judged, wrong, words in rows],
    )
