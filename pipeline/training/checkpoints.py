"""Checkpoints that appear whole or not at all, and fit any number of ranks and ZeRO stage.

    <folder>/step-00000500/model.safetensors                     weights by their names
                           optimizer-00000-of-00002.safetensors  Adam's moments: slices of all
                                                                 parameters laid end to end
                           state.json                            all else, and every file's sha256

A folder is filled under another name and renamed last, when every rank has written its part.
"""

import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from pipeline.errors import naming_damage, naming_full_disk
from pipeline.files import atomic_path, read_json, sha256_of, write_json
from pipeline.progress import log
from pipeline.training.ranks import Rank

STEP_NAME = re.compile(r"step-(\d{8})")
WEIGHTS, STATE = "model.safetensors", "state.json"
POLL_SECONDS = 0.05
PATIENCE_SECONDS = 600.0


@dataclass(frozen=True)
class Checkpoint:
    """One whole checkpoint; `state` is what state.json holds."""

    path: Path
    state: dict[str, Any]

    @property
    def step(self) -> int:
        return self.state["step"]

    @property
    def weights(self) -> Path:
        return self.path / WEIGHTS

    def read_moments(self) -> Callable[[str, int, int], Tensor]:
        """A function that reads [start, end) of a moment, whatever slices it was written in."""
        pieces = []
        for name in sorted(self.state["files"]):
            if name.startswith("optimizer-"):
                path = self.path / name
                with naming_damage(path, SafetensorError), safe_open(path, framework="pt") as file:
                    start, end = (int(file.metadata()[key]) for key in ("start", "end"))
                pieces.append((start, end, self.path / name))

        def read(moment: str, start: int, end: int) -> Tensor:
            parts = []
            for first, last, path in pieces:
                low, high = max(first, start), min(last, end)
                if low < high:
                    with (
                        naming_damage(path, SafetensorError),
                        safe_open(path, framework="pt") as file,
                    ):
                        parts.append(file.get_slice(moment)[low - first : high - first])
            return torch.cat(parts) if parts else torch.empty(0)

        return read


def folder_of(root: Path, step: int) -> Path:
    return root / f"step-{step:08d}"


def partial_of(root: Path, step: int) -> Path:
    """Where a checkpoint is filled before it gets its name."""
    return root / f".{folder_of(root, step).name}.partial"


def steps_in(root: Path) -> list[int]:
    """Steps of the checkpoints that appeared in a folder, ascending; nothing is read."""
    found = (STEP_NAME.fullmatch(entry.name) for entry in root.iterdir()) if root.exists() else ()
    return sorted(int(match[1]) for match in found if match)


def read_checkpoint(root: Path, step: int) -> Checkpoint:
    """Read and verify one. Raises ValueError naming the file that is missing or damaged."""
    path = folder_of(root, step)
    try:
        state = read_json(path / STATE)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path / STATE}: not readable: {error}") from None
    for name, digest in state["files"].items():
        if not (path / name).exists() or sha256_of(path / name) != digest:
            raise ValueError(f"{path / name}: missing or not what was written; remove {path}")
    return Checkpoint(path, state)


def newest_whole(root: Path) -> Checkpoint | None:
    """The newest checkpoint that verifies; damaged newer ones are named in the log and removed."""
    for step in reversed(steps_in(root)):
        try:
            return read_checkpoint(root, step)
        except ValueError as error:
            log(f"falling back to the checkpoint before step {step}: {error}")
            shutil.rmtree(folder_of(root, step))
    return None


def newest_on_all_ranks(folder: Path, rank: Rank) -> Checkpoint | None:
    """Rank 0 looks (and removes what is damaged); the others read the one that it found."""
    found = None
    if rank.first:
        clear_partial(folder)
        found = newest_whole(folder)
    if rank.world_size == 1:
        return found
    step = torch.tensor([found.step if found else -1], device=rank.device)
    dist.broadcast(step, src=0)
    if int(step) < 0:
        return None
    return found or read_checkpoint(folder, int(step))


