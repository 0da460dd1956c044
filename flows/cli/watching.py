"""The table of the commands that watch and steer runs."""

from flows.cli.lazy import Command

WATCHING = {
    "status": Command(
        "Show what runs on a store: progress, cost, labels, what waits and what comes next.",
        options="steering_options:status",
        action="steering:show_status",
        details="It is drawn anew every second until Ctrl-C; into a file or a pipe it is printed "
        "once. With PREFECT_API_URL set it shows runs that wait for approval and those that are "
        "scheduled.",
        examples=("cosqa status", "cosqa status --once --store cosqa-data"),
    ),
    "pause": Command(
        "Pause annotation: pairs in flight are finished, no more are started.",
        options="steering_options:pause",
        action="steering:change_controls",
        details="Annotation that judges obeys within seconds and waits; it holds for later runs "
        "too, until `cosqa resume`. What else asks a model goes on: `generate`, `annotators "
        "compare` and methods that re-rank.",
        examples=("cosqa pause",),
    ),
    "resume": Command(
        "Continue annotation after `cosqa pause`.",
        options="steering_options:resume",
        action="steering:resume",
        details="It does not answer a run that waits for approval: `cosqa approve` does. A "
        "deployment that was paused on the Prefect server because the budget that all runs share "
        "is spent stays so until it is named: raise COSQA_LLM__BUDGET_USD, or run `cosqa limit "
        "--budget-usd`, and then resume it with --deployment. `cosqa status` names those that are "
        "paused.",
        examples=("cosqa resume", "cosqa resume --deployment annotate"),
    ),
    "limit": Command(
        "Change how many pairs are in flight, requests a minute and the budget, while a run goes "
        "on.",
        options="steering_options:limit",
        action="steering:change_controls",
        details="Annotation obeys within seconds; `generate`, `annotators compare` and methods "
        "that re-rank keep the requests a minute and the budget that are set when they begin. "
        "Limits are kept in the store, with who set them, and hold for later runs until they are "
        "changed or cleared. Without an option it prints those in force.",
        examples=(
            "cosqa limit --in-flight 8",
            "cosqa limit --requests-per-minute 60 --budget-usd 5",
            "cosqa limit --clear",
        ),
    ),
    "approve": Command(
        "Approve the plan of a run that waits on the Prefect server, as Resume does in its UI.",
        options="steering_options:approve",
        action="steering:answer",
        details="The server is that of PREFECT_API_URL, else the one on this machine.",
        examples=("cosqa approve", "cosqa approve --budget-usd 2 --reason new_queries"),
    ),
    "decline": Command(
        "Decline the plan of a run that waits on the Prefect server: it judges nothing.",
        options="steering_options:decline",
        action="steering:answer",
        examples=("cosqa decline",),
    ),
    "pair": Command(
        "Show how a pair was judged: its texts, each label, all calls and executions.",
        options="steering_options:pair",
        action="steering:show_pair",
        examples=("cosqa pair 1f0c9a 77b2e4",),
    ),
}
