"""Section 6.1: one model out of the last checkpoints of a training."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from pipeline.errors import naming_damage
from pipeline.files import sha256_of


def last_checkpoints(train: dict[str, Any], n_average: int) -> list[dict[str, Any]]:
    """The last n entries of train.json's checkpoints, ascending, each verified.

    Raises ValueError where there are fewer, or a file is missing or not what training wrote.
    """
    available = train["checkpoints"]
    if n_average < 1 or len(available) < n_average:
        raise ValueError(
            f"n_average must be from 1 to the {len(available)} checkpoints that run "
            f"{train['run']} kept (to have more, remove {train['folder']} and train again): "
            f"{n_average}"
        )
    chosen = available[-n_average:]
    for checkpoint in chosen:
        path = Path(checkpoint["path"])
        if not path.exists() or sha256_of(path) != checkpoint["sha256"]:
            raise ValueError(
                f"missing, or not what run {train['run']} wrote; train it again: {path}"
            )
    return chosen


def average(paths: list[Path]) -> dict[str, Tensor]:
    """Mean of the weights of one model's checkpoints, tensor by tensor.

    Sums are float64, so that equal checkpoints give exactly themselves; memory is that of one
    model and a tensor or two. A matrix used in several places is one entry of a file, so it
    stays one. Raises ValueError where names or shapes differ: these are not one model's.
    """
    with ExitStack() as stack:
        files = []
        for path in paths:
            with naming_damage(path, SafetensorError):
                files.append(stack.enter_context(safe_open(path, framework="pt")))
        names = sorted(files[0].keys())
        for path, file in zip(paths, files, strict=True):
            if sorted(file.keys()) != names:
                raise ValueError(f"other weights than in {paths[0]}: {path}")
        return {name: _mean(name, paths, files) for name in names}


def _mean(name: str, paths: list[Path], files: list[Any]) -> Tensor:
    first = files[0].get_tensor(name)
    total = first.double()
    for path, file in zip(paths[1:], files[1:], strict=True):
        tensor = file.get_tensor(name)
        if tensor.shape != first.shape:
            raise ValueError(
                f"{path}: {name} has the shape {tuple(tensor.shape)}, but in {paths[0]} "
                f"{tuple(first.shape)}"
            )
        total += tensor
    return total.div_(len(files)).to(torch.float32)
