"""Train one model: checkpoints in a folder named by what it depends on, and train.json at the end.

Started again, it goes on where it stopped; where it ended before, it says so in seconds. Exit code
75 means: stopped by SIGTERM after a checkpoint, start it again. With `--on-stop requeue` a Slurm
job puts itself back into the queue instead.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pipeline import slurm
from pipeline.config.bounds import (
    MOST_CHECKPOINTS,
    MOST_MINUTES,
    MOST_NODES,
    MOST_RANKS,
    MOST_SEED,
    MOST_TOKENS,
    number,
    whole,
)
from pipeline.config.schema import ModelConfig, TrainingConfig
from pipeline.errors import in_words
from pipeline.progress import log
from pipeline.training.run import (
    TEMPORARY_FAILURE,
    Job,
    StopSignal,
    answer_stop_signals,
    run,
)

NAMES = ("run", "experiment", "scale", "corpus", "seed")
REQUEUE_SECONDS = 120  # until Slurm ends a job that asked to be queued again


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.train", description=__doc__)
    parser.add_argument("--encoded", type=Path, required=True)
    parser.add_argument("--buckets", type=Path, required=True)
    parser.add_argument("--subwords", type=Path, help="not read; an input of the rule")
    parser.add_argument("--model", required=True, help="section of the experiment, JSON")
    parser.add_argument("--training", required=True, help="section of the experiment, JSON")
    parser.add_argument("--seed", type=whole(0, MOST_SEED), required=True)
    for name in NAMES[:-1]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument(
        "--keep",
        type=whole(1, MOST_CHECKPOINTS),
        required=True,
        help="checkpoints kept for averaging",
    )
    parser.add_argument(
        "--max-tokens", type=whole(1, MOST_TOKENS), required=True, help="of a padded micro-batch"
    )
    parser.add_argument(
        "--nodes", type=whole(1, MOST_NODES), default=1, help="machines of this Slurm job"
    )
    parser.add_argument(
        "--ranks", type=whole(1, MOST_RANKS), default=1, help="processes on each machine"
    )
    parser.add_argument("--zero-stage", type=int, choices=(0, 1, 2), default=0)
    parser.add_argument("--on-stop", choices=("exit", "requeue"), default="exit")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--safety-minutes", type=number(0, MOST_MINUTES), default=10.0)
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="train.json")
    options = parser.parse_args(arguments)

    job = Job(
        encoded=options.encoded,
        buckets=options.buckets,
        checkpoints=options.checkpoints,
        model=ModelConfig.model_validate_json(options.model),
        training=TrainingConfig.model_validate_json(options.training),
        seed=options.seed,
        max_tokens=options.max_tokens,
        ranks=options.ranks,
        nodes=options.nodes,
        zero_stage=options.zero_stage,
        device=options.device,
        keep=options.keep,
        safety_minutes=options.safety_minutes,
    )
    names = {name: getattr(options, name) for name in NAMES}
    again = ["pipeline.steps.train", *(sys.argv[1:] if arguments is None else arguments)]
    stop = StopSignal()
    if options.on_stop == "requeue":  # Slurm's warning may come while torch is imported
        stop.listen()
    try:
        code = run(job, names=names, output=options.output, arguments=again, stop=stop)
    except (ValueError, OSError) as error:  # a setting that this machine can't follow, its disk
        log(f"error: {in_words(error)}")
        return 1
    asked = code == TEMPORARY_FAILURE and options.on_stop == "requeue"
    if asked and "RANK" not in os.environ:
        answer_stop_signals(signal.SIG_DFL)  # by which Slurm ends what goes back into the queue
        if slurm.requeue():
            log("this job goes back into the queue, and on from its checkpoint")
            time.sleep(REQUEUE_SECONDS)
    return code


if __name__ == "__main__":
    exit_code = main()
    answer_stop_signals(signal.SIG_IGN)  # what was done is done
    sys.exit(exit_code)
