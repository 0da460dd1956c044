"""Dense layers in an encoder's dtype, with their weights laid out ahead for the processor.

Nearly all arithmetic of a transformer is in its dense layers. On an x86 processor oneDNN computes
them from weights in its own layout, faster than torch's layers, which stay elsewhere. Layer
normalisation, sums and pooling are in float32 whatever the dtype.
"""

import platform
from typing import TYPE_CHECKING

import torch
from torch import nn

from infra.errors import EncoderError

if TYPE_CHECKING:
    from tasks.encoders import Dtype

HALF = {"bfloat16": torch.bfloat16, "float16": torch.float16}
_ROWS = 1024  # tokens of a batch, for which oneDNN chooses the layout
_NOT_IN_INT8 = ("pooler", "proj")  # small, and last: their error would be the vector's


class PackedLinear(nn.Module):
    """A dense layer over weights in oneDNN's layout.

    Args:
        layer: The layer that it stands for.
        dtype: Of weights, products and result; sums are in float32.
    """

    def __init__(self, layer: nn.Linear, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = None  # what others look for in a dense layer
        self._dtype = dtype
        weight = layer.weight.detach().to(dtype)
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight, _ROWS)  # noqa: SLF001
        self._bias = None if layer.bias is None else layer.bias.detach().to(dtype)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return (..., out) from (..., in)."""
        linear = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001
        result: torch.Tensor = linear(
            rows.to(self._dtype), self._packed, self._bias, "none", [], ""
        )
        return result


class Int8Linear(nn.Module):
    """A dense layer in 8-bit integers: a scale for each output's weights and for each token.

    Args:
        layer: The layer that it stands for.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight = None
        weight = layer.weight.detach()
        scales = _scales(weight)
        integers = (weight / scales).round().to(torch.int8).contiguous()
        self._packed = torch.ops.onednn.qlinear_prepack(integers, None)
        self._scales = scales.flatten()
        self._zeros = torch.zeros(len(weight), dtype=torch.int64)
        self._bias = torch.zeros(len(weight)) if layer.bias is None else layer.bias.detach()

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return (..., out) from (..., in), both in float32."""
        tokens = rows.reshape(-1, rows.shape[-1])
        scales = _scales(tokens)
        unsigned = (tokens / scales).add_(128.5).to(torch.uint8)  # rounded, 128 standing for 0
        products = torch.ops.onednn.qlinear_pointwise(
            unsigned, 1.0, 128, self._packed, self._scales, self._zeros, None, 1.0, 0,
            torch.float32, "none", [], "",
        )  # fmt: skip
        return torch.addcmul(self._bias, products, scales).view(*rows.shape[:-1], -1)


def _scales(rows: torch.Tensor) -> torch.Tensor:
    """Return (n, 1) factors by which each row's largest number is 127."""
    return rows.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127


def check_dtype(name: str, dtype: "Dtype", device: torch.device) -> None:
    """Refuse a dtype that this machine has no instructions for.

    Another dtype in its place would store other vectors under the same identity.

    Raises:
        EncoderError: It cannot be computed here.
    """
    has = torch.cpu.get_capabilities()
    on_gpu = device.type == "cuda"
    able = {
        "float32": True,
        "float16": on_gpu,
        "bfloat16": torch.cuda.is_bf16_supported(including_emulation=False)
        if on_gpu
        else any("bf16" in key and has[key] for key in has),
        # Older instructions add products in 16 bits, which overflow.
        "int8": not on_gpu
        and _has_onednn()
        and any(has.get(key) for key in ("avx512_vnni", "avx_vnni", "amx_int8")),
    }
    if not able[dtype]:
        where = "this GPU" if on_gpu else f"this processor ({platform.machine()})"
        raise EncoderError(
            f"encoder {name}: {where} has no fast instructions for {dtype}; name the encoder "
            f"without @{dtype}, which is float32, or run it where there are"
        )


def lay_out(model: nn.Module, dtype: "Dtype", device: torch.device) -> None:
    """Put a model's dense layers into a dtype and into oneDNN's layout, where it computes them.

    LoRA's own layers stay as they are, and all layers on a GPU, where autocast knows the dtype.
    """
    if device.type == "cuda" or not _has_onednn():
        return
    for name, layer in list(model.named_modules()):
        if type(layer) is nn.Linear and "lora_" not in name:
            parent, _, attribute = name.rpartition(".")
            in_int8 = dtype == "int8" and not name.startswith(_NOT_IN_INT8)
            packed = (
                Int8Linear(layer)
                if in_int8
                else PackedLinear(layer, HALF.get(dtype, torch.float32))
            )
            setattr(model.get_submodule(parent), attribute, packed)


def _has_onednn() -> bool:
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return x86 and bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]
