"""Canaries: pairs with known labels among those to be judged, to measure the agents' error rate.

Each known answer makes three: the function that is right, the same function broken by a mutant, and
the function under another's query. They are judged like any pair and stored beside the others;
nothing joins them, since they are no search's candidates. A later run gets canaries whose functions
bear another name, so that no stored reply can answer for a model that has changed meanwhile.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count

from prefect.artifacts import create_markdown_artifact

from infra.errors import CanaryError
from infra.ids import PairKey, RecipeId
from infra.languages.python.mutation import mutants_of
from infra.markdown import markdown_table
from infra.records import Annotation, Code, Pair, Query, Record
from infra.settings import AnnotationSettings
from infra.store import Database, annotations
from tasks.stages.annotate.canary_cases import KNOWN_ANSWERS, KnownAnswer

_FEWEST = 3  # one of each kind
_LEAST_JUDGED = 6  # before that, a share of wrong ones says nothing
_LONGEST_STRIDE = 10
_ALL_MUTANTS = 100


class Canary(Record):
    """A pair and its known label."""

    pair: Pair
    label: int

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return self.pair.key


class CanaryCounts(Record):
    """How canaries were judged.

    Attributes:
        judged: Those that got a label.
        wrong_codes: Those of them whose code does not answer.
        false_passes: Of these, how many were labelled as answers.
        false_fails: Of the others, how many were labelled as none.
    """

    judged: int = 0
    wrong_codes: int = 0
    false_passes: int = 0
    false_fails: int = 0

    @property
    def right_codes(self) -> int:
        """Those whose code answers."""
        return self.judged - self.wrong_codes

    @property
    def wrong(self) -> int:
        """Those that were judged wrongly."""
        return self.false_passes + self.false_fails


@cache
def canaries_of(generation: int) -> tuple[Canary, ...]:
    """Return all canaries of a generation; those of two generations differ in a name only."""
    return tuple(
        canary
        for place, known in enumerate(KNOWN_ANSWERS)
        for canary in _three(known, KNOWN_ANSWERS[place - 1].query, generation)
    )


def _three(known: KnownAnswer, other_query: str, generation: int) -> Iterator[Canary]:
    broken = next(
        mutant.code
        for mutant in mutants_of(known.code, _ALL_MUTANTS)
        if mutant.change == known.change
    )
    for query, code, label in (
        (known.query, known.code, 1),
        (known.query, broken, 0),
        (other_query, known.code, 0),
    ):
        text = _renamed(code, generation)
        yield Canary(pair=Pair(query=Query.of(query), code=Code.of(text)), label=label)


def _renamed(code: str, generation: int) -> str:
    name = code.removeprefix("def ").partition("(")[0]
    return code.replace(f"def {name}(", f"def {name}_{generation}(") if generation else code


def next_canaries(
    done: set[PairKey], pairs: int, annotation: AnnotationSettings, *, demo: bool = False
) -> tuple[Canary, ...]:
    """Return the canaries of a run: a tenth of its pairs at most, none that was judged before.

    Args:
        done: Canaries that the recipe has finished.
        pairs: How many pairs are left to judge.
        annotation: How many canaries at most.
        demo: Whether a demonstration model judges, which gets the fewest.
    """
    most = min(annotation.canaries, max(_FEWEST, pairs // 10))
    wanted = min(most, _FEWEST) if demo else most
    if not pairs or not wanted:
        return ()
    generations = (canaries_of(generation) for generation in count())
    fresh = ([item for item in canaries if item.key not in done] for canaries in generations)
    return tuple(next(filter(None, fresh))[:wanted])


def mixed_in(pairs: Iterable[Pair], canaries: Sequence[Pair], expected: int) -> Iterator[Pair]:
    """Yield the pairs with the canaries spread among them, the first ones early.

    Args:
        pairs: The pairs.
        canaries: The canaries; those that find no place come last.
        expected: How many pairs there are, as far as is known.
    """
    stride = max(1, min(_LONGEST_STRIDE, expected // max(len(canaries), 1)))
    waiting = iter(canaries)
    for place, pair in enumerate(pairs):
        if place % stride == 0 and (canary := next(waiting, None)):
            yield canary
        yield pair
    yield from waiting


def counted(made: Iterable[Annotation], answers: Mapping[PairKey, int]) -> CanaryCounts:
    """Return how the canaries among annotations were judged.

    Args:
        made: Annotations of canaries and of other pairs.
        answers: Key of a canary → its known label.
    """
    judged = [
        (item.label, answers[item.key])
        for item in made
        if item.label is not None and item.key in answers
    ]
    return CanaryCounts(
        judged=len(judged),
        wrong_codes=sum(known == 0 for _, known in judged),
        false_passes=sum(label > known for label, known in judged),
        false_fails=sum(label < known for label, known in judged),
    )


def counted_so_far(database: Database, recipe_id: RecipeId) -> CanaryCounts:
    """Return how all canaries of a recipe's runs were judged."""
    return counted(*judged_so_far(database, recipe_id))


