"""All raw files of a corpus: found or fetched, several at once, and listed in sources.json."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipeline.config.corpus import FileSource, Part, RawCorpus
from pipeline.corpora.fetch import PATIENCE
from pipeline.corpora.obtain import Found, MissingFile, obtain
from pipeline.corpora.sources import SourceFile, SourcePart
from pipeline.corpora.transfer import Patience
from pipeline.files import sha256_of

AT_ONCE = 4


def download_corpus(
    corpus: RawCorpus,
    *,
    data_root: Path | None,
    cache: Path,
    offline: bool = False,
    patience: Patience = PATIENCE,
) -> dict[str, list[SourcePart]]:
    """Make all files of a corpus available; return the parts of each split.

    Raises MissingFile that lists every file that can't be had and where to place it, ValueError
    for files that are not what they should be.
    """
    assert isinstance(corpus.source, FileSource)

    def one(key: str) -> Found | ValueError:
        try:
            return obtain(
                corpus.source.downloads[key],
                data_root=data_root,
                cache=cache,
                refused=corpus.refused,
                offline=offline,
                patience=patience,
            )
        except ValueError as error:
            return error

    unpacked = _unpacked(corpus.source, data_root)
    keys = _used(corpus.source, unpacked)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = dict(zip(keys, pool.map(one, keys), strict=True))
    errors = [result for result in results.values() if isinstance(result, ValueError)]
    if errors:
        kind = MissingFile if all(isinstance(e, MissingFile) for e in errors) else ValueError
        text = "\n".join(dict.fromkeys(map(str, errors)))
        raise kind(f"{corpus.name}: {len(errors)} of {len(keys)} files can't be used:\n{text}")
    found = {key: result for key, result in results.items() if isinstance(result, Found)}
    return {
        split: [_part(part, found, unpacked) for part in parts]
        for split, parts in corpus.source.splits.items()
    }


def _unpacked(source: FileSource, data_root: Path | None) -> dict[str, Found]:
    """The texts at hand that stand in for a member of an archive, by their path in the config."""
    if data_root is None:
        return {}
    paths = {path for parts in source.splits.values() for p in parts for path in p.at_hand.values()}
    return {
        path: Found(data_root / path, sha256_of(data_root / path), "at hand")
        for path in sorted(paths)
        if (data_root / path).exists()
    }


def _used(source: FileSource, unpacked: Mapping[str, Found]) -> list[str]:
    """The downloads that are needed, in the order of the corpus file."""
    names = [
        name
        for parts in source.splits.values()
        for part in parts
        for side, name in part.files.items()
        if part.at_hand.get(side) not in unpacked
    ]
    return list(dict.fromkeys(names))


def _part(part: Part, found: Mapping[str, Found], unpacked: Mapping[str, Found]) -> SourcePart:
    sides = {}
    for side, key in part.files.items():
        text = unpacked.get(part.at_hand.get(side, ""))
        file = text or found[key]
        sides[side] = SourceFile(
            path=str(file.path),
            format=part.format,
            members=() if text else part.members.get(side, ()),
            field=part.fields.get(side),
            sha256=file.sha256,
            text_sha256=part.sha256.get(side),
            text_md5=part.md5.get(side),
        )
    return SourcePart(name=part.name, sides=sides, lines=part.lines, take=part.take)
