"""Training pairs that hold a sentence of dev or test: always reported, dropped on request."""

from collections import Counter
from collections.abc import Iterable


class HeldOut:
    """The sentences of dev and test, against which training pairs are counted.

    A sentence is found if a training line of the same side is equal to it, byte for byte.
    """

    def __init__(self, splits: dict[str, Iterable[tuple[bytes, bytes]]]) -> None:
        self._splits = {split: _Sentences(pairs) for split, pairs in splits.items()}
        self._either = set().union(*(s.sources | s.targets for s in self._splits.values()))

    def meets(self, source: bytes, target: bytes) -> bool:
        """Count one training pair; true if one of its sides is in dev or test."""
        if source not in self._either and target not in self._either:
            return False
        return sum(split.count(source, target) for split in self._splits.values()) > 0

    def report(self) -> dict[str, dict[str, int]]:
        """For each split: its distinct sentences, how many are in training text, and where."""
        return {name: split.report() for name, split in self._splits.items()}


class _Sentences:
    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self.pairs = {pair for pair in pairs if pair[0].strip() and pair[1].strip()}
        self.sources = {source for source, _ in self.pairs}
        self.targets = {target for _, target in self.pairs}
        self._found_sources: set[bytes] = set()
        self._found_targets: set[bytes] = set()
        self._counts: Counter[str] = Counter()

    def count(self, source: bytes, target: bytes) -> bool:
        in_sources, in_targets = source in self.sources, target in self.targets
        if in_sources:
            self._found_sources.add(source)
            self._counts["source"] += 1
        if in_targets:
            self._found_targets.add(target)
            self._counts["target"] += 1
        if (source, target) in self.pairs:
            self._counts["pair"] += 1
        return in_sources or in_targets

    def report(self) -> dict[str, int]:
        return {
            "sources": len(self.sources),
            "sources_in_train": len(self._found_sources),
            "targets": len(self.targets),
            "targets_in_train": len(self._found_targets),
            "train_pairs_with_its_source": self._counts["source"],
            "train_pairs_with_its_target": self._counts["target"],
            "train_pairs_in_it": self._counts["pair"],
        }
