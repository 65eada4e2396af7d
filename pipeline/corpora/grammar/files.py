"""A grammar corpus as the raw files that `prepare` reads."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.config.corpus import Format, RawCorpus
from pipeline.corpora.grammar.corpus import generate_pairs, generate_trees
from pipeline.corpora.sources import SourceFile, SourcePart
from pipeline.files import sha256_of, write_lines


def write_corpus(config: RawCorpus, folder: Path) -> dict[str, list[SourcePart]]:
    """Write `<split>.<side>` into `folder`; a corpus of trees has the one side "trees".

    Raises ValueError if the corpus's languages are not those that its source gives.
    """
    source = config.source
    target = source.target_language
    expected = ("en", target) if target else ("words", "trees")
    if config.languages != expected:
        raise ValueError(
            f"corpus {config.name}: languages must be {list(expected)} for "
            f"source.target_language {target!r}: {list(config.languages)}"
        )
    if target:
        pairs = generate_pairs(target_language=target, sizes=source.sizes, seed=source.seed)
        return {
            split: [
                _part(
                    folder,
                    split,
                    {side: [pair[n] for pair in lines] for n, side in enumerate(expected)},
                    "text",
                )
            ]
            for split, lines in pairs.items()
        }
    trees = generate_trees(sizes=source.sizes, seed=source.seed)
    return {
        split: [_part(folder, split, {"trees": lines}, "brackets")]
        for split, lines in trees.items()
    }


def _part(
    folder: Path, split: str, sides: dict[str, Sequence[str]], file_format: Format
) -> SourcePart:
    files = {}
    for side, lines in sides.items():
        path = folder / f"{split}.{side}"
        count = write_lines(path, lines)
        files[side] = SourceFile(path=str(path), format=file_format, sha256=sha256_of(path))
    return SourcePart(name=split, sides=files, lines=count)
