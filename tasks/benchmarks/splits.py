"""Splits of a benchmark's queries into train, dev and test, alike in their numbers of matches."""

from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from infra.identity import mark
from infra.records import Code, Label, Query

SPLITS = ("train", "dev", "test")
_NAMES = {"valid": "dev", "validation": "dev"}


def count_matches(queries: Iterable[str], answered: Iterable[str]) -> dict[str, int]:
    """Return query → number of its relevant codes, by the query of each relevant label."""
    return dict.fromkeys(queries, 0) | Counter(answered)


def split_queries(matches: Mapping[str, int], ratio: str, seed: int) -> dict[str, str]:
    """Return query → train, dev or test.

    As the authors of CoSQA+ split: by query, so that all pairs of one are in one part; the N
    queries of each number of matches are shuffled and cut at 8 N // 10 and N // 10 (for 8:1:1), the
    rest is test. The order of the shuffle is that of digests of seed and query, so that queries
    which are added later leave most others where they are.

    Args:
        matches: Query → number of relevant codes; those without any are a group too.
        ratio: The shares of train, dev and test, such as ``8:1:1``.
        seed: The same one gives the same split.
    """
    train, dev, test = map(int, ratio.split(":"))
    whole = train + dev + test
    groups: dict[int, list[str]] = {}
    for query, number in matches.items():
        groups.setdefault(number, []).append(query)
    parts: dict[str, str] = {}
    for queries in groups.values():
        shuffled = sorted(queries, key=lambda query: mark("split", str(seed), query))
        trained, tuned = len(queries) * train // whole, len(queries) * dev // whole
        names = ["train"] * trained + ["dev"] * tuned
        names += ["test"] * (len(queries) - len(names))
        parts |= zip(shuffled, names, strict=True)
    return parts


def split_repositories(homes: Mapping[str, str], ratio: str, seed: int) -> dict[str, str]:
    """Return query → train, dev or test, all queries of a repository in one part.

    As CodeSearchNet splits (arXiv 1909.09436): so a model meets no project of the test in
    training. Repositories go, the largest first, where most queries are lacking; a part that is
    left empty takes the smallest of the part that has most of them.

    Args:
        homes: Query → the repository of the code that answers it.
        ratio: The shares of train, dev and test, such as ``8:1:1``.
        seed: The same one gives the same split.
    """
    shares = dict(zip(SPLITS, map(int, ratio.split(":")), strict=True))
    lacking = {part: len(homes) * share / sum(shares.values()) for part, share in shares.items()}
    placed: dict[str, str] = {}
    sizes = Counter(homes.values())
    for name in sorted(sizes, key=lambda name: (-sizes[name], mark("split", str(seed), name))):
        placed[name] = max(SPLITS, key=lambda part: lacking[part])
        lacking[placed[name]] -= sizes[name]
    for part in (part for part in reversed(SPLITS) if shares[part]):
        counts = Counter(placed.values())
        most = max(counts, key=counts.__getitem__, default="")
        if part not in counts and counts[most] > 1:
            placed[[name for name in placed if placed[name] == most][-1]] = part
    return {query: placed[name] for query, name in homes.items()}


def repositories_by_query(codes: Iterable[Code], labels: Iterable[Label]) -> dict[str, str]:
    """Return query → the repository of the code that answers it."""
    repositories = {code.code_id: repository_of(code) for code in codes}
    found = (label for label in labels if label.code_id in repositories)
    return {label.query_id: repositories[label.code_id] for label in found if label.relevance > 0}


def published_split(queries: Iterable[Query]) -> dict[str, str]:
    """Return query → part as the source has it, where each has one and all parts are met."""
    split = {str(each.query_id): _NAMES.get(each.split, each.split) for each in queries}
    return split if set(split.values()) == set(SPLITS) else {}


def repository_of(code: Code) -> str:
    """Return the repository that a code's address names, else the package of its module."""
    path = [part for part in urlsplit(code.url).path.split("/") if part]
    return "/".join(path[:2]) or code.module.partition(".")[0] or code.origin.partition("/")[0]
