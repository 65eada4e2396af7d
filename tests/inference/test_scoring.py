import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.encoded import EOS_ID, EncodedSplit, write_array
from pipeline.inference.scoring import log_probs, split_log_prob
from pipeline.model.likelihood import perplexity

sentence = st.lists(st.integers(260, 279), max_size=9).map(lambda words: [*words, EOS_ID])
pairs = st.lists(st.tuples(sentence, sentence), min_size=1, max_size=6)


@settings(max_examples=20, deadline=None)
@given(pairs, st.integers(1, 60))
def test_log_probs_are_the_models_own_whatever_the_batches(reverser, forced, pairs, max_tokens):
    sources, targets = ([np.array(x, np.uint16) for x in side] for side in zip(*pairs, strict=True))
    values = log_probs(reverser, sources, targets, max_tokens=max_tokens)
    for value, (source, target) in zip(values, pairs, strict=True):
        assert value == pytest.approx(forced(reverser, torch.tensor(source), target[:-1]), abs=1e-4)


def test_perplexity_of_a_split(reverser, forced, tmp_path):
    sides = {"src": [[4, 5, EOS_ID], [6, EOS_ID]], "tgt": [[5, 4, EOS_ID], [EOS_ID]]}
    for side, sequences in sides.items():
        write_array(tmp_path / f"{side}_tokens.npy", np.concatenate(sequences).astype(np.uint16))
        offsets = np.cumsum([0, *map(len, sequences)])
        write_array(tmp_path / f"{side}_offsets.npy", offsets.astype(np.int64))
    log_prob, tokens = split_log_prob(reverser, EncodedSplit.open(tmp_path), max_tokens=100)
    expected = forced(reverser, torch.tensor([4, 5, EOS_ID]), [5, 4])
    expected += forced(reverser, torch.tensor([6, EOS_ID]), [])
    assert tokens == 4
    assert perplexity(-log_prob, tokens) == pytest.approx(math.exp(-expected / 4), rel=1e-5)


def test_empty_target_is_refused(reverser):
    with pytest.raises(ValueError, match="target"):
        log_probs(reverser, [np.array([EOS_ID])], [np.array([], np.int64)], max_tokens=10)
