"""What a user sees when something is wrong: one line that says so, on the terminal."""

import re

import pytest
import yaml

SUBWORDS = "results/tiny/corpora/tiny/subwords"


def test_the_error_of_a_step_is_on_the_terminal_and_success_is_quiet(fresh):
    path = fresh.folder / "config" / "corpora" / "tiny.yaml"
    right = path.read_text()
    corpus = yaml.safe_load(right)
    corpus["subwords"]["vocab_size"] = 60_000
    path.write_text(yaml.safe_dump(corpus))
    result = fresh.run(SUBWORDS)
    assert result.returncode == 1
    output = result.stdout + result.stderr
    (line,) = [line for line in output.split("\n") if line.startswith("error: ")]
    assert "tiny" in line
    assert "vocab_size" in line
    assert "Traceback" not in output
    log = (fresh.folder / "results/tiny/logs/learn_subwords/tiny.log").read_text()
    assert "Traceback" in log

    path.write_text(right)
    output = fresh.make(SUBWORDS)
    assert not re.search(r"^error", output, re.M | re.I)
    written = (fresh.folder / "results/tiny/logs/learn_subwords/tiny.log").read_text()
    assert not [line for line in written.split("\n") if line and line in output]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("true", 0, ""),
        ("echo 12:00:01 half >&2; exit 7", 7, "error: exit code 7\n"),
        ("echo 12:00:01 half >&2; echo download: no a >&2; exit 1", 1, "download: no a\n"),
        ("sh -c 'kill -9 $$'", 137, "error: killed by signal 9 (memory, a time limit?)\n"),
        ("python -c 'raise ValueError(\"a: 1\\n  fix\")'", 1, "error: a: 1\n  fix\n"),
        (
            'python -c \'import argparse; argparse.ArgumentParser("p").parse_args(["x"])\'',
            2,
            "p: error: unrecognized arguments: x\n",
        ),
    ],
)
def test_show_error_keeps_the_exit_code(fresh, command, code, said):
    """A rule of the same form, in a workflow that has the project's rules."""
    rule = f"""
rule probe:
    output: "probe.txt"
    log: "probe.log"
    shell: {"(" + command + ") 2> {log:q} && touch {output} || show_error {log:q}"!r}
"""
    snakefile = fresh.folder / "Snakefile"
    snakefile.write_text(snakefile.read_text() + rule)
    result = fresh.run("probe.txt", "--keep-incomplete")
    output = result.stdout + result.stderr
    assert result.returncode == bool(code)
    assert said in output
    assert bool(re.search(r"^error: |: error: |^download: ", output, re.M)) == bool(said)
    assert "half" not in output.replace(command, "")


def test_the_command_line_sets_lists_and_single_names(fresh):
    settings = ("--config", "seeds=[1,2,3]", "results=ende_base", "data_root=0123")
    (fresh.folder / "0123").mkdir()
    assert fresh.planned(*settings)["train"] == 3
    assert fresh.planned("--config", "seeds=2,5")["train"] == 2
    result = fresh.run("-n", "--config", "seeds=[1,1]")
    assert result.returncode == 1
    assert "command line: seeds: has an entry twice: 1" in result.stdout + result.stderr
    result = fresh.run("-n", "--config", "seeds=[1,1]", "scale=no", "data_root=/no/such/folder")
    for said in ("seeds: has an entry twice: 1", "no.yaml", "must be a folder: /no/such/folder"):
        assert said in result.stderr


def test_wrong_folders_are_refused_before_any_job(fresh):
    result = fresh.run("-n", "--config", "data_root=pyproject.toml")
    assert result.returncode == 1
    assert "data_root must be a folder: pyproject.toml" in result.stdout + result.stderr
    (fresh.folder / "results/tiny").mkdir(parents=True, exist_ok=True)
    path = fresh.folder / "results/tiny/search"
    path.write_text("a note")
    result = fresh.run("-n")
    path.unlink()
    said = result.stdout + result.stderr
    assert result.returncode == 1
    assert "move the file away: results/tiny/search" in said
    assert "Traceback" not in said


def test_a_broken_config_file_is_named_with_its_line(fresh):
    path = fresh.folder / "config" / "config.yaml"
    number = len(path.read_text().split("\n"))
    path.write_text(path.read_text() + "seeds: [1\n")
    result = fresh.run("-n")
    output = result.stdout + result.stderr
    assert result.returncode == 1
    assert re.search(rf"^config/config\.yaml:{number + 1}: not valid YAML: ", output, re.M)
    assert "Traceback" not in output


def test_a_config_file_of_other_bytes_is_named_with_its_line(fresh):
    path = fresh.folder / "config" / "config.yaml"
    number = path.read_text().count("\n") + 1
    path.write_bytes(path.read_bytes() + b"# caf\xe9\n")
    result = fresh.run("-n")
    said = result.stdout + result.stderr
    assert result.returncode == 1
    assert f"config/config.yaml:{number}: not UTF-8" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("      - {group: ours, label: mine, experment: x}", "experment: Extra inputs"),
        ("- {group: ours}", r":\d+: not valid YAML"),
    ],
)
def test_a_wrong_row_of_a_table_stops_before_any_training(fresh, line, said):
    path = fresh.folder / "config" / "paper" / "table3.yaml"
    path.write_text(path.read_text() + line + "\n")
    result = fresh.run("-n", "table3")
    output = result.stdout + result.stderr
    assert result.returncode == 1
    assert re.search(
        r"^config/paper/table3\.yaml" + (said if said[0] == ":" else ".*" + said), output, re.M
    )
    assert "Traceback" not in output
