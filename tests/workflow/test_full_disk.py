"""A full disk at any stage: one line that names the file and the fix, nothing half-written, and
after space was freed the next run goes on."""

import re
import subprocess

import pytest

R = "results/tiny"
CORPUS, AVERAGE = f"{R}/corpora/tiny", f"{R}/runs/ende_base-seed1/average2"
STAGES = {  # a target, and the bytes that are left before it is made
    "generate": (f"{CORPUS}/raw", 8_000),
    "prepare": (f"{CORPUS}/text", 8_000),
    "learn_subwords": (f"{CORPUS}/subwords", 8_000),
    "encode": (f"{CORPUS}/encoded", 8_000),
    "bucket": (f"{CORPUS}/buckets", 0),
    "card": (f"{CORPUS}/card", 8_000),
    "train": (f"{R}/runs/ende_base-seed1/train.json", 60_000),
    "average": (f"{AVERAGE}/model", 8_000),
    "decode": (f"{AVERAGE}/test/hypotheses.txt", 0),
    "score": (f"{AVERAGE}/test/scores.json", 0),
    "layer_times": (f"{R}/layer_times.json", 0),
    "table1": (f"{R}/tables/table1.md", 8_000),
}
DISK_BYTES = 24 << 20


@pytest.fixture(scope="module")
def small_disk(make_workspace, tmp_path_factory):
    """A workspace whose results lie on a disk of its own."""
    workspace = make_workspace(tmp_path_factory.mktemp("full"))
    results = workspace.folder / "results"
    results.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(results)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield workspace
    subprocess.run(["umount", "--lazy", str(results)], check=True)


def fill(path, left):
    """Write zeros until no more than `left` bytes can be written."""
    with open(path, "wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(1 << 16))
        except OSError:
            stream.truncate(max(0, stream.tell() - left))


@pytest.mark.parametrize("rule", STAGES)
def test_a_stage_says_so_and_goes_on_once_there_is_space(small_disk, rule):
    target, left = STAGES[rule]
    filler = small_disk.folder / "results" / "filler"
    fill(filler, left)
    result = small_disk.run(target, "--retries", "0")
    filler.unlink()
    output = result.stdout + result.stderr
    assert result.returncode == 1, output
    assert "Traceback" not in output
    lines = [line for line in output.split("\n") if re.match(r"(\d\d:\d\d:\d\d )?error: ", line)]
    assert lines, output
    assert all("no space left" in line and R in line and "free some" in line for line in lines)
    half = [
        path
        for path in (small_disk.folder / "results").rglob("*")
        if path.name.endswith(".partial") or re.match(r"\.step-", path.name)
    ]
    assert not half
    assert f"{rule} " in output
    small_disk.make(target)


def test_what_came_of_it_is_what_a_quiet_run_makes(small_disk, tiny):
    for path in (f"{AVERAGE}/model/model.safetensors", f"{AVERAGE}/test/hypotheses.txt"):
        assert (small_disk.folder / path).read_bytes() == (tiny.folder / path).read_bytes()
