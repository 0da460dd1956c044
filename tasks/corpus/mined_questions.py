"""Questions mined from a Stack Exchange dump, each with the code of an answer.

Source: Li et al., "Neural Code Search Evaluation Dataset" (2019), section on the questions: the
17,000 most popular ones with some tags; of these, those with an up-voted answer with code, whose
code has a match in a corpus, and which ask for code rather than for a discussion. The paper's last
step, by which people took 287 of 518, stays with people.
"""

import heapq
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from infra.errors import SourceError
from infra.records import caseless, normalise_query
from infra.text import is_blank
from tasks.inputs.tables import XmlRow, read_xml_rows
from tasks.inputs.text import printable

Popularity = Literal["views", "score"]
Matches = Callable[[Sequence[str]], Sequence[bool]]

READ, TAGGED, POPULAR = "questions read", "with the tags", "most popular of them"
ANSWERED = "with an up-voted answer with code"
MATCHED, KEPT = "whose code has a match in the corpus", "that are no discussions"
OTHERS = "that an evaluation does not ask"

_QUESTION, _ANSWER = 1, 2  # PostTypeId
_POPULARITY: Mapping[Popularity, str] = {"views": "ViewCount", "score": "Score"}
_LONGEST_BODY = 1 << 16  # characters of HTML; a post has at most 30,000 of Markdown
_TAG = re.compile(r"[^<>|\s]+")  # <java><android>, or |java|android| since 2024
_BLOCK = re.compile(r"(?i)<pre\b[^<>]*>\s*<code\b[^<>]*>")
_ELEMENT = re.compile(r"<[^<>]*>")
# What the paper's heuristics are it does not say. These words ask for opinions, reasons or
# differences, which no method can be the answer to.
_DISCUSSION = re.compile(
    r"""(?ix)
    ^(why|should|when\s+(to|should|do)|is\s+(it|there|this)\s+(bad|good|ok|safe|worth|better
      |any\s+(reason|difference|advantage|benefit))
      |what(\s+(is|are|does|do|makes?)|'s)(?!\s+the\s+\w+\s+way\b))\b
    | \b(differences?\s+between|vs\.?|versus|pros\s+and\s+cons|(dis)?advantages?|best\s+practices?
      | (good|bad)\s+(practice|idea)|better\s+than|which\s+(one|is\s+better)|recommend\w*
      | opinions?|explain|understanding|meaning\s+of)(?!\w)
    """
)


class MinedQuestion(NamedTuple):
    """A question, and the code of its best answer.

    Attributes:
        question_id: Of the site.
        title: What is asked.
        answer_id: Of the up-voted answer with code that has the highest score; of equal ones the
            accepted one, then the oldest.
        code: The longest of its blocks of code.
        licence: Of the answer, as SPDX names it; "" where the dump does not say.
    """

    question_id: int
    title: str
    answer_id: int
    code: str
    licence: str


class _Question(NamedTuple):
    """A question in the heap of the most popular: ordered by the first three."""

    popularity: int
    score: int
    rank: int  # the negative id: of equally popular ones the older
    title: str
    accepted: int


def is_discussion(title: str) -> bool:
    """Return True if a title asks for opinions, reasons or differences, by its words."""
    return _DISCUSSION.search(title) is not None


def mine_questions(
    file: Path,
    tags: Sequence[str],
    most: int,
    popularity: Popularity = "views",
    matches: Matches | None = None,
    evaluated: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[MinedQuestion], dict[str, int]]:
    """Return the questions that every step keeps, most popular first, and what each step kept.

    The file is read twice, first for the questions and then for their answers, and of neither more
    is kept than of ``most`` questions.

    Args:
        file: ``Posts.xml`` of a dump.
        tags: All of which a question must have; none keeps all questions.
        most: How many of the most popular ones are looked at.
        popularity: By what: number of views, or score.
        matches: Which of some codes have a match in a corpus; without it that step is left out.
        evaluated: Id → title of questions to be left out, by either, so that a model that is
            trained on the others has not met them.

    Raises:
        SourceError: See `read_xml_rows`; or a row lacks a cell, or has text for a number.
    """
    steps: dict[str, int] = {READ: 0, TAGGED: 0}
    popular = _popular(file, frozenset(map(str.lower, tags)), most, _POPULARITY[popularity], steps)
    steps[POPULAR] = len(popular)
    answers = _best_answers(file, popular)
    mined = [
        MinedQuestion(identity, question.title, *answers[identity][1:])
        for identity, question in popular.items()
        if identity in answers
    ]
    steps[ANSWERED] = len(mined)
    if matches is not None:
        mined = [*compress(mined, matches([each.code for each in mined]))]
        steps[MATCHED] = len(mined)
    mined = [each for each in mined if not is_discussion(each.title)]
    steps[KEPT] = len(mined)
    if evaluated:
        titles = {caseless(normalise_query(title)) for title in evaluated.values()}
        mined = [
            each
            for each in mined
            if str(each.question_id) not in evaluated
            and caseless(normalise_query(each.title)) not in titles
        ]
        steps[OTHERS] = len(mined)
    return mined, steps


