"""Evidence for studies, small enough to check by hand."""

from pathlib import Path

from infra.summaries import PairCost, PeopleFigures, ProgramCounts, RankCounts
from tasks.studies import Annotator, BenchmarkFacts, CollectionFacts, Evidence, Mean

CONDITIONS = {
    "source": "cosqa+codesearchnet",
    "queries": "20,604",
    "codes": "15,228",
    "encoders": "codebert-search, unixcoder-collapsed, codet5p-collapsed",
    "top k": "20",
    "model": "openai/some-model",
    "configuration": "paper",
    "benchmark": "made-agents",
    "code base": "candidates, 9,001",
}

# Tables 6 to 8 of the first version: metric → method → means of queries with 2 to 5 matches.
BY_MATCHES = {
    "MRR": {
        "unixcoder": (0.307, 0.427, 0.517, 0.617),
        "codet5p": (0.215, 0.313, 0.404, 0.531),
        "codebert": (0.405, 0.497, 0.571, 0.651),
    },
    "MAP": {
        "unixcoder": (0.285, 0.381, 0.448, 0.525),
        "codet5p": (0.206, 0.288, 0.361, 0.457),
        "codebert": (0.374, 0.416, 0.493, 0.554),
    },
    "MMRR": {
        "unixcoder": (0.192, 0.213, 0.229, 0.273),
        "codet5p": (0.124, 0.141, 0.159, 0.193),
        "codebert": (0.265, 0.265, 0.275, 0.301),
    },
}


def group_scores() -> dict[str, dict[str, dict[int, Mean]]]:
    """Return the published means by method, metric and number of matches."""
    return {
        method: {
            metric: {
                matches: Mean(value=value, n=100 * matches)
                for matches, value in enumerate(methods[method], 2)
            }
            for metric, methods in BY_MATCHES.items()
        }
        for method in BY_MATCHES["MRR"]
    }


def csn_annotations(folder: Path) -> Path:
    """Write annotations of three functions, one graded twice; return the file."""
    file = folder / "annotationStore.csv"
    file.write_text(
        "Language,Query,GitHubUrl,Relevance,Notes\n"
        "Python,sort,u/a,3,\nPython,Sort,u/a,1,\nPython,sort,u/b,0,\nJavascript,sort,u/c,2,\n",
        encoding="utf-8",
    )
    return file


def ncs_sheet(folder: Path) -> Path:
    """Write a sheet of two questions; return the file."""
    file = folder / "score_sheet.csv"
    file.write_text("No.,StackOverflow ID,NCS FRank\n1,11,NF\n2,22,5\n", encoding="utf-8")
    return file


def full_evidence(folder: Path) -> Evidence:
    """Return evidence with every part."""
    scores = {"bm25": 0.28, "unixcoder": 0.187, "somebody's": 0.3}
    metrics = ("NDCG@10", "MRR@10", "MAP@10", "MAP-found@10", "Recall@10", "MMRR", "MRR")
    return Evidence(
        conditions=CONDITIONS,
        collection=CollectionFacts(queries=40, codes=15_228, dropped={"not testable": 4_000}),
        overlaps={
            "codebert": Mean(value=0.25, n=40),
            "unixcoder": Mean(value=0.5, n=40),
            "codet5p": Mean(value=0.125, n=40),
        },
        ranks=[
            RankCounts(rank=rank, labelled=40, matches=round(20 / rank)) for rank in range(1, 21)
        ],
        mismatches={"CoSQA's annotators": Mean(value=0.48, n=604), "agents": Mean(value=0.5, n=20)},
        benchmark=BenchmarkFacts(
            pairs=800,
            codes=500,
            mean_characters=321.5,
            matches_of_queries={0: 10, 1: 15, 2: 9, 4: 6},
            queries_of_codes={1: 30, 2: 8, 3: 3, 12: 1},
        ),
        programs=ProgramCounts(programs=200, tests=900, executed=150),
        costs={
            "clear": PairCost(kind="clear", pairs=600, seconds=6_000.0, dollars=0.3),
            "unclear": PairCost(kind="unclear", pairs=200, seconds=10_000.0, dollars=0.2),
            "all": PairCost(kind="all", pairs=800, seconds=16_000.0, dollars=0.5),
        },
        scores={
            method: {metric: Mean(value=value, n=30) for metric in metrics}
            for method, value in scores.items()
        },
        group_scores=group_scores(),
        rounds=(0.96, 0.97),
        annotators=[
            Annotator(configuration="first", accuracy=0.875, pairs=400),
            Annotator(configuration="second", accuracy=0.625, pairs=400),
            Annotator(configuration="paper", model="x/deepseek-chat", accuracy=0.9, pairs=400),
            Annotator(configuration="single", model="x/deepseek-chat", accuracy=0.8, pairs=400),
            *_of_criterion("v1-half", 0.5, 0.75),
            *_of_criterion("v1-exact", 0.75, 1.0),
        ],
        people=PeopleFigures(
            preferences=200,
            preferred=130,
            timed_without_program=30,
            minutes_without_program=6.5,
            timed_with_program=20,
            minutes_with_program=31.0,
        ),
        annotation_store=csn_annotations(folder),
        score_sheet=ncs_sheet(folder),
    )


def _of_criterion(configuration: str, *people: float) -> list[Annotator]:
    """Return a file of two people and a model against labels by one criterion."""
    file = f"{configuration}.json"
    return [
        *(
            Annotator(configuration=f"person {n}", accuracy=accuracy, pairs=100, file=file)
            for n, accuracy in enumerate(people)
        ),
        Annotator(
            configuration="average human", accuracy=sum(people) / 2, pairs=100,
            alpha_with_people=people[0] / 2, file=file,
        ),
        Annotator(
            configuration=configuration, model="openai/gpt-4o", accuracy=0.6, pairs=100,
            alpha_with_people=0.3, file=file,
        ),
    ]  # fmt: skip
