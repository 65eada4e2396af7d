"""Export a model folder to a format that people serve from."""

import argparse
from collections.abc import Sequence

from pipeline.inference.export import export_ctranslate2, export_marian
from pipeline.model.folder import ModelFolder


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.export", description=__doc__)
    parser.add_argument("--model", required=True, help="model folder")
    parser.add_argument("--format", choices=("marian", "ctranslate2"), required=True)
    parser.add_argument("--quantization", help="ctranslate2 only: int8, bfloat16 ...")
    parser.add_argument("--output", required=True, help="folder")
    options = parser.parse_args(arguments)
    folder = ModelFolder.open(options.model)
    if options.format == "marian":
        if options.quantization:
            parser.error("--quantization is for --format ctranslate2")
        export_marian(folder, options.output)
    else:
        export_ctranslate2(folder, options.output, quantization=options.quantization)


if __name__ == "__main__":
    main()