class Writer:
    """Writes checkpoints of one rank in a thread of its own, one at a time.

    The tensors handed over must be copies: training goes on meanwhile. Ranks wait for each other
    through the files alone, since collectives belong to the training thread.
    """

    def __init__(self, root: Path, *, rank: int, world_size: int) -> None:
        self.root = root
        self.rank = rank
        self.world_size = world_size
        self.thread: threading.Thread | None = None
        self.error: BaseException | None = None

    def write(
        self,
        state: dict[str, Any],
        weights: dict[str, Tensor] | None,
        moments: tuple[dict[str, Tensor], int, int] | None,
        *,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Start writing; `weights` come from rank 0. `then` runs on rank 0 once it is whole."""
        self.wait()
        self.thread = threading.Thread(target=self._run, args=(state, weights, moments, then))
        self.thread.start()

    def wait(self) -> None:
        """Until what was started is whole. Raises what went wrong while writing."""
        if self.thread is not None:
            self.thread.join()
            self.thread = None
        if self.error is not None:
            raise self.error

    def _run(self, state, weights, moments, then) -> None:
        try:
            self._write(state, weights, moments)
            if self.rank == 0:
                then()
        except BaseException as error:  # handed to the training thread by `wait`
            shutil.rmtree(partial_of(self.root, state["step"]), ignore_errors=True)
            self.error = error

    def _write(self, state, weights, moments) -> None:
        final = folder_of(self.root, state["step"])
        partial = partial_of(self.root, state["step"])
        with naming_full_disk(final):
            partial.mkdir(parents=True, exist_ok=True)
        if moments is not None:
            flat, start, end = moments
            slice_ = {"start": str(start), "end": str(end)}
            name = f"optimizer-{self.rank:05d}-of-{state['shards']:05d}.safetensors"
            with atomic_path(partial / name) as path:
                save_file(flat, path, metadata=slice_)
        if self.rank != 0:
            return
        with atomic_path(partial / WEIGHTS) as path:
            save_file(weights, path)
        names = [
            f"optimizer-{rank:05d}-of-{state['shards']:05d}.safetensors"
            for rank in range(state["shards"])
        ]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not all((partial / name).exists() for name in names):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{partial}: a rank did not write its part of the checkpoint")
            time.sleep(POLL_SECONDS)
        files = {name: sha256_of(partial / name) for name in [WEIGHTS, *names]}
        write_json(partial / STATE, {**state, "files": files})
        if final.exists():
            shutil.rmtree(final)
        os.replace(partial, final)


def clear_partial(root: Path) -> None:
    """Remove what a killed run left half written."""
    for entry in root.glob(".step-*.partial"):
        shutil.rmtree(entry)


def prune(root: Path, *, interval: int, last: int, keep: int) -> None:
    """Remove all but the last `keep` checkpoints of the interval (and of step `last`), and the
    newest two of any kind: one to resume from and one to fall back to."""
    steps = steps_in(root)
    regular = regular_steps(root, interval=interval, last=last)
    for step in set(steps) - set(regular[-keep:]) - set(steps[-2:]):
        shutil.rmtree(folder_of(root, step))


def regular_steps(root: Path, *, interval: int, last: int) -> list[int]:
    """Steps of the checkpoints that averaging may use: of the interval, and the last step."""
    return [step for step in steps_in(root) if step % interval == 0 or step == last]


def check_sections(checkpoint: Checkpoint, sections: dict[str, Any]) -> None:
    """Raise ValueError naming the first setting in which a checkpoint differs from `sections`."""
    then, now = (dict(_flatten(s)) for s in (checkpoint.state["sections"], sections))
    for key in sorted(then.keys() | now.keys()):
        if then.get(key) != now.get(key):
            raise ValueError(
                f"{checkpoint.path} was trained with {key}: {then.get(key)}, but now {key} is "
                f"{now.get(key)}; train into another folder or restore the setting"
            )


def _flatten(data: dict[str, Any], prefix: str = ""):
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", list(value) if isinstance(value, tuple) else value


def load_weights(checkpoint: Checkpoint, model: nn.Module) -> None:
    """Set a model's parameters. Raises ValueError where names or shapes differ."""
    try:
        with naming_damage(checkpoint.weights, SafetensorError):
            weights = load_file(checkpoint.weights)
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{checkpoint.weights} does not fit the model: {error}") from None
