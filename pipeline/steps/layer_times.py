"""Time the layers of Table 1 on this machine: layer_times.json for the table and its figure."""

import argparse

import torch

from pipeline.config.bounds import (
    DAY_SECONDS,
    MOST_POSITIONS,
    MOST_TOKENS,
    MOST_WIDTH,
    number,
    whole,
)
from pipeline.files import commit, write_json
from pipeline.inference.device import choose_device
from pipeline.inference.layer_times import measure_layers


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.steps.layer_times", description=__doc__
    )
    parser.add_argument(
        "--lengths", type=whole(1, MOST_POSITIONS), nargs="+", default=[256, 512, 1024, 2048]
    )
    parser.add_argument(
        "--widths", type=whole(1, MOST_WIDTH), nargs="+", default=[128, 256, 512, 1024]
    )
    parser.add_argument(
        "--fixed-length", type=whole(1, MOST_POSITIONS), default=512, help="n while d varies"
    )
    parser.add_argument(
        "--fixed-width", type=whole(1, MOST_WIDTH), default=256, help="d while n varies"
    )
    parser.add_argument("--batch", type=whole(1, MOST_TOKENS), default=1, help="sequences at once")
    parser.add_argument("--kernel", type=whole(1, 999), default=3, help="k of the convolution, odd")
    parser.add_argument(
        "--neighbourhood", type=whole(2, MOST_POSITIONS), default=64, help="r, even"
    )
    parser.add_argument(
        "--seconds-each", type=number(0, DAY_SECONDS), default=0.3, help="repeats last about this"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", required=True)
    options = vars(parser.parse_args(argv))
    output, device = options.pop("output"), choose_device(options.pop("device"))
    measurements = measure_layers(device=device, **options)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    facts = {"step": "layer_times", "device": name, "threads": torch.get_num_threads()}
    write_json(output, {**facts, "commit": commit(), **options, "measurements": measurements})


if __name__ == "__main__":
    main()
