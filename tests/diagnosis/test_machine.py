"""Cores, memory, disk, locale and Slurm, on machines made for the test."""

import os
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from pipeline.diagnosis import hardware, limits, place

GIB = 1 << 30
QUOTA_2 = {"cpu.max": "200000 100000"}


@pytest.fixture
def machine(tmp_path):
    """A root folder: lines of /proc/self/cgroup, files of groups, and memory in GiB."""

    def make(lines="0::/\n", groups=None, *, total=16, available=8):
        kernel = {
            "proc/self/cgroup": lines,
            "proc/meminfo": f"MemTotal: {total * GIB // 1024} kB\n"
            f"MemAvailable: {int(available * GIB) // 1024} kB\n",
        }
        for group, files in (groups or {}).items():
            kernel |= {f"sys/fs/cgroup/{group}/{name}": text for name, text in files.items()}
        for name, text in kernel.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text + "\n")
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("lines", "groups", "quota"),
    [
        ("0::/a/b", {"a/b": QUOTA_2}, 2.0),
        ("0::/a/b", {"a": {"cpu.max": "50000 100000"}, "a/b": QUOTA_2}, 0.5),  # the least counts
        ("0::/a", {"a": {"cpu.max": "max 100000"}}, None),
        ("0::/../b", {".": QUOTA_2}, 2.0),  # a group outside of what a container sees
        ("5:cpu,cpuacct:/j", {"cpu/j": {"cpu.cfs_quota_us": "150000",
                                        "cpu.cfs_period_us": "100000"}}, 1.5),
        ("5:cpu,cpuacct:/j", {"cpu/j": {"cpu.cfs_quota_us": "-1",
                                        "cpu.cfs_period_us": "100000"}}, None),
        ("", {}, None),
    ],
)  # fmt: skip
def test_quota_of_cpus(machine, lines, groups, quota):
    assert limits.cores(machine(lines, groups)).quota == quota


def test_fewer_cpus_than_snakemake_takes_are_a_warning(machine, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    (finding,) = hardware.cores(machine("0::/", {".": QUOTA_2}))
    assert finding.state == "warning"
    assert "8 of this machine's 64" in finding.text
    assert "snakemake --cores 2" in finding.fix
    (finding,) = hardware.cores(machine("0::/", {".": {"cpu.max": "max 100000"}}))
    assert (finding.state, finding.text) == ("ok", "8 of this machine's 64")


def test_a_system_without_affinity_counts_all_its_cpus(machine, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    assert limits.cores(machine()).usable == 10


def test_memory_is_the_least_of_machine_and_groups(machine):
    plain = limits.memory(machine())
    assert (plain.total, plain.available, plain.limited) == (16 * GIB, 8 * GIB, False)
    files = {
        "memory.max": str(4 * GIB),
        "memory.current": str(3 * GIB),
        "memory.stat": f"anon 1\ninactive_file {GIB}",
    }
    held = limits.memory(machine("0::/a", {"a": files}))
    assert (held.total, held.available, held.limited) == (4 * GIB, 2 * GIB, True)
    old = {"memory.limit_in_bytes": str(1 << 62), "memory.usage_in_bytes": "0"}
    assert not limits.memory(machine("3:memory:/a", {"memory/a": old})).limited


@pytest.mark.parametrize(
    ("available", "state", "fix"),
    [(8, "ok", ""), (3, "warning", "--cores 2"), (0.5, "error", "free 1.25 GiB")],
)
def test_memory_for_trainings_side_by_side(machine, monkeypatch, available, state, fix):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(4)), raising=False)
    (finding,) = hardware.memory("demo", machine(available=available))
    assert finding.state == state
    assert fix in finding.fix
    assert hardware.memory("paper", machine(available=available))[0].state == "ok"


