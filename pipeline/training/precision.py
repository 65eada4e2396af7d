"""Which products `training.precision: auto` takes: those of the device that trains.

One answer for all ranks and for all of a training, since curves of both must not mix: a training
that goes on keeps what it began with.
"""

import torch

from pipeline.model.rates import bf16_price, native_bf16, processor_class
from pipeline.progress import log
from pipeline.training.checkpoints import Checkpoint
from pipeline.training.ranks import Rank, any_rank


def resolve_precision(asked: str, *, began: Checkpoint | None, rank: Rank) -> str:
    """fp32 or bf16 for `asked` (fp32, bf16 or auto); every rank must ask.

    auto is bf16 where the devices of all ranks multiply it natively (`native_bf16`), else fp32.
    began: the checkpoint to go on from, None for a new training. Raises ValueError where that was
    trained in bf16 and the device of some rank has no native bf16.
    """
    before = began.state["precision"] if began and asked == "auto" else asked
    if before == "fp32":
        return "fp32"
    native = not any_rank(not native_bf16(rank.device), rank)
    if asked == "bf16":
        if not native and rank.first:
            log(f"warning: {_price(rank)}; training.precision auto would take fp32: bf16")
        return "bf16"
    if before == "bf16" and not native:
        raise ValueError(
            f"this training began in bf16, and {_price(rank)}; let it go on where bf16 is native, "
            f"or remove its checkpoints, and it begins anew in fp32: {began.path.parent}"
        )
    taken = "bf16" if native else "fp32"
    if rank.first:
        log(f"products in {taken}, by training.precision auto: {device_class(rank)}")
    return taken


def device_class(rank: Rank) -> str:
    """What kind of products the device has: "x86-64 AVX2", "compute capability 9.0"."""
    if rank.device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(rank.device)
        return f"compute capability {major}.{minor}"
    return processor_class()


def _price(rank: Rank) -> str:
    return f"{bf16_price(rank.device)} ({device_class(rank)})"
