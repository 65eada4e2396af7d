"""Which GPUs of this machine a step may use, so that no two steps share one by accident.

A GPU is held by a lock on a file of its own, which the kernel lets go when the process ends,
however it ends. Inside a scheduler's job nothing is locked: it has given the job its GPUs.
"""

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from pipeline.progress import log

VISIBLE = "CUDA_VISIBLE_DEVICES"
SCHEDULERS = ("SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID", "JOB_ID", "KUBERNETES_SERVICE_HOST")
POLL_SECONDS = 1.0


def visible() -> list[str]:
    """Names of the GPUs that this process may use; what CUDA_VISIBLE_DEVICES leaves of them."""
    known = _of_driver()
    chosen = os.environ.get(VISIBLE)
    if chosen is None:
        return known
    names = [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    return [known[int(n)] if n.isdigit() and int(n) < len(known) else n for n in names]


def _of_driver() -> list[str]:
    """UUIDs by nvidia-smi: of GPUs, or of the slices (MIG) that one is cut into."""
    if shutil.which("nvidia-smi") is None:
        return []
    try:
        result = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, errors="replace", timeout=60
        )
    except subprocess.TimeoutExpired:
        return []
    found: list[str] = []
    for name in re.findall(r"UUID: ((?:GPU|MIG)-[\w/-]+)", result.stdout):
        if name.startswith("MIG") and found and found[-1].startswith("GPU"):
            found.pop()  # listed before its slices; it can't be used as a whole
        found.append(name)
    return found


@contextmanager
def claimed(count: int) -> Iterator[list[str]]:
    """Hold `count` GPUs until the block ends, waiting until so many are free.

    CUDA_VISIBLE_DEVICES then names them alone. Nothing happens where there is no GPU or where a
    scheduler placed this job. Raises ValueError where this machine has fewer.
    """
    names = [] if any(name in os.environ for name in SCHEDULERS) else visible()
    if not names:
        yield []
        return
    if count > len(names):
        raise ValueError(f"ranks: this machine has {len(names)} GPUs to use: {count}")
    with ExitStack() as stack:
        held = _take(names, count, stack)
        previous = os.environ.get(VISIBLE)
        os.environ[VISIBLE] = ",".join(held)
        try:
            yield held
        finally:
            if previous is None:
                del os.environ[VISIBLE]
            else:
                os.environ[VISIBLE] = previous


def _take(names: list[str], count: int, stack: ExitStack) -> list[str]:
    """One process at a time gathers GPUs, so that two that want several can't block each other."""
    folder = _folder()
    held: dict[str, object] = {}
    told = False
    with open(folder / "queue", "ab") as queue:
        if not _try(queue):
            log(f"waiting for a free GPU: {count} of {len(names)}")
            told = True
            fcntl.flock(queue, fcntl.LOCK_EX)
        while True:
            for name in names:
                if name not in held and len(held) < count:
                    file = open(folder / name.replace("/", "_"), "ab")  # noqa: SIM115
                    if _try(file):
                        held[name] = stack.enter_context(file)
                    else:
                        file.close()
            if len(held) == count:
                return [name for name in names if name in held]
            if not told:
                log(f"waiting for a free GPU: {count} of {len(names)}")
                told = True
            time.sleep(POLL_SECONDS)


def _try(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _folder() -> Path:
    """Locks of this user. Raises ValueError where another user made the folder."""
    folder = Path(os.environ.get("REATTEND_GPU_LOCKS", f"/tmp/reattend-gpus-{os.getuid()}"))
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise ValueError(f"the folder of GPU locks belongs to another user: {folder}")
    return folder
