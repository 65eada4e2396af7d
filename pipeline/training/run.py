"""One training job as the step sees it: which folder it belongs to, and what is done there."""

import fcntl
import os
import platform
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config.schema import ModelConfig, TrainingConfig
from pipeline.encoded import SIDES
from pipeline.files import commit, fingerprint, read_json, sha256_of, write_json
from pipeline.gpus import claimed
from pipeline.progress import log

FINISHED, LOCK = "finished.json", "lock"
TEMPORARY_FAILURE = 75  # EX_TEMPFAIL of sysexits.h: run it again
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train and how.

    checkpoints: folder of all trainings' folders. max_tokens: padded tokens of a micro-batch on
    its larger side. ranks: processes on each of `nodes` machines. keep: regular checkpoints that
    remain. safety_minutes: longest time without a checkpoint. Only model, training,
    seed and the content of `encoded` decide the weights.
    """

    encoded: Path
    buckets: Path
    checkpoints: Path
    model: ModelConfig
    training: TrainingConfig
    seed: int
    max_tokens: int
    ranks: int = 1
    nodes: int = 1
    zero_stage: int = 0
    device: str = "auto"
    keep: int = 1
    safety_minutes: float = 10.0

    def sections(self) -> dict[str, Any]:
        """What the weights depend on, as plain data."""
        return {
            "data": data_digest(self.encoded),
            "model": self.model.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
            "seed": self.seed,
        }

    @property
    def folder(self) -> Path:
        """Where its checkpoints lie: named by all that the weights depend on."""
        return self.checkpoints / fingerprint(self.sections())


def data_digest(encoded: Path) -> str:
    """Digest of the content of the train and dev arrays; the manifest's own where it has them."""
    manifest = read_json(encoded / "encode.json")
    digests = {"vocab_size": manifest["vocab_size"]}
    for split in ("train", "dev"):
        known = manifest["splits"][split].get("sha256", {})
        for name in (f"{side}_{part}" for side in SIDES for part in ("tokens", "offsets")):
            path = encoded / split / f"{name}.npy"
            digests[f"{split}/{name}"] = known.get(name) or sha256_of(path)
    return fingerprint(digests)


def run(
    job: Job, *, names: dict[str, Any], output: Path, arguments: list[str], stop: "StopSignal"
) -> int:
    """Train, or find that it was done; write `output` (train.json); return an exit code.

    names: what train.json says about whose run it is. arguments: of this process, for its ranks.
    stop: listens from the first step on at the latest.
    """
    from pipeline.training import ranks  # torch, which takes a second to import

    ranks.take_place()
    sections = job.sections()
    folder = job.folder
    first = int(os.environ.get("RANK", 0)) == 0
    ours = ranks.ours()
    with nullcontext() if ours or not first else locked(folder):
        facts = None if ours else finished(folder)
        if facts is None:
            if first and not ours:
                (folder / FINISHED).unlink(missing_ok=True)  # of checkpoints since damaged
            if ranks.launched():
                code = _train_here(job, sections, folder, stop)
            else:
                code = _launch(job, sections, folder, arguments, stop)
            if code or ours or not first:
                return code
            if not (folder / FINISHED).exists():  # stopped: ranks that srun started end with 0
                return TEMPORARY_FAILURE
            facts = read_json(folder / FINISHED)
        elif first:
            log(f"trained already, in {facts['elapsed_seconds']:.0f} s: {folder}")
        if first:
            declare(folder, facts, output=output, names=names)
    return 0


def _launch(
    job: Job, sections: dict[str, Any], folder: Path, arguments: list[str], stop: "StopSignal"
) -> int:
    """Train in this process, in several here, or in several on each node of a Slurm job."""
    from pipeline.training import ranks

    if job.nodes > 1:
        return ranks.launch_over_nodes(
            arguments, nodes=job.nodes, ranks=job.ranks, folder=folder, stop=stop
        )
    with nullcontext() if job.device == "cpu" else claimed(job.ranks):
        if job.ranks > 1:
            return ranks.launch(arguments, ranks=job.ranks, stop=stop.listen())
        return _train_here(job, sections, folder, stop)


def _train_here(job: Job, sections: dict[str, Any], folder: Path, stop: "StopSignal") -> int:
    """As one rank; rank 0 leaves finished.json in the folder."""
    from pipeline.training import loop, ranks

    rank = ranks.join(ranks.choose_device(job.device))
    try:
        facts = loop.train(job, sections, folder, rank, stop=stop.listen())
        if rank.first:
            write_json(folder / FINISHED, {"commit": commit(), **sections, **facts})
    except loop.Interrupted as interrupted:
        log(str(interrupted))
        # srun would kill the ranks that still write their part after the first that ends with 75
        return 0 if ranks.STEP in os.environ else TEMPORARY_FAILURE
    except (ValueError, FloatingPointError, MemoryError) as error:
        log(f"error: {error}")
        return 1
    finally:
        ranks.leave()
    return 0


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a training folder. Raises ValueError naming the process that trains there already."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOCK, "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "process unknown"
            raise ValueError(
                f"another job is training in this folder, {holder}; wait for it or stop it: "
                f"{folder}"
            ) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {platform.node()}\n")
        lock.flush()
        yield


def finished(folder: Path) -> dict[str, Any] | None:
    """Facts of a training that reached its end here and whose checkpoints are all whole."""
    if not (folder / FINISHED).exists():
        return None
    facts = read_json(folder / FINISHED)
    for checkpoint in facts["checkpoints"]:
        path = Path(folder / checkpoint["path"])
        if not path.exists() or sha256_of(path) != checkpoint["sha256"]:
            log(f"trained already, but this checkpoint is missing or damaged: {path}")
            return None
    return facts


def declare(folder: Path, facts: dict[str, Any], *, output: Path, names: dict[str, Any]) -> None:
    """Write train.json: the facts, whose run it is, and paths from the working directory."""
    checkpoints = [{**entry, "path": str(folder / entry["path"])} for entry in facts["checkpoints"]]
    about = {"step": "train", "fingerprint": folder.name, "folder": str(folder), **names}
    write_json(output, {**about, **facts, "checkpoints": checkpoints})


class StopSignal:
    """Says whether SIGTERM or SIGINT came since `listen`. They end the process no more: one that
    comes after the last step must not turn a whole training into a failed one."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def listen(self) -> "StopSignal":
        for number in STOP_SIGNALS:
            signal.signal(number, lambda *_: self.event.set())
        return self

    def __call__(self) -> bool:
        return self.event.is_set()


def answer_stop_signals(handler: signal.Handlers) -> None:
    """From now on by SIG_DFL, which ends the process, or SIG_IGN. Handlers in Python would be
    taken away while the process shuts down; these are not."""
    for number in STOP_SIGNALS:
        signal.signal(number, handler)
