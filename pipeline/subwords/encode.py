"""Encode the text of a split into flat token and offset arrays, shard by shard, over many cores.

A shard is a run of lines. Its arrays are kept in a folder beside the result until the whole is
there, so that a job that was killed goes on with the shards that are missing. Memory is that of
the shards in work, whatever the size of the corpus.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.encoded import EOS_ID, SIDES, UNK_ID, read_array, token_dtype, write_array
from pipeline.files import atomic_open, fingerprint, sha256_of
from pipeline.progress import track
from pipeline.subwords.shards import shard_starts
from pipeline.subwords.vocabulary import Vocabulary

SHARD_LINES = 100_000
CHUNK_LINES = 4_000  # handed to sentencepiece at once
CHUNK_BYTES = 1 << 22

SymbolsOf = Callable[[str], list[str]]


@dataclass(frozen=True)
class Encoder:
    """How the two sides become ids. It is sent to other processes, so it holds no model itself."""

    vocabulary: str  # folder
    symbols_of: SymbolsOf | None = None  # target lines to tree symbols; None: target is text
    words: bool = False  # symbols other than brackets are words, written as their first pieces

    def arrays(self, side: str, lines: Sequence[bytes], *, threads: int) -> list[np.ndarray]:
        vocabulary = _vocabulary(self.vocabulary)
        if side == "tgt" and self.symbols_of is not None:
            return [
                np.array(
                    [
                        *vocabulary.encode_symbols(
                            self.symbols_of(line.decode("utf-8")), words=self.words
                        ),
                        EOS_ID,
                    ],
                    dtype=np.int32,
                )
                for line in lines
            ]
        return vocabulary.encode_arrays(lines, threads=threads)


@dataclass(frozen=True)
class Shard:
    """Lines `start` (a byte offset) and following of one side's text, and where its arrays go."""

    side: str
    text: Path
    start: int
    n_lines: int
    stem: Path

    @property
    def tokens(self) -> Path:
        return self.stem.with_suffix(".tokens.npy")

    @property
    def lengths(self) -> Path:
        return self.stem.with_suffix(".lengths.npy")

    @property
    def finished(self) -> bool:
        return self.tokens.exists() and self.lengths.exists()


def encode_corpus(
    text: Path,
    output: Path,
    *,
    sides: tuple[str, str],
    encoder: Encoder,
    threads: int,
    shard_lines: int = SHARD_LINES,
) -> dict[str, Any]:
    """Encode every split of a prepared corpus into `output/<split>`; return the facts.

    Unfinished work is kept in a folder beside `output`, named by the content that it is made of.
    """
    texts = {
        split: {name: text / f"{split}.{side}" for name, side in zip(SIDES, sides, strict=True)}
        for split in ("train", "dev", "test")
    }
    vocabulary = _vocabulary(encoder.vocabulary)
    unfinished = output.parent / f".{output.name}.unfinished"
    key = fingerprint(
        {
            "texts": {s: {k: sha256_of(v) for k, v in files.items()} for s, files in texts.items()},
            "vocabulary": sha256_of(encoder.vocabulary),
            "shard_lines": shard_lines,
            "words": encoder.words,
        }
    )
    facts = {
        split: encode_split(
            files,
            output / split,
            encoder=encoder,
            shards_folder=unfinished / key[:16] / split,
            threads=threads,
            shard_lines=shard_lines,
        )
        for split, files in texts.items()
    }
    shutil.rmtree(unfinished)
    return {"vocab_size": vocabulary.size, "n_pieces": vocabulary.n_pieces, "splits": facts}


def encode_split(
    texts: dict[str, Path],
    folder: Path,
    *,
    encoder: Encoder,
    shards_folder: Path,
    threads: int,
    shard_lines: int = SHARD_LINES,
) -> dict[str, Any]:
    """Encode `texts` (src and tgt) into `folder`, as `pipeline.encoded` has it; return the facts.

    shards_folder: for unfinished work; named by the content, so that nothing stale is found there.
    Raises ValueError where the two texts differ in their number of lines.
    """
    shards = {
        side: _plan(side, text, shards_folder, shard_lines=shard_lines)
        for side, text in texts.items()
    }
    counts = {side: sum(shard.n_lines for shard in plan) for side, plan in shards.items()}
    if counts["src"] != counts["tgt"]:
        raise ValueError(
            f"{texts['src']} has {counts['src']:,} lines, {texts['tgt']} {counts['tgt']:,}; "
            "prepare the corpus again"
        )
    shards_folder.mkdir(parents=True, exist_ok=True)
    missing = [shard for plan in shards.values() for shard in plan if not shard.finished]
    _run(missing, encoder, threads=threads, what=folder.name)
    dtype = token_dtype(_vocabulary(encoder.vocabulary).size)
    facts: dict[str, Any] = {"pairs": counts["src"], "sha256": {}}
    for side in SIDES:
        tokens, unknown = _join(folder / f"{side}_tokens.npy", shards[side], dtype)
        _join_offsets(folder / f"{side}_offsets.npy", shards[side])
        facts |= {f"{side}_tokens": tokens, f"{side}_unknown": unknown}
        for part in ("tokens", "offsets"):
            name = f"{side}_{part}"
            facts["sha256"][name] = sha256_of(folder / f"{name}.npy")
    return facts


