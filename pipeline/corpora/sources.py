"""The list of a corpus's raw files: what `download` and `generate` write and `prepare` reads.

sources.json:

    {"step": "download", "corpus": "multi30k_ende", "commit": "...",
     "splits": {
       "train": [
         {"name": "captions", "lines": 29000, "take": null,
          "sides": {"en": {"path": "results/downloads/multi30k/train.en", "format": "text",
                           "members": [], "field": null, "sha256": "...",
                           "text_sha256": null, "text_md5": null},
                    "de": {...}}}],
       "dev": [...], "test": [...]}}

A split is a list of parts, read one after another. `path` is relative to the working directory;
`sha256` is of the file there (an archive's, if `members` names what is inside), `text_sha256` and
`text_md5` of the text once unpacked. `lines` is what the part should have, if that is known.
A parsing corpus has the one side "trees".
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.config.corpus import Format, Split
from pipeline.config.schema import Closed
from pipeline.files import commit, sha256_of, write_json


class SourceFile(Closed):
    """One side of a part."""

    path: str
    format: Format = "text"
    members: tuple[str, ...] = ()
    field: str | None = None
    sha256: str | None = None
    text_sha256: str | None = None
    text_md5: str | None = None

    @property
    def where(self) -> str:
        """The file and the member in it, for messages."""
        return self.path + (f", member {self.members[0]}" if self.members else "")


class SourcePart(Closed):
    """One text of a split with its sides, which have equal numbers of lines."""

    name: str
    sides: dict[str, SourceFile]
    lines: int | None = None
    take: tuple[int, int] | None = None


class Sources(Closed):
    """The whole of sources.json."""

    step: str
    corpus: str
    commit: str
    splits: dict[Split, tuple[SourcePart, ...]]

    @classmethod
    def read(cls, path: str | Path) -> "Sources":
        return cls.model_validate_json(Path(path).read_bytes())

    def check_files(self, listed_in: str | Path) -> None:
        """Raises ValueError naming a file that is not what it was when `listed_in` was written."""
        files = {
            file.path: file
            for parts in self.splits.values()
            for part in parts
            for file in part.sides.values()
        }
        for path, file in files.items():
            if not Path(path).exists():
                raise ValueError(
                    f"{path}: gone since {listed_in} named it; put it back, or run snakemake "
                    "again to obtain it"
                )
            if file.sha256 and (found := sha256_of(path)) != file.sha256:
                raise ValueError(
                    f"{path}: changed since {listed_in} named it; run snakemake again to look at "
                    f"it anew: sha256 {found}, then {file.sha256}"
                )


def write_sources(
    path: str | Path, *, step: str, corpus: str, splits: Mapping[str, Sequence[SourcePart]]
) -> None:
    """Write sources.json atomically."""
    sources = Sources(
        step=step,
        corpus=corpus,
        commit=commit(),
        splits={split: tuple(parts) for split, parts in splits.items()},
    )
    write_json(path, sources.model_dump(mode="json"))
