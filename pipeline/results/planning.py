"""What a scale will cost before anything is run: updates, operations, hours, bytes.

Counted from the configuration alone. Lengths of sentences are assumed by kind of corpus until the
corpus is encoded; then they are read off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.corpus import CorpusConfig
from pipeline.config.loading import Project
from pipeline.config.schema import Experiment, ModelConfig
from pipeline.encoded import read_array, token_dtype
from pipeline.evaluation.cost import Lengths, counted_training_flops, forward_flops

WEIGHT_BYTES = 4
CHECKPOINT_BYTES = 12  # a parameter's weight and Adam's two moments
INDEX_BYTES = 8  # an entry of offsets or of a bucket's order
TEXT_BYTES = 4.5  # of a subword, with its share of spaces
SPREAD = 1.4  # mean of squared lengths over squared mean length
# subwords of a sentence, source and target, with the end of sentence
ASSUMED_LENGTHS = {
    ("files", "translation"): (30, 31),
    ("files", "parsing"): (30, 65),
    ("self_training", "parsing"): (30, 65),
    ("grammar", "translation"): (13, 15),
    ("grammar", "parsing"): (12, 27),
}
TABLE3 = "table3"


@dataclass(frozen=True)
class Corpus:
    """Size of one corpus, each length in subwords with the end of sentence."""

    name: str
    lines: dict[str, int]  # by split; texts of unknown size are not in it
    unknown_texts: tuple[str, ...]
    mean_src: float
    mean_tgt: float
    measured: bool
    download_bytes: int
    unknown_downloads: int
    text_bytes: int
    encoded_bytes: int


@dataclass(frozen=True)
class Plan:
    """One experiment, all its seeds."""

    experiment: str
    runs: int
    steps: int
    tokens_a_side: float  # of one run, on the larger side
    parameters: int
    training_flops: float  # of all runs, as all below
    decoding_flops: float
    checkpoint_bytes: int
    model_bytes: int


def count_parameters(model: ModelConfig, *, vocab_size: int) -> int:
    """Parameters of the model of section 3 with one tied embedding, by its shapes."""
    d = model.d_model
    attention = 2 * d * model.n_heads * (model.d_k + model.d_v)
    feed_forward = 2 * d * model.d_ff + model.d_ff + d
    norm = 2 * d
    layers = model.n_layers * (3 * attention + 2 * feed_forward + 5 * norm)
    learned = model.max_positions * d if model.positions == "learned" else 0
    return vocab_size * d + layers + learned


def lengths_of(tokens_per_step: int, steps: int, *, mean_src: float, mean_tgt: float) -> Lengths:
    """Sums over everything trained on: each update fills its larger side."""
    larger = max(mean_src, mean_tgt)
    pairs = steps * tokens_per_step / larger
    return Lengths(
        src_tokens=pairs * mean_src,
        tgt_tokens=pairs * mean_tgt,
        src_squares=pairs * SPREAD * mean_src**2,
        tgt_squares=pairs * SPREAD * mean_tgt**2,
        products=pairs * SPREAD * mean_src * mean_tgt,
    )


def plan_corpus(config: CorpusConfig, folder: Path) -> Corpus:
    """Sizes of a corpus; `folder` is results/<scale>/corpora/<name>, which may not exist yet."""
    lines, unknown_texts = _lines(config)
    mean_src, mean_tgt = ASSUMED_LENGTHS[config.source.kind, config.kind]
    encoded = folder / "encoded" / "train"
    measured = (encoded / "src_offsets.npy").is_file()
    if measured:
        src, tgt = (read_array(encoded / f"{side}_offsets.npy") for side in ("src", "tgt"))
        lines["train"] = len(src) - 1
        mean_src, mean_tgt = float(src[-1]) / (len(src) - 1), float(tgt[-1]) / (len(tgt) - 1)
    total = sum(lines.values())
    tokens = total * (mean_src + mean_tgt)
    token_bytes = token_dtype(config.subwords.vocab_size).itemsize
    copies = 2 if config.source.kind == "grammar" else 1  # what was generated stays beside
    downloads, unknown = _downloads(config)
    return Corpus(
        name=config.name,
        lines=lines,
        unknown_texts=() if measured else unknown_texts,
        mean_src=mean_src,
        mean_tgt=mean_tgt,
        measured=measured,
        download_bytes=sum(downloads.values()),
        unknown_downloads=unknown,
        text_bytes=round(copies * tokens * TEXT_BYTES),
        encoded_bytes=round(tokens * token_bytes + 3 * total * INDEX_BYTES),
    )


def plan_experiment(experiment: Experiment, corpus: Corpus, *, vocab_size: int, runs: int) -> Plan:
    model, training, decoding = experiment.model, experiment.training, experiment.decoding
    means = {"mean_src": corpus.mean_src, "mean_tgt": corpus.mean_tgt}
    lengths = lengths_of(training.tokens_per_step, training.max_steps, **means)
    parameters = count_parameters(model, vocab_size=vocab_size)
    averages = {1 if table == TABLE3 else decoding.n_average for table in experiment.tables}
    splits = {"dev" if table == TABLE3 else "test" for table in experiment.tables}
    decoded = sum(corpus.lines.get(split, 0) for split in splits)
    one_each = lengths_of(1, 1, **means).times(decoded * max(corpus.mean_src, corpus.mean_tgt))
    forward = forward_flops(model, vocab_size=vocab_size, lengths=one_each)
    kept = max(decoding.n_average, 2)
    return Plan(
        experiment=experiment.name,
        runs=runs,
        steps=training.max_steps,
        tokens_a_side=float(training.max_steps) * training.tokens_per_step,
        parameters=parameters,
        training_flops=runs * counted_training_flops(model, vocab_size=vocab_size, lengths=lengths),
        decoding_flops=runs * decoding.beam_size * forward,
        checkpoint_bytes=runs * kept * CHECKPOINT_BYTES * parameters,
        model_bytes=runs * len(averages) * WEIGHT_BYTES * parameters,
    )


def plan_project(project: Project, *, results: Path) -> tuple[list[Plan], list[Corpus]]:
    """Plans of all experiments of the scale, and the corpora that they need."""
    used = {name: project.corpus_of(name) for name in project.experiments}
    folder = results / project.scale.name / "corpora"
    corpora = {config.name: plan_corpus(config, folder / config.name) for config in used.values()}
    plans = [
        plan_experiment(
            experiment,
            corpora[used[name].name],
            vocab_size=used[name].subwords.vocab_size,
            runs=len(project.seeds_of(name)),
        )
        for name, experiment in project.experiments.items()
    ]
    return plans, list(corpora.values())


def download_bytes(configs: Sequence[CorpusConfig]) -> int:
    """Known bytes to fetch for several corpora; a file that two of them share counts once."""
    shared: dict[str, int] = {}
    for config in configs:
        shared |= _downloads(config)[0]
    return sum(shared.values())


def _downloads(config: CorpusConfig) -> tuple[Mapping[str, int], int]:
    """Bytes by file of the first remote that states them, and how many files state none."""
    if config.source.kind != "files":
        return {}, 0
    known: dict[str, int] = {}
    unknown = 0
    for download in config.source.downloads.values():
        stated = [remote.bytes for remote in download.remotes if remote.bytes]
        if stated:
            known[download.local] = stated[0]
        else:
            unknown += 1
    return known, unknown


def _lines(config: CorpusConfig) -> tuple[dict[str, int], tuple[str, ...]]:
    """Sentences by split, and the names of texts whose size is not stated."""
    if config.source.kind == "grammar":
        return dict(config.source.sizes), ()
    if config.source.kind == "self_training":
        kept = round(config.source.share * config.source.raw.max_sentences)
        return {"train": kept}, (f"treebank {config.source.treebank}",)
    counts: dict[str, int] = {}
    unknown = []
    for split, parts in config.source.splits.items():
        for part in parts:
            lines = part.take[1] - part.take[0] + 1 if part.take else part.lines
            if lines is None:
                unknown.append(part.name)
            else:
                counts[split] = counts.get(split, 0) + lines
    return counts, tuple(unknown)