def _plan(side: str, text: Path, folder: Path, *, shard_lines: int) -> list[Shard]:
    starts, n_lines = shard_starts(text, lines_per_shard=shard_lines)
    return [
        Shard(
            side,
            text,
            start,
            min(shard_lines, n_lines - number * shard_lines),
            folder / f"{side}-{number:05d}",
        )
        for number, start in enumerate(starts)
    ]


def _run(shards: list[Shard], encoder: Encoder, *, threads: int, what: str) -> None:
    if threads == 1 or len(shards) <= 2:  # too few to pay for processes
        for shard in track(shards, what=what, total=len(shards), unit="shards"):
            encode_shard(shard, encoder, threads=threads)
        return
    with ProcessPoolExecutor(min(threads, len(shards)), mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(encode_shard, shard, encoder) for shard in shards]
        try:
            for job in track(as_completed(jobs), what=what, total=len(jobs), unit="shards"):
                job.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def encode_shard(shard: Shard, encoder: Encoder, threads: int = 1) -> None:
    """Encode one shard and write its arrays, the lengths last."""
    dtype = token_dtype(_vocabulary(encoder.vocabulary).size)
    tokens: list[np.ndarray] = [np.empty(0, dtype=dtype)]
    lengths: list[np.ndarray] = [np.empty(0, dtype=np.int32)]
    for lines in _chunks(shard):
        arrays = encoder.arrays(shard.side, lines, threads=threads)
        lengths.append(np.fromiter(map(len, arrays), dtype=np.int32, count=len(arrays)))
        tokens.append(np.concatenate(arrays).astype(dtype))
    write_array(shard.tokens, np.concatenate(tokens))
    write_array(shard.lengths, np.concatenate(lengths))


def _chunks(shard: Shard) -> Iterator[list[bytes]]:
    """Lines of a shard in lists that are limited in lines and in bytes."""
    chunk: list[bytes] = []
    size = 0
    with open(shard.text, "rb") as stream:
        stream.seek(shard.start)
        for line in islice(stream, shard.n_lines):
            chunk.append(line.removesuffix(b"\n"))
            size += len(line)
            if len(chunk) == CHUNK_LINES or size >= CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
    if chunk:
        yield chunk


def _join(path: Path, shards: Sequence[Shard], dtype: np.dtype) -> tuple[int, int]:
    """Write the shards' tokens as one .npy file; return their number and that of unk_id."""
    unknown = 0

    def parts() -> Iterator[np.ndarray]:
        nonlocal unknown
        for shard in shards:
            part = read_array(shard.tokens, mapped=False)
            unknown += int(np.count_nonzero(part == UNK_ID))
            yield part

    size = sum(len(read_array(shard.tokens)) for shard in shards)
    _write_parts(path, parts(), dtype, size)
    return size, unknown


def _join_offsets(path: Path, shards: Sequence[Shard]) -> None:
    """Write int64 offsets [N + 1] as one .npy file from the shards' lengths."""

    def offsets() -> Iterator[np.ndarray]:
        total = 0
        yield np.zeros(1, dtype=np.int64)
        for shard in shards:
            ends = total + np.cumsum(read_array(shard.lengths, mapped=False), dtype=np.int64)
            total = int(ends[-1]) if len(ends) else total
            yield ends

    _write_parts(path, offsets(), np.dtype(np.int64), 1 + sum(shard.n_lines for shard in shards))


def _write_parts(path: Path, parts: Any, dtype: np.dtype, size: int) -> None:
    header = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": (size,),
    }
    with atomic_open(path) as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for part in parts:
            assert part.dtype == dtype
            part.tofile(stream)


@lru_cache(maxsize=1)
def _vocabulary(folder: str) -> Vocabulary:
    return Vocabulary.load(folder)
