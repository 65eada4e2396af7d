"""What a corpus file may say: where the raw text comes from, how it is filtered, its subwords."""

from fnmatch import fnmatch
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pipeline.config import bounds
from pipeline.config.schema import Closed, Lines, Name, Seed, VocabSize, Words
from pipeline.config.self_training import SelfTrainingSource

Split = Literal["train", "dev", "test"]
Format = Literal["text", "sgml", "brackets", "jsonl", "sqlite"]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
WholeShare = Annotated[float, Field(ge=0.0, le=1.0)]
LineBytes = Annotated[int, Field(ge=1, le=bounds.MOST_LINE_BYTES)]
Names = Annotated[tuple[str, ...], Field(strict=False)]


class GrammarSource(Closed):
    """Sentences of the built-in grammar; nothing is downloaded."""

    kind: Literal["grammar"]
    target_language: Literal["de", "fr"] | None = Field(description="null gives English trees")
    sizes: dict[Split, Lines] = Field(description="sentences of each split")
    seed: Seed


class Remote(Closed):
    """The same bytes under one or more addresses."""

    urls: tuple[str, ...] = Field(
        description="mirrors in the order they are tried", strict=False, min_length=1
    )
    bytes: Annotated[int, Field(ge=1, le=bounds.MOST_FILE_BYTES)] | None = None
    sha256: Sha256 | None = None
    md5: Md5 | None = None


class HubSet(Closed):
    """A split of a data set of the Hugging Face Hub, read with `datasets`."""

    dataset: str = Field(description="owner/name on the Hub")
    subset: str | None = Field(default=None, description="configuration of the data set")
    split: str
    revision: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{40}$",
        description="commit of the data set; null takes the newest and pins it",
    )


class Download(Closed):
    """One file: below `data_root`, or fetched from its remotes, a wheel or the Hub."""

    local: str = Field(
        description="path of the file below data_root if it is at hand, and below the download "
        "folder once fetched",
        pattern=r"^[^/].*",
    )
    remotes: tuple[Remote, ...] = Field(
        default=(), description="forms of the file, tried in order", strict=False
    )
    wheel: str | None = Field(
        default=None, pattern=r"^[^=\s]+==[^=\s]+$", description="name==version for pip download"
    )
    hub: HubSet | None = None
    sha256: Sha256 | None = Field(
        default=None, description="digest of a file that has no remotes; theirs stand with them"
    )
    licence: str | None = Field(default=None, description="terms, or how to obtain the file")

    @model_validator(mode="after")
    def one_origin(self) -> Self:
        if bool(self.remotes) + bool(self.wheel) + bool(self.hub) > 1:
            raise ValueError(f"{self.local}: give one of remotes, wheel and hub")
        if self.remotes and self.sha256:
            raise ValueError(f"{self.local}: sha256 belongs to each of the remotes")
        if ".." in self.local.split("/"):
            raise ValueError(f"local must stay below data_root: {self.local}")
        return self


class Part(Closed):
    """One text of a split: for each side a download and, in an archive, the member's names."""

    name: str
    files: dict[str, str] = Field(description="side: name of a download")
    at_hand: dict[str, str] = Field(
        default={},
        description="side: path below data_root of its unpacked text, which is then read instead",
    )
    members: dict[str, Names] = Field(
        default={},
        description="side: names that the archive's member may have, shell patterns allowed; of "
        "a treebank: patterns of the files that are read (of those after ! none is), or sections "
        "such as wsj:02-21",
    )
    format: Format = "text"
    fields: dict[str, str] = Field(
        default={}, description="side: dotted key of a jsonl record, or SQL query of a database"
    )
    sha256: dict[str, Sha256] = Field(
        default={}, description="side: digest of the text once it is unpacked"
    )
    md5: dict[str, Md5] = Field(
        default={}, description="side: published digest of the unpacked text; a warning only"
    )
    lines: Lines | None = Field(default=None, description="published line count; a warning only")
    take: tuple[Lines, Lines] | None = Field(
        default=None, description="first and last line used, both counted from 1", strict=False
    )

    @model_validator(mode="after")
    def some_line(self) -> Self:
        if self.take and self.take[0] > self.take[1]:
            raise ValueError(f"take must be the first and the last line: {list(self.take)}")
        return self


