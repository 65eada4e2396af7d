"""From raw text to buckets at the size of WMT 2014: seconds and peak memory by stage and size.

A synthetic English-German-like corpus (made words of a Zipf law, log-normal lengths of some 26
words) goes through the real steps, each in its own process. Beside them, at the size nearest to
WMT 2014 en-de, with the same model and as many threads: sentencepiece's own encoding of the same
lines, and `datasets.map`.

    python -m bench.corpora --sizes 100000 200000      a quick look
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import psutil

from pipeline.config.corpus import CorpusConfig, Sides, SubwordCorpus, TextCorpus
from pipeline.corpora.sources import SourceFile, SourcePart, write_sources
from pipeline.files import iter_lines, write_json, write_lines

SIZES = (1_000_000, 4_500_000, 9_000_000)
WMT14_ENDE, WMT14_ENFR = 4_500_000, 36_000_000
SIDES = ("en", "de")
TYPES = 300_000  # distinct words of each side
SAMPLE_SECONDS = 0.05
CHUNK = 4_000
STAGES = ("prepare", "learn_subwords", "encode", "bucket")
PARTS = {"prepare": TextCorpus, "learn_subwords": SubwordCorpus, "encode": Sides}
REFERENCES = ("sentencepiece", "datasets_map")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="pairs")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--vocab-size", type=int, default=37_000)
    parser.add_argument("--folder", type=Path, help="where the corpora are made and removed")
    parser.add_argument("--output", type=Path, default=Path("results/bench/corpora.json"))
    parser.add_argument("--reference", choices=REFERENCES, help=argparse.SUPPRESS)
    parser.add_argument("--corpus-folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reference == "sentencepiece":
        time_sentencepiece(options.corpus_folder, options.threads)
        return
    if options.reference == "datasets_map":
        time_datasets_map(options.corpus_folder, options.threads)
        return
    nearest = min(options.sizes, key=lambda size: abs(size - WMT14_ENDE))
    measured = {
        size: measure(size, options, references=REFERENCES if size == nearest else ())
        for size in options.sizes
    }
    write_json(options.output, summary(measured, options.threads))


def measure(
    size: int, options: argparse.Namespace, *, references: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """Seconds and peak bytes of every stage at one size, and of the references asked for."""
    with tempfile.TemporaryDirectory(prefix="bench.", dir=options.folder) as name:
        folder = Path(name)
        corpus = make_corpus(folder, size, options.vocab_size)
        config = {  # of each step, the part of the corpus file that it needs
            step: ["--corpus", corpus.model_dump_json(include=set(part.model_fields))]
            for step, part in PARTS.items()
        }
        text, subwords = ["--text", str(folder / "text")], ["--subwords", str(folder / "subwords")]
        threads = ["--threads", str(options.threads)]
        encoded = str(folder / "encoded")
        commands = {
            "prepare": [*config["prepare"], "--sources", str(folder / "sources.json"), "--output",
                        str(folder / "text"), "--report", str(folder / "prepare.json")],
            "learn_subwords": [*config["learn_subwords"], *text, "--output",
                               str(folder / "subwords")],
            "encode": [*config["encode"], *text, *subwords, *threads, "--output", encoded],
            "bucket": ["--encoded", encoded, "--output", str(folder / "buckets")],
        }  # fmt: skip
        result = {}
        for stage, arguments in commands.items():
            command = [sys.executable, "-m", f"pipeline.steps.{stage}", *arguments]
            result[stage] = run(command, what=f"{size:,} pairs, {stage}")
        for reference in references:
            command = [sys.executable, "-m", "bench.corpora", "--reference", reference, *threads]
            command += ["--corpus-folder", str(folder)]
            result[reference] = run(command, what=f"{size:,} pairs, {reference}")
        return result


def run(command: list[str], *, what: str) -> dict[str, float]:
    """Run a process; its seconds, and the peak of the memory that it and its children hold.

    Memory is the proportional set size (shared pages are counted once), sampled 20 times a second.
    A process that prints {"seconds": ...} has timed itself, without its start-up.
    """
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = 0
    finished = threading.Event()

    def watch() -> None:
        nonlocal peak
        root = psutil.Process(process.pid)
        while not finished.wait(SAMPLE_SECONDS):
            peak = max(peak, held_bytes(root))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output, errors = process.communicate()
    finished.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{what} failed:\n{errors[-2000:]}")
    own = json.loads(output) if output.startswith("{") else {}
    result = {"seconds": own.get("seconds", time.monotonic() - start), "peak_bytes": peak}
    print(f"{what}: {result['seconds']:.1f} s, {peak / 2**20:,.0f} MiB", file=sys.stderr)
    return result


def held_bytes(root: psutil.Process) -> int:
    total = 0
    try:
        for process in (root, *root.children(recursive=True)):
            memory = process.memory_full_info()
            total += getattr(memory, "pss", memory.rss)
    except psutil.NoSuchProcess:  # it ended while we looked
        return 0
    return total


def make_corpus(folder: Path, size: int, vocab_size: int) -> CorpusConfig:
    """Raw files of a synthetic corpus and their sources.json; the config that names them."""
    counts = {"train": size, "dev": 1000, "test": 1000}
    splits = {}
    for number, (split, count) in enumerate(counts.items()):
        sides = {}
        for side_number, side in enumerate(SIDES):
            path = folder / "raw" / f"{split}.{side}"
            rng = np.random.default_rng([number, side_number])
            write_lines(path, sentences(count, made_words(side_number), rng))
            sides[side] = SourceFile(path=str(path))
        splits[split] = [SourcePart(name=split, sides=sides, lines=count)]
    write_sources(folder / "sources.json", step="download", corpus="bench", splits=splits)
    part = {"name": "bench", "files": dict.fromkeys(SIDES, "bench")}
    return CorpusConfig.model_validate(
        {
            "name": "bench",
            "title": "bench",
            "kind": "translation",
            "languages": list(SIDES),
            "test_sets": {"dev": "dev", "test": "test"},
            "source": {
                "kind": "files",
                "downloads": {"bench": {"local": "bench"}},
                "splits": {split: [part] for split in counts},
            },
            "filters": {},
            "subwords": {
                "model_type": "bpe",
                "vocab_size": vocab_size,
                "max_sentences": 2_000_000,
                "character_coverage": 0.9999,
                "seed": 1,
            },
        }
    )


def made_words(side: int) -> np.ndarray:
    """Words of 1 to 5 syllables, the frequent ones shorter; different ones for each side."""
    rng = np.random.default_rng([99, side])
    onsets = np.array(
        ["b", "d", "f", "g", "h", "k", "l", "m", "n", "r", "s", "sch", "t", "w", "st"]
    )
    vowels = np.array([*"aeiou", "ei", "au", *("äöü" if side else "y")])
    codas = np.array(["", "", "n", "r", "s", "t", "ng", "l"])
    syllables = [
        np.char.add(np.char.add(rng.choice(onsets, TYPES), rng.choice(vowels, TYPES)),
                    rng.choice(codas, TYPES))
        for _ in range(5)
    ]  # fmt: skip
    ranks = np.log(np.arange(1, TYPES + 1)) / np.log(TYPES)
    lengths = np.clip(np.round(ranks * 3 + rng.random(TYPES)), 1, 5).astype(int)
    words = syllables[0]
    for index in range(1, 5):
        words = np.where(lengths > index, np.char.add(words, syllables[index]), words)
    return words.astype(object)


def sentences(count: int, words: np.ndarray, rng: np.random.Generator) -> Iterator[str]:
    """Lines of words drawn by Zipf's law; log-normal lengths as in WMT 2014."""
    cumulative = np.cumsum(1.0 / np.arange(1, len(words) + 1) ** 1.05)
    cumulative /= cumulative[-1]
    for start in range(0, count, 100_000):
        n = min(100_000, count - start)
        lengths = np.clip(np.exp(rng.normal(3.05, 0.6, n)), 1, 200).astype(int)
        drawn = words[np.searchsorted(cumulative, rng.random(int(lengths.sum())))]
        end = 0
        for length in lengths:
            begin, end = end, end + length
            yield " ".join(drawn[begin:end]).capitalize() + "."


