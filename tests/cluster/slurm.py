"""A real Slurm on this machine: two nodes of four CPUs and two GPUs, all of them pretended."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil

NODES = ("node1", "node2")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"])
CONFIGURATION = Path("/etc/slurm")
HOSTS = Path("/etc/hosts")
LINKS = ("slurm.conf", "gres.conf")
HOST_LINE = f"127.0.0.1 {' '.join(NODES)} # tests of reattend\n".encode()

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/munge.sock,cred_expire=20
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
EnforcePartLimits=ALL
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,sched_min_interval=0
AccountingStorageType=accounting_storage/none
MinJobAge=3600
KillWait=5
SlurmdTimeout=20
MessageTimeout=60
TCPTimeout=10
SlurmctldTimeout=15
InactiveLimit=0
CompleteWait=0
DefMemPerCPU=500
NodeName=node[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[16821-16822] CPUs=4 \
RealMemory=8000 Gres=gpu:2 State=UNKNOWN
PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=ALL MaxTime=12:00:00 State=UP
"""
GRES = "AutoDetect=off\nNodeName=node[1-2] Name=gpu File={root}/dev/fakegpu[0-1]\n"


def missing() -> str | None:
    """Why no Slurm can be started here, or None."""
    if os.geteuid() != 0:
        return "needs root, for the daemons of Slurm"
    absent = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if absent:
        return f"needs Slurm (apt-get install slurm-wlm munge); not found: {', '.join(absent)}"
    remove_leftovers()
    for name in LINKS:  # a package puts plugstack.conf there, which is no cluster's
        if (path := CONFIGURATION / name).exists():
            return f"this machine has a Slurm of its own, which is left alone: {path}"
    return None


def remove_leftovers() -> None:
    """Of a test run that was killed: its configuration, and daemons that lost their parent."""
    links = [CONFIGURATION / name for name in LINKS]
    links = [link for link in links if link.is_symlink() and "pytest" in str(link.readlink())]
    if not links:  # nothing of ours
        return
    daemons = [
        process
        for process in psutil.process_iter(["name", "ppid"])
        if process.info["name"] in ("munged", "slurmctld", "slurmd")
    ]
    if any(process.info["ppid"] != 1 for process in daemons):  # another test run goes on
        return
    for process in daemons:
        process.kill()
    for link in links:
        link.unlink()
    hosts = HOSTS.read_bytes()
    if HOST_LINE in hosts:
        HOSTS.write_bytes(hosts.replace(HOST_LINE, b""))


class Slurm:
    """Started by `with`; puts /etc/hosts and /etc/slurm back as they were at the end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.daemons: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> "Slurm":
        for name in ("munge", "state", "dev", *(f"spool/{node}" for node in NODES)):
            (self.root / name).mkdir(parents=True)
        (self.root / "munge").chmod(0o755)
        words = {"host": socket.gethostname().split(".")[0], "root": self.root}
        (self.root / "slurm.conf").write_text(CONF.format(**words))
        (self.root / "gres.conf").write_text(GRES.format(**words))
        for number in range(2):  # a character device each, as a GPU has
            os.mknod(self.root / "dev" / f"fakegpu{number}", 0o20666, os.makedev(1, 3))
        self.made_folder = not CONFIGURATION.exists()
        CONFIGURATION.mkdir(exist_ok=True)
        for name in LINKS:
            (CONFIGURATION / name).symlink_to(self.root / name)
        with open(HOSTS, "ab") as file:  # not replaced: a container may hold the file itself
            file.write(HOST_LINE)
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            self.run("scancel", "--me")
            wait_for(lambda: not self.run("squeue", "-h"), "all jobs to end", seconds=20)
        for name in ("slurmctld", *NODES, "munged"):
            self.stop(name)
        for name in LINKS:
            (CONFIGURATION / name).unlink(missing_ok=True)
        if self.made_folder:
            with contextlib.suppress(OSError):
                CONFIGURATION.rmdir()
        HOSTS.write_bytes(HOSTS.read_bytes().replace(HOST_LINE, b""))

    def _start_all(self) -> None:
        munge = self.root / "munge"
        key = munge / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.start(
            "munged",
            *("munged", "--force", "--foreground", f"--socket={munge}/munge.sock"),
            *(f"--key-file={key}", f"--pid-file={munge}/munged.pid"),
            *(f"--log-file={munge}/munged.log", f"--seed-file={munge}/munged.seed"),
        )
        wait_for(lambda: (munge / "munge.sock").exists(), "munge's socket")
        self.start("slurmctld", "slurmctld", "-D", "-i")
        for node in NODES:
            self.start_node(node)
        wait_for(lambda: self.states() == dict.fromkeys(NODES, "idle"), "two idle nodes")

    def start(self, name: str, *command: str) -> None:
        with open(self.root / f"{name}.out", "ab") as out:
            self.daemons[name] = subprocess.Popen(
                command, env=self.environment(), stdout=out, stderr=out, start_new_session=True
            )

    def start_node(self, node: str) -> None:
        self.start(node, "slurmd", "-D", "-N", node)

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        if (daemon := self.daemons.pop(name, None)) is None:
            return
        daemon.send_signal(number)
        try:
            daemon.wait(timeout=20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def lose_node(self, node: str) -> None:
        """As a power cut does: its daemon and all that runs there, gone at once."""
        self.stop(node, signal.SIGKILL)
        lost = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("SLURMD_NODENAME") == node:
                    lost += [process, *(p for p in process.parents() if "slurmstepd" in p.name())]
        for process in lost:
            with contextlib.suppress(psutil.Error):
                process.kill()

    @staticmethod
    def environment() -> dict[str, str]:
        """For Snakemake and daemons; all nodes are one host, whose ranks meet on loopback."""
        return {**os.environ, "PATH": PATH, "GLOO_SOCKET_IFNAME": "lo"}

    def run(self, *command: str) -> str:
        result = subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        return result.stdout

    def states(self) -> dict[str, str]:
        """Node: state."""
        result = subprocess.run(
            ["sinfo", "-h", "-N", "-p", "cpu", "-o", "%N %T"],
            env=self.environment(),
            capture_output=True,
            text=True,
        )
        return dict(line.split() for line in result.stdout.splitlines())

    def end_soon(self, job: str, *, seconds: int = 45) -> None:
        """Let its time limit be a whole minute since its start, and that long or up to a minute
        longer from now: Slurm looks every 30 s whether a warning is due."""
        elapsed = self.run("squeue", "-h", "-j", job, "-o", "%M").strip()
        minutes, elapsed_seconds = map(int, elapsed.split(":")[-2:])
        limit = minutes + (elapsed_seconds + seconds) // 60 + 1
        self.run("scontrol", "update", f"JobId={job}", f"TimeLimit={limit}")

    def jobs(self) -> list[dict[str, str]]:
        """Every job that Slurm remembers, oldest first."""
        names = ("id", "state", "partition", "nodes", "comment", "gres", "limit", "restarts")
        lines = self.run(
            "squeue", "-h", "--states=all", "--sort=i",
            "-o", "%i|%T|%P|%N|%k|%b|%l",
        ).splitlines()  # fmt: skip
        return [dict(zip(names, line.split("|"), strict=False)) for line in lines]


def wait_for(condition, what: str, *, seconds: float = 60.0, step: float = 0.1):
    """What `condition` says once it is true. Raises AssertionError after that long."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(step)
    return found