Parts = Annotated[tuple[Part, ...], Field(strict=False, min_length=1)]


class FileSource(Closed):
    """Text from files: downloaded by URL and checksum, or at hand below `data_root`."""

    kind: Literal["files"]
    downloads: dict[str, Download]
    splits: dict[Split, Parts]

    @model_validator(mode="after")
    def known_downloads(self) -> Self:
        for split, parts in self.splits.items():
            for part in parts:
                for side, name in part.files.items():
                    if name not in self.downloads:
                        raise ValueError(
                            f"splits.{split}, part {part.name}, side {side}: unknown download "
                            f"{name}; downloads has {', '.join(self.downloads)}"
                        )
        return self

    def names(self) -> dict[str, list[str]]:
        """For each download its file names: the local one, and the last piece of each URL."""
        return {
            key: [download.local.rsplit("/", 1)[-1]]
            + [url.rsplit("/", 1)[-1] for remote in download.remotes for url in remote.urls]
            for key, download in self.downloads.items()
        }


class Refusal(Closed):
    """Data that other recipes use in this place and that is something else."""

    what: str
    names: tuple[str, ...] = Field(
        default=(), description="shell patterns of file and member names", strict=False
    )
    sha256: tuple[Sha256, ...] = Field(default=(), strict=False)
    md5: tuple[Md5, ...] = Field(default=(), strict=False)
    lines: dict[Split, Lines] = Field(default={}, description="line count by which it is known")
    instead: str = Field(description="what belongs here")

    def matches(self, name: str) -> bool:
        return any(fnmatch(name.rsplit("/", 1)[-1], pattern) for pattern in self.names)


class Filters(Closed):
    """Rules that drop pairs of the training split; dev and test are never filtered.

    Pairs with an empty side or invalid UTF-8 are always dropped, and counted; how many a reason
    may drop stands in `max_dropped`.
    """

    max_words: Words | None = Field(default=None, description="on either side, split at spaces")
    max_bytes: LineBytes | None = Field(default=None, description="on either side, as UTF-8")
    max_ratio: Annotated[float, Field(ge=1.0, le=1000.0)] | None = Field(
        default=None, description="words of the longer side for each word of the shorter"
    )
    drop_identical: bool = Field(default=False, description="source equals target")
    drop_duplicates: bool = Field(default=False, description="all but a pair's first occurrence")
    drop_test_overlap: bool = Field(
        default=False, description="either side is a sentence of dev or test (a pair's own side)"
    )


class MaxDropped(Closed):
    """The largest share of the training pairs that each reason may drop; above it nothing is made.

    What no rule of `filters` asks for is most often a mistake in a file.
    """

    invalid_utf8: WholeShare = Field(default=0.01, description="a side is not UTF-8")
    empty: WholeShare = Field(default=0.05, description="a side is empty or blank")
    max_words: WholeShare = 0.5
    max_bytes: WholeShare = 0.5
    max_ratio: WholeShare = 0.5
    identical: WholeShare = 0.5
    duplicate: WholeShare = 0.5
    test_overlap: WholeShare = 0.5


class Subwords(Closed):
    """Section 5.1: the joint vocabulary of both sides."""

    model_type: Literal["bpe", "unigram"]
    vocab_size: VocabSize = Field(description="tree symbols of a parsing corpus included")
    max_sentences: Lines = Field(description="lines sampled for learning, both sides together")
    max_bytes: LineBytes = Field(
        default=16384, description="longer lines are left out of learning, and counted"
    )
    character_coverage: Annotated[float, Field(gt=0.9, le=1.0)] = Field(
        default=1.0, description="share of characters that get a piece of their own"
    )
    byte_fallback: bool = Field(
        default=True,
        description="256 pieces for bytes: every text has an encoding; false: unknown "
        "characters become unk_id and are lost",
    )
    seed: Seed


