"""Time the layers of Table 1 on this machine: layer_times.json for the table and its figure."""

import argparse

import torch

from pipeline.files import commit, write_json
from pipeline.inference.device import choose_device
from pipeline.inference.layer_times import measure_layers


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.steps.layer_times", description=__doc__
    )
    parser.add_argument("--lengths", type=int, nargs="+", default=[256, 512, 1024, 2048])
    parser.add_argument("--widths", type=int, nargs="+", default=[128, 256, 512, 1024])
    parser.add_argument("--fixed-length", type=int, default=512, help="n while d varies")
    parser.add_argument("--fixed-width", type=int, default=256, help="d while n varies")
    parser.add_argument("--batch", type=int, default=1, help="sequences at once")
    parser.add_argument("--kernel", type=int, default=3, help="k of the convolution, odd")
    parser.add_argument("--neighbourhood", type=int, default=64, help="r, even")
    parser.add_argument("--seconds-each", type=float, default=0.3, help="repeats last about this")
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
