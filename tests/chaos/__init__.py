"""Chaos: annotation runs in which processes die, disks fill and stores are held, from a seed.

    python -m tests.chaos --seeds 50 [--pairs 2000]     # those of COSQA_NIGHT, and a table
    python -m tests.chaos --seed 17                     # one again

A seed says what breaks and when. A run is the product's own command over a scripted model, as
processes like a user's; after each break the harness does what a user would do: the same command
again. At the end the laws of `tests.chaos.laws` must hold.

``pairs`` has what is annotated, ``breaks`` what can break, ``services`` the processes around a run,
``harness`` what all seeds share, ``running_system`` a run with its services, ``one_seed`` one seed
from start to end, ``laws`` what must hold then.
"""
