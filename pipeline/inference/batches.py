"""Batches of sentences of like length under a budget, and the memory that they take."""

from collections.abc import Sequence

import numpy as np

from pipeline.config.schema import ModelConfig


def by_length(
    lengths: Sequence[int], *, max_tokens: int, per_sentence: int = 1
) -> list[np.ndarray]:
    """Indices of sentences in batches, the longest first: what is dearest fails first, if at all.

    The longest sentence of a batch x sentences x per_sentence is at most max_tokens, but for a
    sentence that is over the budget by itself and comes alone. per_sentence: hypotheses of each.
    """
    lengths = np.asarray(lengths)
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]])) * per_sentence
        end = start + max(1, max_tokens // longest)
        batches.append(order[start:end])
        start = end
    return batches


def most_bytes(
    config: ModelConfig,
    *,
    n_sentences: int,
    longest: int,
    vocab_size: int,
    beam_size: int,
    max_extra_tokens: int,
) -> int:
    """The most that decoding a batch can hold beside the weights, in bytes.

    Encoder: attention of every head, twice, and the widest activations of a layer. Decoder: keys
    and values over the source, and over the target as if no two hypotheses shared a position
    (they share most), twice while they are moved; the logits of a step, twice.
    """
    source = n_sentences * longest
    widest = config.d_ff + 4 * config.d_model + 2 * config.n_heads * (2 * config.d_k + config.d_v)
    encoder = 2 * source * longest * config.n_heads + source * widest
    keys = config.n_layers * config.n_heads * (config.d_k + config.d_v)
    target = n_sentences * (longest + max_extra_tokens) * beam_size
    logits = 2 * n_sentences * beam_size * vocab_size
    return 4 * (encoder + 2 * keys * (source + target) + logits)
