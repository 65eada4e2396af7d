"""From raw files to the text of train, dev and test: one sentence a line, sides in step.

Training pairs go through the rules of the corpus file; dev and test are taken as they are. Every
rule is counted, so that the report adds up: pairs read = pairs kept + pairs dropped by each rule.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.config.corpus import TextCorpus
from pipeline.corpora.filters import pair_rules
from pipeline.corpora.overlap import HeldOut
from pipeline.corpora.readers import Warn, iter_part, iter_tree_pairs
from pipeline.corpora.sources import SourcePart, Sources
from pipeline.encodings import guess
from pipeline.files import atomic_open
from pipeline.progress import track, warn

Pair = tuple[bytes, bytes]


def prepare(config: TextCorpus, sources: Sources, folder: Path) -> dict[str, Any]:
    """Write `<split>.<side>` into `folder` and return the report.

    Raises ValueError where sides differ in their number of lines, where dev or test hold invalid
    UTF-8, where a reason drops more training pairs than `max_dropped` allows, or where the data is
    what the corpus file refuses.
    """
    warnings: list[str] = []

    def note(message: str) -> None:
        warn(message)
        warnings.append(message)

    splits: dict[str, Any] = {}
    held_out: dict[str, list[Pair]] = {}
    for split in ("dev", "test"):
        reader = _Reader(config, sources.splits[split], split, note)
        pairs = held_out[split] = list(reader)
        _write(folder, split, config.languages, pairs)
        splits[split] = {"read": len(pairs), "kept": len(pairs), **reader.report()}
        empty = sum(1 for source, target in pairs if not source.strip() or not target.strip())
        if empty:
            note(f"{split}: {empty} pairs with an empty side are kept, as in every held-out set")
    overlap = HeldOut(held_out)
    first = _first_occurrences(config, sources, overlap) if config.filters.drop_duplicates else None
    overlap = HeldOut(held_out)
    reader = _Reader(config, sources.splits["train"], "train", note)
    dropped: Counter[str] = Counter()
    examples: dict[str, str] = {}
    pairs = _kept(config, reader, overlap, dropped, examples)
    if first is not None:
        pairs = _without_duplicates(pairs, first, dropped)
    kept = _write(folder, "train", config.languages, pairs)
    splits["train"] = {
        "read": sum(reader.parts.values()),
        "kept": kept,
        "dropped": {rule: dropped[rule] for rule in _rule_names(config)},
        **reader.report(),
    }
    assert splits["train"]["read"] == kept + dropped.total()
    _judge(config, dropped, examples, read=splits["train"]["read"], warn=note)
    if not kept:
        found = ", ".join(f"{rule} {count:,}" for rule, count in dropped.most_common())
        raise ValueError(
            f"{config.name}: of {dropped.total():,} training pairs none is left; look into the "
            f"files, or loosen filters in the corpus file; dropped: {found}"
        )
    return {"splits": splits, "overlap": overlap.report(), "warnings": warnings}


def _judge(
    config: TextCorpus, dropped: Counter[str], examples: dict[str, str], *, read: int, warn: Warn
) -> None:
    """Tell how much each reason dropped. Raises ValueError naming all above their limit."""
    above = []
    for reason, count in dropped.most_common():
        limit = getattr(config.max_dropped, reason)
        share = count / read
        said = f"{reason} drops {count:,} of {read:,} training pairs, {share:.2%}"
        if reason in examples:
            said += f"; the first is {examples[reason]}"
        if share <= limit:
            warn(f"{config.name}: {said}")
        else:
            above.append(
                f"{config.name}: {said}; above the limit: mend the files, or raise "
                f"max_dropped.{reason} in the corpus file: {limit:g}"
            )
    if above:
        raise ValueError("\n".join(above))


class _Reader:
    """Iterate over the pairs of a split; `parts` then has the number of pairs of each part.

    Raises ValueError for a part without a line, and for held-out lines that are not UTF-8.
    """

    def __init__(
        self, config: TextCorpus, parts: Iterable[SourcePart], split: str, warn: Warn
    ) -> None:
        self._config, self._sources, self._split, self._warn = config, parts, split, warn
        self.parts: dict[str, int] = {}
        self.returns: Counter[str] = Counter()
        self._at: tuple[SourcePart, int] | None = None  # of the pair that was yielded last

    def __iter__(self) -> Iterator[Pair]:
        for part in self._sources:
            count, returns = 0, [0, 0]
            for pair in track(self._pairs(part), what=part.name, total=part.lines, unit="pairs"):
                count += 1
                if self._split != "train":
                    self._check_utf8(part, count, pair)
                returns[0] += pair[0].endswith(b"\r")
                returns[1] += pair[1].endswith(b"\r")
                self._at = part, count
                yield pair
            if not count:
                files = " and ".join(dict.fromkeys(file.where for file in part.sides.values()))
                raise ValueError(
                    f"{self._config.name}, {self._split}: {part.name} has no line; every split "
                    f"needs text, so fill its files: {files}"
                )
            self.parts[part.name] = self.parts.get(part.name, 0) + count
            self._count_returns(part, count, returns)
            self._refuse(part.name, count)
        self._refuse(self._split, sum(self.parts.values()))

    def report(self) -> dict[str, Any]:
        return {"parts": self.parts, "carriage_returns": dict(self.returns)}

    def _count_returns(self, part: SourcePart, count: int, returns: list[int]) -> None:
        """Lines that end in "\\r", which stays in the text; where most do, it was not meant."""
        for side, found in zip(self._config.languages, returns, strict=True):
            self.returns[side] += found
            if 2 * found > count:
                self._warn(
                    f"{self._split}, {_where(part, side)}: {found:,} of {count:,} lines end in "
                    "a carriage return (Windows line ends), which is text here, and learnt as "
                    "such; convert the file (dos2unix) unless it is meant"
                )

    def _check_utf8(self, part: SourcePart, number: int, pair: Pair) -> None:
        if found := self._invalid(part, number, pair):
            raise ValueError(
                f"{self._config.name}, {self._split}: {found}; a held-out line can't be dropped"
            )

    def describe(self, pair: Pair) -> str:
        """Where the pair that was yielded last stands, and what in it is not UTF-8."""
        assert self._at is not None
        part, number = self._at
        where = f"{_where(part, self._config.languages[0])}, line {_line(part, number)}"
        return self._invalid(part, number, pair) or where

    def _invalid(self, part: SourcePart, number: int, pair: Pair) -> str | None:
        for side, line in zip(self._config.languages, pair, strict=True):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return (
                    f"{_where(part, side)}, line {_line(part, number)}: not UTF-8 at byte "
                    f"{error.start} (0x{line[error.start]:02x}); {guess(line)}"
                )
        return None

    def _pairs(self, part: SourcePart) -> Iterator[Pair]:
        if self._config.kind == "parsing":
            return iter_tree_pairs(part, warn=self._warn)
        return iter_part(part, self._config.languages, warn=self._warn)

    def _refuse(self, name: str, count: int) -> None:
        for refusal in self._config.refused:
            if refusal.lines.get(self._split) == count:
                raise ValueError(
                    f"{self._config.name}, {self._split}: {name} has {count:,} lines, which makes "
                    f"it {refusal.what}, refused for this corpus; use {refusal.instead}"
                )


def _line(part: SourcePart, number: int) -> int:
    """The line of a file's text in which the number-th pair of a part stands, both from 1."""
    return number + (part.take[0] - 1 if part.take else 0)


