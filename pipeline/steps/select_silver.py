"""Keep the surest of a parser's trees, and list them beside the treebank's as sources."""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from pipeline.config.self_training import SelfTrainingSource
from pipeline.corpora.silver import by_length, read_columns, select_confident
from pipeline.corpora.sources import SourceFile, SourcePart, write_sources
from pipeline.corpora.trees import leaves, parse_tree
from pipeline.files import count_lines, read_lines, sha256_of, write_lines, write_manifest
from pipeline.progress import log


def main(arguments: Sequence[str] | None = None) -> None:
    prog = "python -m pipeline.steps.select_silver"
    parser = argparse.ArgumentParser(prog=prog, description=__doc__)
    parser.add_argument("--corpus", required=True, help="its name")
    parser.add_argument("--source", required=True, type=SelfTrainingSource.model_validate_json)
    for name in ("--trees", "--columns"):
        parser.add_argument(name, required=True, nargs="+", help="of each shard of parse_raw")
    parser.add_argument("--treebank", required=True, type=Path, help="folder of its text")
    parser.add_argument("--treebank-subwords", required=True, type=Path, help="folder")
    parser.add_argument("--silver", required=True, help="output: trees kept, one a line")
    parser.add_argument("--subwords", required=True, type=Path, help="output: the treebank's")
    parser.add_argument("--sources", required=True, help="output: sources.json")
    parser.add_argument("--report", required=True, help="output: what was kept, JSON")
    options = parser.parse_args(arguments)

    source = options.source
    trees = [tree for path in options.trees for tree in read_lines(path)]
    parsed = [row for path in options.columns for row in read_columns(path)]
    sentences = [" ".join(leaves(parse_tree(tree))) for tree in trees]
    texts = {split: options.treebank / f"{split}.trees" for split in ("train", "dev", "test")}
    known = [line for text in texts.values() for line in read_lines(text.with_suffix(".words"))]
    kept = select_confident(sentences, parsed, share=source.share, known=known)
    if not kept:
        raise ValueError(
            f"{options.corpus}: of {len(trees):,} parsed sentences none can be kept: "
            f"{sum(row.repaired for row in parsed):,} needed repair, "
            f"{len(set(sentences) & set(known)):,} are in the treebank {source.treebank}; "
            "take other raw text, or decoding.constrained"
        )
    write_lines(options.silver, (trees[index] for index in kept))
    shutil.copytree(options.treebank_subwords, options.subwords, dirs_exist_ok=True)
    parts = {split: [_part(split, text)] for split, text in texts.items()}
    parts["train"] = parts["train"] * source.treebank_copies + [_part("silver", options.silver)]
    write_sources(options.sources, step="select_silver", corpus=options.corpus, splits=parts)
    write_manifest(
        options.report,
        step="select_silver",
        inputs={str(path): path for path in (*options.trees, *options.columns)},
        parsed=len(trees),
        repaired=sum(row.repaired for row in parsed),
        kept=len(kept),
        kept_by_most_words=by_length(sentences[index] for index in kept),
        source=source.model_dump(mode="json"),
    )
    log(f"{options.corpus}: {len(kept):,} of {len(trees):,} trees kept")


def _part(name: str, path: str | Path) -> SourcePart:
    file = SourceFile(path=str(path), format="brackets", sha256=sha256_of(path))
    return SourcePart(name=name, sides={"trees": file}, lines=count_lines(path))


if __name__ == "__main__":
    main()
