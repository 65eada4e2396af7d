"""The processes of one training: how they start, find each other, and end.

On one machine `launch` starts them and they meet through a file. On the nodes of a Slurm job
`launch_over_nodes` starts them by srun and they meet at a port of the first node's address, which
rank 0 writes into a file.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from pipeline import slurm
from pipeline.files import read_lines
from pipeline.training.run import TEMPORARY_FAILURE

STOP_SECONDS = 30.0  # what ranks get to end in after one failed, before they are killed
SAVE_SECONDS = 600.0  # and after one was asked to stop: the others may be writing a checkpoint
POLL_SECONDS = 0.2
STORE = "REATTEND_STORE"  # path of the file through which the ranks of one machine meet
STEP = "REATTEND_STEP"  # of ranks that srun started: path of the file that says where they meet
MEETING = ".meeting-"  # its name begins so
MEET_SECONDS = 1800.0  # a node may import torch from a file system that others keep busy
UNHEARD = -signal.SIGTERM  # exit code of a rank that it ended before the rank could listen


@dataclass(frozen=True)
class Rank:
    """One process of `world_size`; device is where its share of the model lives."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def first(self) -> bool:
        return self.rank == 0


def choose_device(name: str) -> str:
    """ "auto", "cpu" or "cuda" to "cpu" or "cuda". Raises ValueError where there is no GPU."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device cuda asked for, but torch sees no GPU here; use device: cpu")
    return name


def launched() -> bool:
    """Whether a launcher (ours, torchrun, srun with its variables) started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def ours() -> bool:
    """Whether `launch` or `launch_over_nodes` started this process, and waits for it."""
    return STORE in os.environ or STEP in os.environ


def take_place() -> None:
    """A rank that srun started learns its number, and where to meet, from its job step.

    They meet on the first node, at the address by which srun there is reached already: a node may
    take its own name for a loopback address.
    """
    if STEP not in os.environ or launched():
        return
    address = os.environ.get("SLURM_LAUNCH_NODE_IPADDR")
    if not address:
        listed = os.environ["SLURM_STEP_NODELIST"]
        nodes = slurm.ask("scontrol", "show", "hostnames", listed)
        if not nodes:
            raise ValueError(f"scontrol can't read the list of nodes: {listed}")
        address = nodes.split()[0]
    os.environ |= {
        "RANK": os.environ["SLURM_PROCID"],
        "LOCAL_RANK": os.environ["SLURM_LOCALID"],
        "WORLD_SIZE": os.environ["SLURM_NTASKS"],
        "MASTER_ADDR": address,
    }