class Sides(Closed):
    """Whose corpus it is and what its lines are: all that encoding and averaging need.

    A step gets the part of a corpus file that it needs, so that an edit of another reruns nothing.
    """

    name: Name
    kind: Literal["translation", "parsing"]
    languages: tuple[str, str] = Field(
        description="sides: source and target; words and trees for parsing", strict=False
    )
    tags: Literal["keep", "drop", "words"] | None = Field(
        default=None,
        description="parsing: words stand in the target as their part-of-speech tags, all as XX, "
        "or each as its first word-piece",
    )

    @model_validator(mode="after")
    def parsing_sides(self) -> Self:
        if (self.kind == "parsing") != (self.languages == ("words", "trees")):
            raise ValueError(
                "languages must be [words, trees] if kind is parsing, and two language codes "
                f"if it is translation: {list(self.languages)}"
            )
        if (self.kind == "parsing") != (self.tags is not None):
            raise ValueError(
                "tags must be keep, drop or words if kind is parsing, and absent otherwise: "
                f"{self.tags}"
            )
        return self

    def raw_sides(self) -> tuple[str, ...]:
        """Sides that the raw files have: trees alone for parsing, since they hold the words."""
        return ("trees",) if self.kind == "parsing" else self.languages


class RawCorpus(Sides):
    """What downloading and generating need."""

    source: GrammarSource | FileSource | SelfTrainingSource = Field(discriminator="kind")
    refused: tuple[Refusal, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def complete_splits(self) -> Self:
        if self.source.kind == "self_training":
            return self
        given = self.source.splits if self.source.kind == "files" else self.source.sizes
        for split in ("train", "dev", "test"):
            if not given.get(split):
                raise ValueError(f"source has no {split} split; it needs train, dev and test")
        return self

    @model_validator(mode="after")
    def part_sides(self) -> Self:
        if self.source.kind != "files":
            return self
        sides = set(self.raw_sides())
        for split, parts in self.source.splits.items():
            for part in parts:
                if set(part.files) != sides:
                    raise ValueError(
                        f"splits.{split}, part {part.name}: files must name the sides "
                        f"{sorted(sides)}: {sorted(part.files)}"
                    )
        return self

    @model_validator(mode="after")
    def nothing_refused(self) -> Self:
        if self.source.kind != "files":
            return self
        members = [
            (f"part {part.name}", name)
            for parts in self.source.splits.values()
            for part in parts
            for names in part.members.values()
            for name in names
        ]
        files = [
            (f"download {key}", name) for key, all_ in self.source.names().items() for name in all_
        ]
        for where, name in files + members:
            for refusal in self.refused:
                if refusal.matches(name):
                    raise ValueError(
                        f"{where}: {name} is {refusal.what}, refused for this corpus; "
                        f"use {refusal.instead}"
                    )
        return self


class TextCorpus(Sides):
    """What preparing needs."""

    refused: tuple[Refusal, ...] = Field(default=(), strict=False)
    filters: Filters
    max_dropped: MaxDropped = MaxDropped()


class SubwordCorpus(Sides):
    """What learning subwords needs."""

    subwords: Subwords


class CorpusConfig(RawCorpus, TextCorpus, SubwordCorpus):
    """A file of config/corpora."""

    title: str
    test_sets: dict[Split, str] = Field(description="name of each split in tables and scores")

    @model_validator(mode="after")
    def named_test_sets(self) -> Self:
        for split in ("dev", "test"):
            if split not in self.test_sets:
                raise ValueError(f"test_sets has no name for {split}")
        return self
