"""No compiler is needed at run time, as doctor and the documents say."""

import os
import subprocess
import sys

# Every program that this process starts, however it does so.
WATCHED = """
import os, runpy, sys
sys.path.insert(0, os.getcwd())
STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"}
def started(event, arguments):
    if event in STARTS:
        program = os.path.basename(os.fsdecode(arguments[0]))
        os.write(2, b"\\nstarted\\t" + program.encode() + b"\\n")
sys.addaudithook(started)
runpy.run_module("pipeline.steps.train", run_name="__main__", alter_sys=True)
"""


def test_a_training_starts_no_compiler(arguments, tmp_path, project_folder):
    steps = {"max_steps": 2, "warmup_steps": 1, "checkpoint_interval_steps": 1}
    options = arguments(tmp_path, training_changes={**steps, "dev_interval_steps": 2}, keep=1)
    result = subprocess.run(
        [sys.executable, "-c", WATCHED, *options],
        cwd=project_folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "train.json").exists()
    rows = [line.split("\t") for line in result.stderr.split("\n") if line.startswith("started")]
    programs = {row[1] for row in rows}
    assert "git" in programs  # the hook sees what is started
    assert programs <= {"git", "nvidia-smi"}
