"""Sheets on which people confirm written answers: written out, and read back."""

from pathlib import Path

from infra.errors import SourceError
from infra.files import OTHER_OUTPUT, space_on
from infra.languages import language_named
from infra.records import Code, GivenVote, Record
from infra.store import Database, generated
from infra.store.generated import CONFIRMATIONS, GeneratedCode
from tasks.inputs.sheets import Answer, AnswerRow, is_filled, read_answers, write_answers


class ConfirmationCounts(Record):
    """Numbers of answers that people confirmed, edited and refused on a sheet."""

    confirmed: int = 0
    edited: int = 0
    refused: int = 0


def write_waiting(database: Database, collection: str, folder: Path) -> Path | None:
    """Write the verified answers that nobody has confirmed to a sheet; return its file.

    A sheet that somebody has begun to fill in is left alone, and the new one gets a number.

    Returns:
        The file, or None where nothing waits.
    """
    waiting = [
        item
        for item in generated.load_answers(database, collection)
        if item.status == "verified" and item.confirmed is None
    ]
    if not waiting:
        return None
    file, number = folder / f"{collection}-generated.csv", 1
    while file.exists() and is_filled(file):
        number += 1
        file = folder / f"{collection}-generated-{number}.csv"
    with space_on(folder, OTHER_OUTPUT):
        write_answers(
            [
                Answer(
                    collection=item.collection, query_id=item.query_id, ordinal=item.ordinal,
                    query=item.query, code=item.code, model=item.model, evidence=item.reason,
                )
                for item in waiting
            ],
            file,
        )  # fmt: skip
    return file


def confirm(database: Database, file: Path) -> ConfirmationCounts:
    """Store the answers of a filled-in sheet as people's votes, all of them or none.

    An answer whose code was changed and confirmed becomes a further answer, marked as edited.

    Raises:
        SourceError: A row is malformed, about an answer that this store does not hold, or a
            person's second on one.
    """
    rows = read_answers(file)
    stored = {
        (item.collection, item.query_id, item.ordinal): item
        for collection in generated.collections_with_answers(database)
        for item in generated.load_answers(database, collection)
    }
    changed: list[GeneratedCode] = []
    votes: dict[str, list[GivenVote]] = {}
    for row in rows:
        collection, query_id = row.collection, row.query_id
        answer = stored.get((collection, query_id, row.ordinal))
        if answer is None:
            raise SourceError(
                f"{row.place}: this store holds no answer {row.ordinal} to query {query_id} of "
                f"{collection}: give the store that the sheet is of with --store"
            )
        of_collection = votes.setdefault(collection, [])
        code = _code(row)
        if row.relevance and code.code_id != answer.code_id:
            of_collection.append(_vote(row, answer, 0))
            siblings = [stored[other] for other in stored if other[:2] == (collection, query_id)]
            known = [item for item in siblings if item.code_id == code.code_id]
            if known:  # the sheet was read before
                answer = known[0]
            else:
                ordinal = 1 + max(item.ordinal for item in siblings)
                fields = {"code_id": code.code_id, "code": code.text, "edited": True}
                answer = answer.model_copy(update={"ordinal": ordinal, **fields})
                stored[collection, query_id, ordinal] = answer
                changed.append(answer)
        of_collection.append(_vote(row, answer, row.relevance))
    generated.add_answers(database, [(answer, ()) for answer in changed], votes)
    refused = sum(not row.relevance for row in rows)
    edited = sum(map(len, votes.values())) - len(rows)
    return ConfirmationCounts(
        confirmed=len(rows) - refused - edited, edited=edited, refused=refused
    )


def _code(row: AnswerRow) -> Code:
    try:
        code = Code.of(row.code)
    except ValueError as error:
        raise SourceError(f"{row.place}: {error}") from None
    language = language_named(code.language)
    if row.relevance and not (language and language.is_valid(code.text)):
        raise SourceError(f"{row.place}: the code does not parse as Python 3")
    return code


def _vote(row: AnswerRow, answer: GeneratedCode, relevance: float) -> GivenVote:
    return GivenVote(
        query_id=answer.query_id,
        code_id=answer.code_id,
        annotator=row.annotator,
        origin=CONFIRMATIONS,
        relevance=relevance,
        note=row.note,
        place=row.place,
    )
