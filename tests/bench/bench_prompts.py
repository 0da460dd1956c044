"""How many tokens a pair takes, by role: the guideline's limits are 1,300 in and 350 out.

    COSQA_DATA=... python -m tests.bench.bench_prompts [--configuration paper]

Real pairs, hand-written replies, GPT-4's tokens (cl100k). The rival is what a pair would take if
every role were asked about every pair.
"""

import argparse
import asyncio
import os
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from agents import build_committee
from infra.settings import (
    AnnotationSettings,
    Configuration,
    LanguageModelSettings,
    Settings,
    StoreSettings,
)
from tests.agents.cosqa import Scripted, as_the_labels_say, scripted_pairs
from tests.bench.measure import cosqa_data
from tests.fakes.llm_server import KEY, ScriptedServer

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

Sizes = dict[str, list[tuple[int, int]]]


def tokens(text: str) -> int:
    """Return the length of a text in GPT-4's tokens."""
    import litellm  # noqa: PLC0415 - takes seconds

    return len(litellm.encode(model="gpt-4", text=text))


async def sizes_by_role(scripted: list[Scripted], configuration: Configuration) -> Sizes:
    """Return role → (tokens in, tokens out) of each call over all pairs."""
    found: Sizes = defaultdict(list)
    script = [rule for item in scripted for rule in item.rules()]
    with ScriptedServer(script) as server, tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            llm=LanguageModelSettings(
                model="openai/scripted", base_url=server.base_url, api_key=SecretStr(KEY)
            ),
            store=StoreSettings(folder=Path(folder)),
            annotation=AnnotationSettings(configuration=configuration),
        )
        sandbox = as_the_labels_say(scripted)
        committee = build_committee(settings, "bench", sandbox)
        for item in scripted:
            asked = len(server.calls)
            made = await committee.judge(item.pair)
            for sent, call in zip(server.calls[asked:], made.calls, strict=True):
                prompt = "\n".join(message["content"] for message in sent["messages"])
                found[call.role].append((tokens(prompt), tokens(call.reply)))
        await committee.close()
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--configuration", default="paper")
    chosen: Configuration = parser.parse_args().configuration
    cosqa_data()
    scripted = scripted_pairs()
    found = asyncio.run(sizes_by_role(scripted, chosen))
    table = Table(title=f"{chosen}: {len(scripted)} pairs", title_justify="left")
    for column in ("role", "calls", "in, mean", "in, median", "in, most", "out, mean", "out, most"):
        table.add_column(column, justify="left" if column == "role" else "right")
    for role, calls in found.items():
        sent, said = [call[0] for call in calls], [call[1] for call in calls]
        figures = fmean(sent), median(sent), max(sent), fmean(said), max(said)
        table.add_row(role, str(len(calls)), *(f"{figure:,.0f}" for figure in figures))
    Console().print(table)
    everything = [call for calls in found.values() for call in calls]
    pairs = len(scripted)
    means = (
        sum(call[0] for call in everything) / pairs,
        sum(call[1] for call in everything) / pairs,
    )
    rival = sum(fmean(call[0] for call in calls) for calls in found.values())
    print(f"a pair: {means[0]:,.0f} in, {means[1]:,.0f} out")
    print(f"every role on every pair: {rival:,.0f} in")


if __name__ == "__main__":
    main()
