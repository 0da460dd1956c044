"""Computation of a torch module on a processor by OpenVINO, which is imported where it is used."""

import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tasks.encoders._specs import Precision, Vectors

_INPUTS = ("input_ids", "attention_mask")


class CompiledModule:
    """A torch module that OpenVINO converts and compiles once, for any number of texts and tokens.

    It computes as many batches at a time as there are threads, each on one of them.

    Args:
        module: Takes (texts, tokens) token ids and their mask, returns (texts, dimension) vectors.
        precision: Of the computation; bfloat16 is float32 where the processor has none.
        threads: Number of cores, and of batches that are computed at a time.
    """

    def __init__(self, module: nn.Module, precision: Precision, threads: int) -> None:
        # OpenVINO reports its use by a package, unless that is missing.
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
        import openvino  # noqa: PLC0415 - heavy libraries load when used

        ids = torch.ones((2, 16), dtype=torch.long)
        mask = ids.clone()
        mask[1, 8:] = 0  # padding, or the tracer would leave the mask out
        root = logging.getLogger()
        level, filters = root.level, list(root.filters)
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of tracing: the vectors are compared afterwards
                converted = openvino.convert_model(module, example_input=(ids, mask))
        finally:  # it has silenced all logs of the process but errors
            root.setLevel(level)
            root.filters = filters
        core = openvino.Core()
        native = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        in_half = precision == "bfloat16" and "BF16" in native
        options = {
            "INFERENCE_PRECISION_HINT": "bf16" if in_half else "f32",
            "NUM_STREAMS": threads,
            "INFERENCE_NUM_THREADS": threads,
            "ENABLE_CPU_PINNING": False,  # workers side by side would be pinned to the same cores
        }
        self._compiled = core.compile_model(converted, "CPU", options)
        self._queue = openvino.AsyncInferQueue(self._compiled, threads)
        self._queue.set_callback(_write)

    def __call__(self, features: Mapping[str, Tensor]) -> Vectors:
        """Return (texts, dimension) vectors of one batch."""
        found: Vectors = self._compiled([features[name].numpy() for name in _INPUTS])[0]
        return found

    def start(self, features: Mapping[str, Tensor], rows: Sequence[int], into: Vectors) -> None:
        """Compute a batch, whose vectors are written into these rows; wait while all are busy."""
        self._queue.start_async([features[name].numpy() for name in _INPUTS], (rows, into))

    def wait(self) -> None:
        """Return when all batches are computed."""
        self._queue.wait_all()


def _write(request: Any, place: tuple[Sequence[int], Vectors]) -> None:  # noqa: ANN401 - OpenVINO's
    rows, into = place
    into[rows] = request.get_output_tensor().data
