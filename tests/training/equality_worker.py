"""One rank of `test_ranks`: trains a step at each setting, one after another."""

import json
import sys
from pathlib import Path

import torch

from pipeline.config.schema import ModelConfig, TrainingConfig
from pipeline.training import loop, ranks
from pipeline.training.run import Job


def main() -> None:
    torch.set_num_threads(1)
    request = json.loads(sys.argv[1])
    rank = ranks.join("cpu")
    for setting in request["settings"]:
        training = TrainingConfig.model_validate_json(json.dumps(request["training"]))
        training = training.model_copy(update={"clip_norm": setting["clip_norm"]})
        job = Job(
            encoded=Path(request["corpus"]) / "encoded",
            buckets=Path(request["corpus"]) / "buckets",
            checkpoints=Path(request["output"]),
            model=ModelConfig.model_validate_json(json.dumps(request["model"])),
            training=training,
            seed=7,
            max_tokens=setting["max_tokens"],
            zero_stage=setting["zero_stage"],
        )
        folder = Path(request["output"]) / setting["name"]
        folder.mkdir(exist_ok=True)
        loop.train(job, job.sections(), folder, rank)
    ranks.leave()


if __name__ == "__main__":
    main()