def _where(part: SourcePart, side: str) -> str:
    """The file of a side; both sides of a treebank come out of one."""
    return part.sides[side if side in part.sides else "trees"].where


def _kept(
    config: TextCorpus,
    reader: _Reader,
    overlap: HeldOut,
    dropped: Counter[str],
    examples: dict[str, str],
) -> Iterator[Pair]:
    """Yield the training pairs that no rule drops; count the others by rule. examples: where the
    first of the unusable ones of each kind stands.

    Overlap with dev and test is counted over the pairs that the other rules leave.
    """
    rules = pair_rules(config.filters)
    trees = config.kind == "parsing"
    drop_overlap = config.filters.drop_test_overlap
    for pair in reader:
        try:
            source, target = pair[0].decode("utf-8"), pair[1].decode("utf-8")
        except UnicodeDecodeError:
            dropped["invalid_utf8"] += 1
            if "invalid_utf8" not in examples:
                examples["invalid_utf8"] = reader.describe(pair)
            continue
        if not source or source.isspace() or not target or target.isspace():
            dropped["empty"] += 1
            if "empty" not in examples:
                examples["empty"] = reader.describe(pair)
            continue
        if rules:
            words = len(source.split())
            other = words if trees else len(target.split())
            rule = next((name for name, drops in rules if drops(source, target, words, other)), "")
            if rule:
                dropped[rule] += 1
                continue
        if overlap.meets(*pair) and drop_overlap:
            dropped["test_overlap"] += 1
            continue
        yield pair


def _rule_names(config: TextCorpus) -> list[str]:
    names = ["invalid_utf8", "empty", *(name for name, _ in pair_rules(config.filters))]
    names += ["test_overlap"] * config.filters.drop_test_overlap
    return names + ["duplicate"] * config.filters.drop_duplicates


def _first_occurrences(config: TextCorpus, sources: Sources, overlap: HeldOut) -> np.ndarray:
    """Read the training pairs once for their digests: bool [kept pairs], true for each first one.

    Eight bytes a pair, so that 36 M pairs need 0.3 GB (three times that while sorting).
    """

    def quiet(message: str) -> None:  # the second reading says it
        del message

    digests = array("Q")
    reader = _Reader(config, sources.splits["train"], "train", quiet)
    for source, target in _kept(config, reader, overlap, Counter(), {}):
        digest = hashlib.blake2b(source, digest_size=8)
        digest.update(b"\n")
        digest.update(target)
        digests.append(int.from_bytes(digest.digest(), "little"))
    return first_of_each(np.frombuffer(digests, dtype=np.uint64))


def first_of_each(values: np.ndarray) -> np.ndarray:
    """Bool [N]: true where a value of `values` [N] stands for the first time."""
    first = np.zeros(len(values), dtype=bool)
    first[np.unique(values, return_index=True)[1]] = True
    return first


def _without_duplicates(
    pairs: Iterable[Pair], first: np.ndarray, dropped: Counter[str]
) -> Iterator[Pair]:
    for pair, keep in zip(pairs, first, strict=True):
        if keep:
            yield pair
        else:
            dropped["duplicate"] += 1


def _write(folder: Path, split: str, sides: tuple[str, str], pairs: Iterable[Pair]) -> int:
    """Write both sides of a split atomically; return the number of pairs."""
    count = 0
    with ExitStack() as stack:
        source_file, target_file = (
            stack.enter_context(atomic_open(folder / f"{split}.{side}")) for side in sides
        )
        for source, target in pairs:
            source_file.write(source + b"\n")
            target_file.write(target + b"\n")
            count += 1
    return count