@pytest.fixture
def folder(tmp_path, project_folder, monkeypatch):
    """A project's folder to stand in, without results."""
    shutil.copytree(project_folder / "config", tmp_path / "config")
    (tmp_path / "Snakefile").write_text("")
    (tmp_path / "profiles" / "default").mkdir(parents=True)
    (tmp_path / "profiles" / "default" / "config.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def statvfs(*, free, files=1 << 20, of_files=1 << 20):
    return lambda path: SimpleNamespace(
        f_bavail=free >> 12, f_frsize=1 << 12, f_favail=files, f_files=of_files
    )


def test_a_full_disk_is_an_error(folder, monkeypatch):
    monkeypatch.setattr(os, "statvfs", statvfs(free=100 * GIB))
    assert place.disk("demo")[0].state == "ok"
    monkeypatch.setattr(os, "statvfs", statvfs(free=GIB))
    (finding,) = place.disk("demo")
    assert finding.state == "error"
    assert finding.text.startswith("1.0 GiB free for results/")
    assert "python -m pipeline checkpoints" in finding.fix
    monkeypatch.setattr(os, "statvfs", statvfs(free=100 * GIB, files=12))
    assert "only 12 more files" in place.disk("demo")[0].text
    monkeypatch.setattr(os, "statvfs", statvfs(free=100 * GIB, files=0, of_files=0))  # not counted
    assert place.disk("demo")[0].state == "ok"


def needed(finding):
    return float(finding.text.partition("free for results/, ")[2].split()[0])


def test_what_is_written_already_needs_no_room(folder):
    scales = {scale: needed(place.disk(scale)[0]) for scale in ("demo", "lab", "paper")}
    assert 0.5 < scales["demo"] < 10 < 100 < scales["paper"]
    (folder / "results" / "demo" / "checkpoints").mkdir(parents=True)
    with open(folder / "results" / "demo" / "checkpoints" / "weights", "wb") as file:
        file.truncate(GIB)
    (finding,) = place.disk("demo")
    assert needed(finding) == pytest.approx(scales["demo"] - 1, abs=0.11)


def test_without_packages_the_disk_is_still_looked_at(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pipeline.config.loading", None)
    monkeypatch.setattr(os, "statvfs", statvfs(free=GIB // 4))
    (finding,) = place.disk(None)
    assert finding.state == "error"
    assert "what a scale writes is not told" in finding.text


@pytest.fixture
def small_disk(tmp_path):
    """A tmpfs of one MiB."""
    point = tmp_path / "small"
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(point)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield point
    subprocess.run(["umount", "--lazy", str(point)], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_a_folder_on_a_full_disk_is_an_error(small_disk, project_folder, monkeypatch):
    shutil.copytree(project_folder / "config" / "scales", small_disk / "config")
    (small_disk / "Snakefile").write_text("")
    monkeypatch.chdir(small_disk)
    with pytest.raises(OSError, match="No space"):
        fill("rest")
    (finding,) = place.project()
    assert (finding.state, "No space left on device" in finding.text) == ("error", True)
    (finding,) = place.judged_disk(small_disk / "results", need=GIB, words="")
    assert (finding.state, finding.text[:12]) == ("error", "0.0 GiB free")


def test_the_folder(folder, monkeypatch):
    assert place.project()[0].state == "ok"
    (folder / "profiles" / "default" / "config.yaml").unlink()
    assert (place.project()[0].state, place.project()[0].fix) == (
        "warning",
        "ln -s workflow/profiles profiles",
    )
    (folder / "results").mkdir()
    assert sorted(os.listdir(folder / "results")) == []
    monkeypatch.setattr(place.fcntl, "flock", refuse_locks)
    assert (place.project()[0].state, "locks no files" in place.project()[0].text) == (
        "error",
        True,
    )


def test_another_folder_than_the_projects(folder, project_folder, monkeypatch):
    (folder / "results").mkdir()
    monkeypatch.chdir(folder / "results")
    (finding,) = place.project()
    assert finding.text == f"no Snakefile here: {folder / 'results'}"
    assert (finding.state, finding.fix) == ("warning", f"cd {project_folder}")
    monkeypatch.setattr(place, "CODE", folder / "elsewhere")  # as of an installed package
    assert place.project()[0].state == "error"


def refuse_locks(*_):
    raise OSError(38, "Function not implemented")


@pytest.mark.parametrize(
    ("script", "state", "said"),
    [
        (None, "ok", "not on this machine"),
        ("echo 'gpu*|2|64|512000|1-00:00:00|gpu:a100:4(S:0-1)'\n"
         "echo 'cpu|8|64|256000|infinite|(null)'", "ok", "partitions gpu, cpu; 8 GPUs"),
        ("echo 'Unable to contact slurm controller' >&2; exit 1", "warning", "no cluster answers"),
        ("exec sleep 30", "warning", "no cluster answers"),
    ],
)  # fmt: skip
def test_slurm(tmp_path, monkeypatch, script, state, said):
    sleep = shutil.which("sleep")
    (tmp_path / "sleep").symlink_to(sleep)
    if script:
        (tmp_path / "sinfo").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(place, "SLURM_SECONDS", 0.5)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    (finding,) = place.slurm()
    assert (finding.state, said in finding.text) == (state, True), finding