def _popular(
    file: Path, tags: frozenset[str], most: int, column: str, steps: dict[str, int]
) -> dict[int, _Question]:
    """Return id → question of the most popular ones, falling."""
    heap: list[_Question] = []
    for post in _posts(file, _QUESTION):
        steps[READ] += 1
        title = " ".join(post.text("Title").split())
        if not title or not tags <= set(map(str.lower, _TAG.findall(post.text("Tags")))):
            continue
        steps[TAGGED] += 1
        numbers = (post.number(column), post.number("Score"), -post.number("Id", needed=True))
        question = _Question(*numbers, title, post.number("AcceptedAnswerId"))
        if len(heap) < most:
            heapq.heappush(heap, question)
        else:
            heapq.heappushpop(heap, question)
    return {-question.rank: question for question in sorted(heap, reverse=True)}


_Answer = tuple[tuple[int, bool, int], int, str, str]  # order, id, code, licence


def _best_answers(file: Path, questions: Mapping[int, _Question]) -> dict[int, _Answer]:
    """Return question → its best up-voted answer with code."""
    best: dict[int, _Answer] = {}
    for post in _posts(file, _ANSWER):
        question = post.number("ParentId", needed=True)
        score, body = post.number("Score"), post.text("Body")
        if question not in questions or score <= 0 or len(body) > _LONGEST_BODY:
            continue
        identity = post.number("Id", needed=True)
        order = (score, identity == questions[question].accepted, -identity)
        if question in best and best[question][0] >= order:
            continue
        if code := max(code_blocks(body), key=len, default=""):
            licence = post.text("ContentLicense").strip().replace(" ", "-")
            best[question] = (order, identity, code, licence)
    return best


class _Post(NamedTuple):
    """A row of ``Posts.xml``."""

    file: Path
    row: XmlRow

    def text(self, column: str) -> str:
        return self.row.cells.get(column, "")

    def number(self, column: str, *, needed: bool = False) -> int:
        """Return a whole number, 0 where there is none."""
        text = self.text(column)
        if not text and not needed:
            return 0
        if re.fullmatch(r"-?\d{1,18}", text, re.ASCII) is None:
            problem = f"{column}={text[:40]!r} is no whole number" if text else f"no {column}"
            raise SourceError(
                f"{printable(self.file)}:{self.row.line}: a row with {problem}: is this the "
                "Posts.xml of a Stack Exchange dump? Unpack or copy it again"
            )
        return int(text)


def _posts(file: Path, kind: int) -> Iterator[_Post]:
    """Yield the questions or the answers of a file."""
    for row in read_xml_rows(file, "posts"):
        post = _Post(file, row)
        if post.number("PostTypeId", needed=True) == kind:
            post.number("Id", needed=True)
            yield post


def code_blocks(body: str) -> list[str]:
    """Return the blocks of code of a post's HTML, without those of white space alone.

    Such HTML is made by the site from Markdown. It is not given to Python's reader of any HTML,
    which takes minutes for 64 KB of ``<a``.
    """
    blocks, end = [], 0
    for start in _BLOCK.finditer(body):
        if start.end() < end:
            continue
        end = body.find("</code>", start.end())
        if end < 0:
            break
        text = _ELEMENT.sub("", body[start.end() : end])
        try:
            blocks.append(unescape(text).replace("\r\n", "\n").strip("\n"))
        except ValueError:  # a character's number of thousands of digits
            continue
    return [block for block in blocks if not is_blank(block)]
