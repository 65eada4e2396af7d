"""Text in, text out: a model folder with its subword model around beam search."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from pipeline.config.schema import DecodingConfig, DecodingPrecision
from pipeline.corpora.constraints import TreeConstraint
from pipeline.corpora.linearise import delinearise, mend_tags
from pipeline.corpora.punctuation import MENDED
from pipeline.corpora.trees import split_words, to_line
from pipeline.encoded import EOS_ID
from pipeline.inference.batches import by_length, most_bytes
from pipeline.inference.beam import Constraint, Hypothesis, beam_search
from pipeline.inference.network import Network
from pipeline.inference.precision import chosen_precision
from pipeline.model.folder import ModelFolder
from pipeline.subwords.vocabulary import SPECIAL, Vocabulary


@dataclass(frozen=True)
class Output:
    """One line of output: score and log_prob as in `beam.Hypothesis`, tokens with eos."""

    text: str
    score: float
    log_prob: float
    n_tokens: int
    repairs: Counter[str] = field(default_factory=Counter)


BLANK = Output(text="", score=0.0, log_prob=0.0, n_tokens=0)


def vocabulary_of(folder: ModelFolder) -> Vocabulary:
    """Raises ValueError where it is damaged or of another size than the model's."""
    vocabulary = Vocabulary.load(folder.path)
    if vocabulary.size != folder.vocab_size:
        raise ValueError(
            f"{folder.path}: the model has a vocabulary of {folder.vocab_size}, its subword "
            f"model one of {vocabulary.size}; take the subword model it was trained with"
        )
    return vocabulary


class Planner:
    """What a batch of lines is, before any network is needed."""

    def __init__(self, folder: ModelFolder) -> None:
        """Raises ValueError where the subword model is not the one of the model."""
        self.folder, self.vocabulary = folder, vocabulary_of(folder)

    def batches(
        self, lines: Sequence[str], *, decoding: DecodingConfig, max_tokens: int
    ) -> list[np.ndarray]:
        """Indices of the lines that are not blank, in batches of like length, the longest first.

        Hypotheses x source tokens (padding counted) of a batch are at most max_tokens.
        """
        says = split_words if self.folder.kind == "parsing" else str.strip
        filled = np.array([i for i, line in enumerate(lines) if says(line)], dtype=np.int64)
        lengths = [len(pieces) + 1 for pieces in self.encode([lines[i] for i in filled])]
        batches = by_length(lengths, max_tokens=max_tokens, per_sentence=decoding.beam_size)
        return [filled[batch] for batch in batches]

    def most_bytes(self, lines: Sequence[str], *, decoding: DecodingConfig, max_tokens: int) -> int:
        """The most memory that `lines` can take beside the weights, known before decoding."""
        batches = self.batches(lines, decoding=decoding, max_tokens=max_tokens)
        return max(
            (
                most_bytes(
                    self.folder.model,
                    n_sentences=len(batch),
                    longest=len(self.encode([lines[batch[0]]])[0]) + 1,
                    vocab_size=self.folder.vocab_size,
                    beam_size=decoding.beam_size,
                    max_extra_tokens=decoding.max_extra_tokens,
                )
                for batch in batches
            ),
            default=0,
        )

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return self.vocabulary.encode_lines(lines)


class Translator(Planner):
    """A model folder ready to translate lines, or to parse them if that is what it learnt."""

    def __init__(
        self,
        folder: ModelFolder,
        *,
        device: str | torch.device,
        precision: DecodingPrecision = "fp32",
    ) -> None:
        """Raises ValueError where weights or vocabulary don't fit the folder's config.json.

        precision: "auto" is measured, and said on stderr; see `chosen_precision`.
        """
        super().__init__(folder)
        if precision == "auto":
            precision = chosen_precision("auto", folder, device=device)
        self.network = Network(folder.load(device=device), precision=precision)

    def run(
        self, lines: Sequence[str], *, decoding: DecodingConfig, max_tokens: int, n_best: int = 1
    ) -> list[list[Output]]:
        """The n_best outputs of each line, in the order of the lines; one blank for a blank."""
        results: list[list[Output]] = [[BLANK]] * len(lines)
        for index, outputs in self.run_batches(
            lines, decoding=decoding, max_tokens=max_tokens, n_best=n_best
        ):
            results[index] = outputs
        return results

    def run_batches(
        self, lines: Sequence[str], *, decoding: DecodingConfig, max_tokens: int, n_best: int = 1
    ) -> Iterator[tuple[int, list[Output]]]:
        """As `run`, but (line index, outputs) as they come, for lines that are not blank."""
        for batch in self.batches(lines, decoding=decoding, max_tokens=max_tokens):
            outputs = self.run_batch([lines[i] for i in batch], decoding=decoding, n_best=n_best)
            yield from zip(batch.tolist(), outputs, strict=True)

    def run_batch(
        self, lines: Sequence[str], *, decoding: DecodingConfig, n_best: int = 1
    ) -> list[list[Output]]:
        """The n_best outputs of each line; all lines at once, none blank."""
        constraint = self._constraint(lines) if decoding.constrained else None
        found = beam_search(
            self.network,
            [torch.tensor([*pieces, EOS_ID]) for pieces in self.encode(lines)],
            beam_size=decoding.beam_size,
            length_penalty=decoding.length_penalty,
            max_extra_tokens=decoding.max_extra_tokens,
            n_best=n_best,
            constraint=constraint,
            n_words=[len(split_words(line)) for line in lines] if constraint else None,
        )
        return [
            [self._output(hypothesis, line) for hypothesis in hypotheses]
            for line, hypotheses in zip(lines, found, strict=True)
        ]

    def _constraint(self, lines: Sequence[str]) -> Constraint:
        if self.folder.kind != "parsing":
            raise ValueError("decoding.constrained is for parsing models only: true")
        leaves = None
        if self.folder.tags == "words":
            leaves = [self.vocabulary.word_ids(split_words(line)) for line in lines]
        return TreeConstraint(
            self.vocabulary.symbols,
            n_pieces=self.vocabulary.n_pieces,
            eos_id=EOS_ID,
            vocab_size=self.vocabulary.size,
            leaves=leaves,
            word_columns=range(len(SPECIAL), self.vocabulary.n_pieces),
        )

    def _output(self, hypothesis: Hypothesis, line: str) -> Output:
        n_tokens = len(hypothesis.tokens) + 1
        if self.folder.kind == "parsing":
            symbols = self.vocabulary.decode_symbols(
                hypothesis.tokens, words=self.folder.tags == "words"
            )
            tree, repairs = delinearise(symbols, split_words(line), tags=self.folder.tags)
            if self.folder.tags == "keep":
                tree, wrong = mend_tags(tree)
                repairs += Counter({MENDED: wrong})  # none of 0
            return Output(to_line(tree), hypothesis.score, hypothesis.log_prob, n_tokens, repairs)
        text = self.vocabulary.decode(hypothesis.tokens)
        return Output(text, hypothesis.score, hypothesis.log_prob, n_tokens)


def total_repairs(outputs: Iterable[Output]) -> dict[str, int]:
    """How often each repair of trees was needed."""
    total: Counter[str] = Counter()
    for output in outputs:
        total.update(output.repairs)
    return dict(sorted(total.items()))
