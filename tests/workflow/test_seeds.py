"""Two seeds from `--config` to the table, the disk they took, and Snakemake's own report."""

import json
import random
import statistics
import subprocess
import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest

from pipeline.evaluation.scores import score_of
from pipeline.evaluation.significance import paired_test
from pipeline.files import read_lines, write_lines

SEEDS = (1, 2)
KEPT = ("ende_base", "ende_big")
FOLDER = "results/tiny"


@pytest.fixture(scope="module")
def seeded(tiny):
    """Table 2 of base and big, each trained with two seeds."""
    for path in (tiny.folder / "config" / "experiments").glob("*.yaml"):
        if path.stem not in KEPT:
            path.unlink()
    (tiny.folder / "config" / "searches" / "parsing.yaml").unlink()
    target = (f"{FOLDER}/tables/table2.md", "--config", "seeds=[1,2]")
    tiny.make(*target)
    # after twelve updates a model says nothing: what it would say is put in its output's place
    references = read_lines(tiny.folder / FOLDER / "corpora" / "tiny" / "text" / "test.de")
    for number, (experiment, seed) in enumerate(product(KEPT, SEEDS)):
        draw = random.Random(number)
        lost = [
            " ".join(word for word in line.split(" ") if draw.random() > 0.05 + 0.03 * number)
            for line in references
        ]
        write_lines(evaluation(tiny, experiment, seed) / "hypotheses.txt", lost)
    tiny.make(*target)
    return tiny


def evaluation(workspace, experiment, seed):
    (path,) = workspace.folder.glob(f"{FOLDER}/runs/{experiment}-seed{seed}/average*/test")
    return path


def bleus(workspace, experiment):
    files = [evaluation(workspace, experiment, seed) / "scores.json" for seed in SEEDS]
    scores = [json.loads(file.read_text()) for file in files]
    assert [score["seed"] for score in scores] == list(SEEDS)
    return [score["scores"]["tokenized_bleu"]["score"] for score in scores]


def test_tables_give_mean_and_deviation_over_seeds(seeded):
    tables = seeded.folder / FOLDER / "tables"
    table = pd.read_csv(tables / "table2.csv").set_index("experiment")
    for experiment in KEPT:
        values = bleus(seeded, experiment)
        found = table.loc[experiment]
        assert found["n_seeds"] == len(SEEDS)
        assert found["tokenized_bleu"] == pytest.approx(statistics.mean(values))
        assert found["tokenized_bleu_deviation"] == pytest.approx(statistics.stdev(values))
        assert min(values) > 10
        assert statistics.stdev(values) > 0.1
        shown = f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"
        assert f"{shown} [" in (tables / "table2.md").read_text()
        assert f"{shown} <span" in (tables / "table2.html").read_text()
        latex = shown.replace("±", r"$\pm$")
        assert rf"\textbf{{{latex}}}" in (tables / "table2.tex").read_text()


def test_a_row_without_a_run_is_blank_and_says_why(seeded):
    table = pd.read_csv(seeded.folder / FOLDER / "tables" / "table2.csv").set_index("experiment")
    assert table.loc["enfr_base", "remark"].startswith("not run at scale tiny")
    assert np.isnan(table.loc["enfr_base", "tokenized_bleu"])


def test_a_published_value_reruns_its_table_alone(seeded):
    path = seeded.folder / "config" / "paper" / "table2.yaml"
    before = path.read_text()
    path.write_text(before.replace("tokenized_bleu: 28.4", "tokenized_bleu: 28.5"))
    planned = seeded.planned(f"{FOLDER}/tables/table2.md", "--config", "seeds=[1,2]")
    path.write_text(before)
    assert planned == {"table2": 1}


@pytest.mark.parametrize("suffix", ["csv", "tex", "html"])
def test_a_file_of_a_table_that_is_gone_is_made_again(seeded, suffix):
    everything = ("--config", "seeds=[1,2]", "results=table2")
    before = seeded.planned(*everything)
    assert "table2" not in before
    path = seeded.folder / FOLDER / "tables" / f"table2.{suffix}"
    aside = path.rename(path.with_suffix(".aside"))
    assert seeded.planned(*everything)["table2"] == 1
    aside.rename(path)
    assert seeded.planned(*everything) == before


def test_the_distance_of_big_from_base_is_tested_over_both_seeds(seeded):
    counts = []
    for experiment in KEPT:
        files = [evaluation(seeded, experiment, seed) / "statistics.npz" for seed in SEEDS]
        counts.append(sum(np.load(file)["tokenized_bleu"] for file in files))
    expected = paired_test(*counts, score_of("tokenized_bleu"))
    table = pd.read_csv(seeded.folder / FOLDER / "tables" / "table2.csv").set_index("experiment")
    assert table.loc["ende_big", "from_base_p_value"] == pytest.approx(expected["p_value"])
    assert expected["p_value"] < 1
    means = [statistics.mean(bleus(seeded, experiment)) for experiment in KEPT]
    assert table.loc["ende_big", "from_base"] == pytest.approx(means[1] - means[0])


def test_seeds_give_different_weights_of_the_same_data(seeded):
    runs = [
        json.loads((seeded.folder / FOLDER / f"runs/ende_base-seed{seed}/train.json").read_text())
        for seed in SEEDS
    ]
    first, second = (run["checkpoints"][-1]["sha256"] for run in runs)
    assert first != second
    assert runs[0]["data"] == runs[1]["data"]
    assert {"energy_joules", "energy_source"} <= runs[0].keys()


def test_plan_knows_the_disk_that_this_took(seeded):
    """Checkpoints and models of both seeds, to a tenth: small files have large headers."""
    code = (
        "import json; from pathlib import Path; from pipeline.config.loading import load_project;"
        "from pipeline.results.planning import plan_project;"
        "project = load_project('config', {'seeds': [1, 2]});"
        "plans, _ = plan_project(project, results=Path('results'));"
        "print(json.dumps([(p.experiment, p.checkpoint_bytes, p.parameters) for p in plans]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=seeded.folder, capture_output=True, text=True, check=True
    )
    plans = json.loads(done.stdout)
    folder = seeded.folder / FOLDER
    files = folder.glob("checkpoints/*/step-*/*.safetensors")
    real = sum(path.stat().st_size for path in files)
    assert sum(size for _, size, _ in plans) == pytest.approx(real, rel=0.1)
    for experiment, _, parameters in plans:
        models = list(folder.glob(f"runs/{experiment}-seed?/average*/model/model.safetensors"))
        assert len(models) >= len(SEEDS)
        for model in models:
            assert 4 * parameters == pytest.approx(model.stat().st_size, rel=0.1)


def test_snakemakes_own_report_holds_the_table_and_its_caption(seeded):
    target = f"{FOLDER}/tables/table2.md"
    seeded.make("--report", "snakemake.html", target, "--config", "seeds=[1,2]")
    page = (seeded.folder / "snakemake.html").read_text()
    assert "Translation quality and training cost: the paper" in page  # workflow/report/table2.rst
    assert "scale tiny" in page
    assert "Attention Is All You Need" in page  # workflow/report/workflow.rst
    assert "table2.html" in page
