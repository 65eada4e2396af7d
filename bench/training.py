"""Training speed and memory beside torch's nn.Transformer and Hugging Face's Marian.

    python -m bench.training --output results/bench/training.json
    python -m bench.training --isa avx2 --precisions fp32 --output results/bench/training_avx2.json

The base model, 37,000 pieces, about 4,096 target tokens an update, lengths as in newstest. Each
run is a process of its own; programs are interleaved, round by round, and compared within rounds.
Keep other load off the machine. --isa holds all programs to a lesser class of processor.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.classes import CLASSES
from bench.training_programs import ADAM, EPS, PAIRS, SIZES, TOKENS, VOCABULARY, newstest_like
from pipeline.batching.buckets import bucket_pairs
from pipeline.batching.report import padding_report
from pipeline.files import commit, write_json
from pipeline.model.rates import processor_class
from pipeline.progress import log

PEERS = ("torch", "marian")
PRECISIONS = ("fp32", "bf16")


def run(program: str, **request: Any) -> dict[str, Any]:
    environment = os.environ | {"OMP_NUM_THREADS": str(request["threads"])}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "bench.training_programs",
            json.dumps({"program": program} | request),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def ratio(runs: list[dict[str, Any]], *, key: str, precision: str, batches: str) -> float:
    """Median over rounds of ours beside the better peer: the faster, or the smaller."""

    def of(program: str, number: int) -> float:
        (found,) = (
            r[key]
            for r in runs
            if (r["program"], r["round"], r["precision"], r["batches"])
            == (program, number, precision, batches)
        )
        return found

    better = min if key == "peak_memory_bytes" else max
    rounds = sorted({r["round"] for r in runs if r["batches"] == batches})
    return statistics.median(of("ours", n) / better(of(p, n) for p in PEERS) for n in rounds)


def share_of_rate(runs: list[dict[str, Any]], rates: dict[str, float], precision: str) -> float:
    mine = [
        r["flops_per_second"]
        for r in runs
        if (r["program"], r["precision"], r["batches"]) == ("ours", precision, "same")
    ]
    return statistics.median(mine) / rates[precision]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.training", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("results/bench/training.json"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--own-rounds", type=int, default=2, help="with each one's own batching")
    parser.add_argument("--updates", type=int, default=2, help="timed, in each run, after one")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--isa", default="native", choices=list(CLASSES), help="class to hold to")
    options = parser.parse_args()
    os.environ.update(CLASSES[options.isa])  # read when each program starts

    common = {"threads": options.threads, "size": options.size}
    work = {"pairs": options.pairs, "updates": options.updates, "warm_up": 1}
    runs, rates = [], {p: [] for p in options.precisions}
    for number in range(options.rounds):
        for precision in options.precisions:
            rates[precision].append(run("rate", precision=precision, **common)["flops_per_second"])
            for batches in ("same", "own") if number < options.own_rounds else ("same",):
                for program in ("ours", *PEERS):
                    found = run(program, precision=precision, batches=batches, **common, **work)
                    runs.append(found | {"round": number})
                    log(
                        f"round {number}, {precision}, {batches} batches, {program}: "
                        f"{found['tgt_tokens_per_second']:.0f} target tokens/s, padding "
                        f"{found['padding_share']:.1%}, "
                        f"{found['peak_memory_bytes'] / 2**30:.2f} GiB"
                    )
    rates = {p: statistics.median(found) for p, found in rates.items()}
    speed = {"key": "tgt_tokens_per_second"}
    owned = options.precisions if options.own_rounds else ()
    own = {p: ratio(runs, precision=p, batches="own", **speed) for p in owned}
    of = {"precision": options.precisions[0], "batches": "same"}
    padding = padding_report(bucket_pairs(*newstest_like(PAIRS, 0)))
    write_json(
        options.output,
        {
            "ratio": {
                **{
                    f"{p}_same_batches": ratio(runs, precision=p, batches="same", **speed)
                    for p in options.precisions
                },
                "own_batching": min(own.values(), default=None),
                "own_batching_by_precision": own,
                "peak_memory": ratio(runs, key="peak_memory_bytes", **of),
            },
            "padding": {f"at_{t}": padding[str(t)]["bucketed"] for t in (4096, 25000)},
            "share_of_rate": {p: share_of_rate(runs, rates, p) for p in options.precisions},
            "rate_flops_per_second": rates,
            "settings": {
                "model": SIZES[options.size],
                "vocab_size": VOCABULARY,
                "tokens_per_step": TOKENS,
                "label_smoothing": EPS,
                "adam": ADAM,
                "threads": options.threads,
                "peers": "sdpa attention, fused Adam, autocast for bf16, dropout where ours is; "
                "own batching: torch shuffles, Marian groups by length within 50 batches",
                "machine": platform.processor() or platform.machine(),
                "processor_class": processor_class(),
            },
            "commit": commit(),
            "runs": runs,
        },
    )


if __name__ == "__main__":
    main()
