"""How long scoring takes: python -m bench.scoring [--hypotheses F --references F --languages en-de]

Without files it scores 3,003 generated lines of the lengths of newstest2014. Writes
results/bench/scoring.json: seconds of a whole process with and without intervals (wall and CPU),
seconds of each part within one process, and peak memory. Run it on a quiet machine.
"""

import argparse
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

N_LINES = 3003
MEAN_WORDS = 21
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hypotheses")
    parser.add_argument("--references")
    parser.add_argument("--languages", default="en-de")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", default="results/bench/scoring.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not options.hypotheses:
            options.hypotheses, options.references = generate(Path(folder))
        measured = measure(options)
    from pipeline.files import commit, write_json

    write_json(options.output, {**measured, "machine": machine(), "commit": commit()})
    for name, value in measured.items():
        print(f"{name}: {value}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    base = [
        sys.executable, "-m", "pipeline", "score", "--hypotheses", options.hypotheses,
        "--references", options.references, "--languages", options.languages,
    ]  # fmt: skip
    whole = {
        "process_without_intervals": [*base, "--resamples", "0"],
        "process": base,
        "process_two_systems": [*base, "--hypotheses", options.references],
    }
    seconds: dict[str, list[float]] = defaultdict(list)
    for _ in range(options.rounds):  # interleaved, so that a slow moment hits all alike
        for name, command in whole.items():
            before = children_cpu_seconds()
            seconds[f"{name}_seconds"].append(timed(lambda command=command: run(command)))
            seconds[f"{name}_cpu_seconds"].append(children_cpu_seconds() - before)
    return {
        **{name: min(values) for name, values in seconds.items()},
        "process_peak_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        **parts(options),
    }


def parts(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of each part, in this process."""
    found: dict[str, Any] = {}
    start = time.perf_counter()
    from pipeline.evaluation import scores
    from pipeline.evaluation.bleu import translation_metrics
    from pipeline.files import read_lines

    found["import_seconds"] = time.perf_counter() - start
    hypotheses, references = read_lines(options.hypotheses), read_lines(options.references)
    found["lines"] = len(references)
    for name, metric in translation_metrics(options.languages).items():
        found[f"{name}_seconds"] = timed(
            lambda metric=metric: metric.corpus_score(hypotheses, [references])
        )
    scored = scores.score_translations(hypotheses, references, languages=options.languages)
    for name, counts in scored.statistics.items():
        compute = scores.score_of(name)
        found[f"{name}_interval_seconds"] = timed(
            lambda counts=counts, compute=compute: scores.bootstrap_interval(counts, compute)
        )
    return found


def children_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def generate(folder: Path) -> tuple[str, str]:
    """Lines of made-up words whose frequencies fall as those of text; 15 % of words lost."""
    draw = random.Random(1)
    syllables = ["ba", "ne", "ki", "lo", "schu", "ter", "ung", "mä", "ße", "in", "ver", "da"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 5))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    references = []
    for _ in range(N_LINES):
        length = max(1, round(draw.lognormvariate(0, 0.6) * MEAN_WORDS * 0.85))
        line = draw.choices(words, weights, k=length)
        references.append(" ".join(line).capitalize() + draw.choice([".", "?", ", aber-doch."]))
    hypotheses = [
        " ".join(word for word in line.split() if draw.random() > 0.15) for line in references
    ]
    paths = folder / "hypotheses.de", folder / "references.de"
    for path, lines in zip(paths, (hypotheses, references), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(paths[0]), str(paths[1])


def machine() -> dict[str, str]:
    return {"processor": platform.machine(), "python": platform.python_version()}


if __name__ == "__main__":
    main()