def time_sentencepiece(folder: Path, threads: int) -> None:
    """Print the seconds that sentencepiece alone needs to encode the training text."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "subwords" / "subwords.model")
    )
    seconds = 0.0
    for side in SIDES:
        lines = iter_lines(folder / "text" / f"train.{side}")
        while chunk := list(islice(lines, 25 * CHUNK)):
            start = time.monotonic()
            processor.encode(chunk, num_threads=threads)
            seconds += time.monotonic() - start
    print(json.dumps({"seconds": seconds}))


def time_datasets_map(folder: Path, threads: int) -> None:
    """Print the seconds that `datasets.map` needs to encode the training text to its cache."""
    import datasets
    import sentencepiece

    model = str(folder / "subwords" / "subwords.model")
    processors = {}

    def encode(batch: dict) -> dict:
        if "it" not in processors:
            processors["it"] = sentencepiece.SentencePieceProcessor(model_file=model)
        encoder = processors["it"]
        return {side: encoder.encode(batch[side], add_eos=True) for side in SIDES}

    def records() -> Iterator[dict]:
        streams = [iter_lines(folder / "text" / f"train.{side}") for side in SIDES]
        for row in zip(*streams, strict=True):
            yield dict(zip(SIDES, row, strict=True))

    datasets.disable_progress_bars()
    text = datasets.Dataset.from_generator(records, cache_dir=str(folder / "datasets"))
    start = time.monotonic()
    text.map(encode, batched=True, batch_size=CHUNK, num_proc=threads, remove_columns=list(SIDES))
    print(json.dumps({"seconds": time.monotonic() - start}))


def summary(measured: dict[int, dict[str, dict[str, float]]], threads: int) -> dict:
    """The results file: by stage and size, ratios at the size nearest to WMT 2014 en-de."""
    sizes = sorted(measured)
    nearest = min(sizes, key=lambda size: abs(size - WMT14_ENDE))
    at = measured[nearest]
    seconds, peaks = (
        {stage: {str(size): round(measured[size][stage][key], 3) for size in sizes
                 if stage in measured[size]}
         for stage in (*STAGES, *REFERENCES)}
        for key in ("seconds", "peak_bytes")
    )  # fmt: skip
    largest = sizes[-1]
    return {
        "threads": threads,
        "pairs": sizes,
        "seconds": seconds,
        "peak_bytes": peaks,
        "ratio": {
            "pairs": nearest,
            "encode_to_sentencepiece": at["encode"]["seconds"] / at["sentencepiece"]["seconds"],
            "to_datasets_map": at["encode"]["seconds"] / at["datasets_map"]["seconds"],
        },
        "growth": {  # 1 is linear time, and flat memory
            stage: {
                "seconds_per_pair": (measured[largest][stage]["seconds"] / largest)
                / (measured[sizes[0]][stage]["seconds"] / sizes[0]),
                "peak_bytes": measured[largest][stage]["peak_bytes"]
                / max(1, measured[sizes[0]][stage]["peak_bytes"]),
            }
            for stage in STAGES
        },
        "extrapolated_seconds": {
            str(WMT14_ENFR): {
                stage: measured[largest][stage]["seconds"] * WMT14_ENFR / largest
                for stage in STAGES
            }
        },
    }


if __name__ == "__main__":
    main()
