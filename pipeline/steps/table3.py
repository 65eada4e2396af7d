"""Table 3, variations of the architecture: the paper's figures and ours, in four formats."""

import argparse

from pipeline.results.arguments import add_table_arguments, make_table


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.table3", description=__doc__)
    add_table_arguments(parser)
    make_table(parser.parse_args(argv))


if __name__ == "__main__":
    main()
