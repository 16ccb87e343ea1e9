"""Names of devices: where members are fitted and samples are scored."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

#: Memory that the work of one block may use on torch's CPU, and as a share of a GPU's memory.
CPU_BYTES, GPU_SHARE = 512 * 2**20, 0.5
#: Matrices (n, n) of a fit with a kernel: the kernel's, two inverses, and what they are made from.
MATRICES = 5


def resolve_device(name: str) -> torch.device | None:
    """Find the device that a name means.

    Parameters
    ----------
    name : {"cpu", "torch", "cuda", "cuda:<number>", "auto"}
        ``"torch"`` is the batched engine on torch's CPU; ``"auto"`` is ``"cuda"`` where torch
        sees a CUDA device, else ``"cpu"``.

    Returns
    -------
    torch.device or None
        None: no torch, compiled code on the CPU.

    Examples
    --------
    >>> resolve_device("cpu")
    >>> resolve_device("gpu")
    Traceback (most recent call last):
        ...
    ValueError: device must be 'cpu', 'torch', 'cuda', 'cuda:<number>' or 'auto', got 'gpu'.
    """
    if not (isinstance(name, str) and re.fullmatch(r"cpu|torch|cuda(:\d+)?|auto", name)):
        raise ValueError(
            f"device must be 'cpu', 'torch', 'cuda', 'cuda:<number>' or 'auto', got {name!r}."
        )
    if name == "cpu":
        return None
    try:
        import torch
    except ImportError as error:
        if name == "auto":
            return None
        raise ImportError(
            f"device={name!r} needs torch: pip install 'svmproba[gpu]', or use device='cpu'."
        ) from error
    if name == "torch":
        return torch.device("cpu")
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return torch.device("cuda") if n_devices else None
    device = torch.device(name)
    if (device.index or 0) >= n_devices:
        seen = f"{n_devices} CUDA devices" if n_devices else "no CUDA device"
        raise RuntimeError(
            f"device={name!r}: torch {torch.__version__} sees {seen}. "
            "Use device='cpu' (or 'auto', which falls back to it)."
        )
    return device


def memory_budget(device: torch.device) -> int:
    """Bytes that one block of work may use: a fixed size on torch's CPU, a share of a GPU's memory.

    It does not depend on what else runs, and so neither do the results.
    """
    if device.type == "cpu":
        return CPU_BYTES
    import torch

    return int(GPU_SHARE * torch.cuda.get_device_properties(device).total_memory)


def exact_rows(name: str) -> int | None:
    """Return up to how many samples a kernel is exact on a GPU; None: as on the CPU."""
    device = resolve_device(name)
    if device is None or device.type == "cpu":
        return None
    return math.isqrt(memory_budget(device) // (8 * MATRICES))