def judged_so_far(
    database: Database, recipe_id: RecipeId
) -> tuple[list[Annotation], dict[PairKey, int]]:
    """Return the annotations of a recipe's canaries, the earliest first, and the known labels."""
    made: list[Annotation] = []
    answers: dict[PairKey, int] = {}
    for generation in count():
        answers |= {canary.key: canary.label for canary in canaries_of(generation)}
        keys = [canary.key for canary in canaries_of(generation)]
        found = annotations.load_annotations(database, recipe_id, keys)
        made += found
        if len(found) < len(keys):
            break
    return made, answers


class CanaryWatch:
    """Watches the canaries of a run.

    Small runs have too few for an alarm. So the last ones of the recipe's earlier runs count too,
    but only where the run's own give cause: a model that is awake again is not blamed for them.

    Args:
        answers: Key of a canary → its known label.
        limit: Share of them that may be judged wrongly.
        model: Who judges, for the message.
        earlier: How the recipe's canaries were judged before, the earliest first.
    """

    def __init__(
        self,
        answers: Mapping[PairKey, int],
        limit: float,
        model: str,
        earlier: Sequence[Annotation] = (),
    ) -> None:
        self._answers = answers
        self._limit = limit
        self._model = model
        self._earlier = [item for item in earlier if item.label is not None]
        self._seen: list[Annotation] = []

    def see(self, made: Iterable[Annotation]) -> None:
        """Take note of what has been judged."""
        self._seen += (item for item in made if item.key in self._answers)

    @property
    def counts(self) -> CanaryCounts:
        """How they were judged so far."""
        return counted(self._seen, self._answers)

    @property
    def alarm(self) -> CanaryError | None:
        """Why the run must stop, None while it need not."""
        own = self.counts
        lacking = max(0, _LEAST_JUDGED - own.judged)
        before = self._earlier[-lacking:] if lacking else []
        found = counted([*before, *self._seen], self._answers)
        if found.judged < _LEAST_JUDGED or not (self._exceeds(own) and self._exceeds(found)):
            return None
        return CanaryError(
            f"{self._model} judged {found.wrong} of {found.judged} pairs with known answers "
            f"wrongly ({found.false_passes} false passes, {found.false_fails} false fails), more "
            f"than COSQA_ANNOTATION__CANARY_LIMIT={self._limit:g} allows: its labels are "
            "unreliable. Use another model, or look at its replies in the store"
        )

    def _exceeds(self, found: CanaryCounts) -> bool:
        return found.wrong > self._limit * found.judged

    def report(self) -> None:
        """Show the counts in the Prefect UI."""
        if self._answers:
            markdown = f"# Canaries\n\n{canary_table(self.counts)}\n"
            create_markdown_artifact(
                markdown, key="canaries", description="pairs with known answers"
            )


def canary_table(counts: CanaryCounts) -> str:
    """Return the counts as a Markdown table."""
    rows = [
        ("code that does not answer", counts.wrong_codes, counts.false_passes, "false passes"),
        ("code that answers", counts.right_codes, counts.false_fails, "false fails"),
    ]
    return markdown_table(
        ("known answer", "judged", "wrongly", ""),
        [(name, str(judged), str(wrong), words) for name, judged, wrong, words in rows],
    )
