"""What a corpus file may say: where the raw text comes from, how it is filtered, its subwords."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pipeline.config.schema import Closed, Count, Name

Split = Literal["train", "dev", "test"]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]+$")]


class GrammarSource(Closed):
    """Sentences of the built-in grammar; nothing is downloaded."""

    kind: Literal["grammar"]
    target_language: Literal["de", "fr"] | None = Field(description="null gives English trees")
    sizes: dict[Split, Count] = Field(description="sentences of each split")
    seed: int


class Download(Closed):
    """One file to fetch, or to find below `data_root`."""

    urls: tuple[str, ...] = Field(description="mirrors in the order they are tried", strict=False)
    local: str = Field(description="path below data_root where the file may lie at hand")
    bytes: Count | None = None
    sha256: Digest | None = None
    md5: Digest | None = None


class Part(Closed):
    """One text of a split: for each side, a download and, in an archive, the member's names."""

    name: str
    files: dict[str, str] = Field(description="side: name of a download")
    members: dict[str, tuple[str, ...]] = Field(
        default={}, description="side: names of the member, any of them", strict=False
    )
    format: Literal["text", "sgml", "brackets"] = "text"
    lines: Count | None = Field(default=None, description="published line count; a check")


class FileSource(Closed):
    """Text from files: downloaded by URL and checksum, or at hand below `data_root`."""

    kind: Literal["files"]
    downloads: dict[str, Download]
    splits: dict[Split, tuple[Part, ...]] = Field(strict=False)


class Filters(Closed):
    """Rules that drop pairs of the training split; dev and test are never filtered."""

    max_words: Count | None = None
    max_ratio: Annotated[float, Field(ge=1.0)] | None = None
    drop_identical: bool = False
    drop_duplicates: bool = False
    drop_test_overlap: bool = False


class Subwords(Closed):
    """Section 5.1: the joint vocabulary of both sides."""

    model_type: Literal["bpe", "unigram"]
    vocab_size: Count
    max_sentences: Count = Field(description="lines sampled for learning")
    seed: int


class CorpusConfig(Closed):
    """A file of config/corpora."""

    name: Name
    title: str
    kind: Literal["translation", "parsing"]
    languages: tuple[str, str] = Field(
        description="sides: source and target; words and trees for parsing", strict=False
    )
    test_sets: dict[Split, str] = Field(description="name of each split in tables and scores")
    source: GrammarSource | FileSource = Field(discriminator="kind")
    filters: Filters
    subwords: Subwords

    @model_validator(mode="after")
    def parsing_sides(self) -> Self:
        if (self.kind == "parsing") != (self.languages == ("words", "trees")):
            raise ValueError(
                "languages must be [words, trees] if kind is parsing, and two language codes "
                f"if it is translation: {list(self.languages)}"
            )
        return self