def device_name(device: torch.device) -> str:
    """As its driver names it: "NVIDIA H100 80GB HBM3", "cpu: AMD EPYC 9654", or plain "cpu"."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = read_lines("/proc/cpuinfo")
    except OSError:  # not Linux
        return device.type
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{device.type}: {names[0]}" if names else device.type


def join(device: str) -> Rank:
    """Join the other ranks; a process by itself is rank 0 of 1 and opens no port.

    Ranks of one machine meet through a file; ranks of several through MASTER_ADDR.
    """
    if device == "cpu":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if STORE in os.environ else "")
    if os.environ.get("GLOO_SOCKET_IFNAME") == "":
        del os.environ["GLOO_SOCKET_IFNAME"]
    local = int(os.environ.get("LOCAL_RANK", 0))
    if device == "cuda" and torch.cuda.device_count() == 1:
        local = 0  # a scheduler may show each rank its own GPU alone
    place = torch.device(device, local) if device == "cuda" else torch.device(device)
    if device == "cuda":
        torch.cuda.set_device(place)
    backend = "nccl" if device == "cuda" else "gloo"
    if not launched():
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    else:
        rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        if STORE in os.environ:
            store = dist.FileStore(os.environ[STORE], world_size)
            dist.init_process_group(backend, store=store, rank=rank, world_size=world_size)
        elif STEP in os.environ:
            store = meet(rank, world_size)
            dist.init_process_group(backend, store=store, rank=rank, world_size=world_size)
        else:
            dist.init_process_group(backend, rank=rank, world_size=world_size)
    return Rank(dist.get_rank(), dist.get_world_size(), place)


def meet(rank: int, world_size: int) -> dist.TCPStore:
    """In a store of rank 0, at its own address MASTER_ADDR, never at all its addresses.

    Its port is whichever the system gives: one that is chosen before it is bound may be another's
    by then. The others learn it once it listens. Raises ValueError where they don't.
    """
    place, patience = Path(os.environ[STEP]), timedelta(seconds=MEET_SECONDS)
    if rank == 0:
        family, *_, address = socket.getaddrinfo(
            os.environ["MASTER_ADDR"], 0, type=socket.SOCK_STREAM
        )[0]
        listener = socket.create_server(address, family=family)
        host, port = listener.getsockname()[:2]
        place.write_text(f"{host} {port}\n", encoding="utf-8")
        fd = listener.detach()
    else:
        (host, port), fd = _read_meeting(place), None
    return dist.TCPStore(
        host, port, world_size, is_master=rank == 0, timeout=patience, master_listen_fd=fd
    )


def _read_meeting(place: Path) -> tuple[str, int]:
    """Host and port, once they stand there. It is opened each time: so a network file system shows
    what another node wrote."""
    deadline = time.monotonic() + MEET_SECONDS
    while time.monotonic() < deadline:
        try:
            told = place.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ValueError(
                f"checkpoints must lie in a folder that all nodes see, unlike: {place.parent}"
            ) from None
        if told.endswith("\n"):
            host, port = told.split()
            return host, int(port)
        time.sleep(POLL_SECONDS)
    raise ValueError(f"rank 0 did not say within {MEET_SECONDS:.0f} s where ranks meet: {place}")


def leave() -> None:
    dist.destroy_process_group()


def any_rank(flag: bool, rank: Rank) -> bool:
    """Whether some rank says True; every rank must ask."""
    if rank.world_size == 1:
        return flag
    said = torch.tensor([float(flag)], device=rank.device)
    dist.all_reduce(said, op=dist.ReduceOp.MAX)
    return bool(said.item())


def launch(arguments: list[str], *, ranks: int, stop: Callable[[], bool] = lambda: False) -> int:
    """Run `python -m <arguments>` as that many ranks on this machine; return the exit code.

    When `stop` says True, ranks get SIGTERM. When a rank fails, the others get it, and SIGKILL
    `STOP_SECONDS` later (`SAVE_SECONDS` where it was asked to stop); the code of the first that
    failed is returned, 75 for one that SIGTERM ended before it could listen.
    """
    with tempfile.TemporaryDirectory(prefix="reattend-") as folder:
        environment = os.environ | {
            "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks),
            STORE: str(Path(folder) / "store"),
        }
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", *arguments],
                env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            )
            for rank in range(ranks)
        ]

        try:
            return _wait(processes, stop)
        finally:
            for process in processes:
                process.kill()
                process.wait()


def launch_over_nodes(
    arguments: list[str], *, nodes: int, ranks: int, folder: Path, stop: Callable[[], bool]
) -> int:
    """Run `python -m <arguments>` as that many ranks on each node of this Slurm job, by srun.

    folder: that all nodes see, and no other training uses; ranks learn there where they meet.
    A rank that fails ends the others at once, and so does `stop`. Slurm signals ranks directly, at
    the warning before the time limit too. Returns srun's exit code. Raises ValueError outside of a
    Slurm job.
    """
    if slurm.JOB_ID not in os.environ:
        raise ValueError(
            f"nodes: more than one needs a Slurm job (snakemake --workflow-profile slurm): {nodes}"
        )
    command = [
        *("srun", f"--nodes={nodes}", f"--ntasks={nodes * ranks}", f"--ntasks-per-node={ranks}"),
        f"--cpus-per-task={os.environ.get('OMP_NUM_THREADS', '1')}",
        *("--kill-on-bad-exit=1", "--wait=0", "--input=none"),
        *(sys.executable, "-m", *arguments),
    ]
    for left in folder.glob(f"{MEETING}*"):  # by a launcher that was killed
        left.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(dir=folder.absolute(), prefix=MEETING)
    os.close(handle)
    try:
        return _wait([subprocess.Popen(command, env=os.environ | {STEP: name})], stop)
    finally:
        Path(name).unlink(missing_ok=True)


def _wait(processes: list[subprocess.Popen], stop: Callable[[], bool]) -> int:
    """Until all have ended; the first exit code that is not 0, or `stop`, ends the others."""
    failed, deadline, told = 0, None, False
    while True:
        codes = [process.poll() for process in processes]
        codes = [TEMPORARY_FAILURE if code == UNHEARD else code for code in codes]
        if None not in codes:
            return failed or next((code for code in codes if code), 0)
        if not failed and (failed := next((code for code in codes if code), 0)):
            patience = SAVE_SECONDS if failed == TEMPORARY_FAILURE else STOP_SECONDS
            deadline = time.monotonic() + patience
        if not told and (failed or stop()):
            told = True
            for process in processes:
                process.terminate()
        if deadline is not None and time.monotonic() > deadline:
            return failed
        time.sleep(POLL_SECONDS)
