"""Models that are trained from nothing: joint embeddings of queries and code.

To add one, write a file (of any name) with a subclass of `tasks.training.joint.JointModel` and
decorate it with ``@models.register("name")``; its ``recipe`` is how its paper trains it.
`tests/tasks/training/models/test_conformance.py` tests it from then on. After
``cosqa train --base NAME`` it is an encoder, which ``checkpoint:FOLDER`` names.
"""

from typing import Any

from infra.registry import Registry
from tasks.encoders import encoders

models: Registry[Any] = Registry("model to train", "tasks.training.models", one_per_file=False)


def is_untrained(base: str) -> bool:
    """Return True for a model that begins with nothing, rather than an encoder.

    Encoders are asked first, since the models' names take the import of torch.
    """
    return not encoders.has(base) and base in models.names()
