"""Where inference runs."""

import torch


def choose_device(name: str) -> torch.device:
    """`auto` is the GPU if there is one. Raises ValueError for one that this machine lacks."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device must be auto, cpu or one this machine has: {name}") from error
    return device
