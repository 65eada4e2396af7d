"""How probable given translations are: forced scores of sentences, and perplexity of a set."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from pipeline.encoded import BOS_ID, EncodedSplit
from pipeline.inference.batches import by_length
from pipeline.inference.grid import pad
from pipeline.model.likelihood import vocabulary_loss
from pipeline.model.transformer import Transformer


def log_probs(
    model: Transformer,
    sources: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    *,
    max_tokens: int,
) -> np.ndarray:
    """log P(target | source) of each pair in nats, eos counted, not smoothed: float64 [n].

    sources, targets: ids with eos at the end. max_tokens: of a batch, padded, on the longer side.
    Raises ValueError where a target is empty.
    """
    result = np.empty(len(sources))
    for index, values in _scored(model, sources, targets, max_tokens=max_tokens):
        result[index] = values
    return result


def split_log_prob(
    model: Transformer, split: EncodedSplit, *, max_tokens: int
) -> tuple[float, int]:
    """Sum of log P over an encoded split, and its target tokens (eos counted): see perplexity."""
    pairs = range(len(split))
    sources, targets = [split.src(i) for i in pairs], [split.tgt(i) for i in pairs]
    values = log_probs(model, sources, targets, max_tokens=max_tokens)
    return float(values.sum()), int(split.tgt_lengths().sum())


@torch.inference_mode()
def _scored(
    model: Transformer,
    sources: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    *,
    max_tokens: int,
) -> Iterator[tuple[np.ndarray, list[float]]]:
    lengths = [max(len(s), len(t)) for s, t in zip(sources, targets, strict=True)]
    device = model.embedding.weight.device
    for batch in by_length(lengths, max_tokens=max_tokens):
        tgt = [_ids(targets[i]) for i in batch]
        if not all(len(ids) for ids in tgt):
            raise ValueError("a target has no token, not even its end of sentence")
        src_BS = pad([_ids(sources[i]) for i in batch], pad_id=model.pad_id)
        shifted = [torch.cat([ids.new_tensor([BOS_ID]), ids[:-1]]) for ids in tgt]
        tgt_BT = pad(shifted, pad_id=model.pad_id)
        states_ND = model(src_BS.to(device), tgt_BT.to(device))
        values = [
            -vocabulary_loss(states, model.embedding.weight, ids.to(device), label_smoothing=0.0)[
                1
            ].item()
            for states, ids in zip(states_ND.split([len(ids) for ids in tgt]), tgt, strict=True)
        ]
        yield batch, values


def _ids(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.asarray(array).astype(np.int64))
