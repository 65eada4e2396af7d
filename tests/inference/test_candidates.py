from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pipeline.inference.candidates import BLOCK, Stand, best_tokens, sort_keys

FLOATS = st.floats(-50, 50, width=32) | st.sampled_from([0.0, -0.0, 1.0, -1.0])


def pieces_of(logits, cuts):
    """Functions that give the columns between the cuts (multiples of a block)."""
    edges = [0, *sorted({c * BLOCK for c in cuts if c * BLOCK < logits.shape[1]}), logits.shape[1]]
    return [lambda rows, a=a, b=b: rows[:, a:b].clone() for a, b in pairwise(edges)]


@settings(max_examples=60, deadline=None)
@given(
    npst.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 200)), elements=FLOATS),
    st.integers(1, 40),
    st.lists(st.integers(1, 6), max_size=3),
    st.sets(st.integers(0, 199), max_size=5),
)
def test_best_tokens_equals_sorting_everything(array, k, cuts, never):
    logits = torch.from_numpy(array)
    logits[:, 0] = 1.0  # each row has some probability

    def mask(piece, start):
        for column in never:
            if start <= column < start + piece.size(1):
                piece[:, column - start] = -torch.inf

    log_probs, tokens = best_tokens(logits, pieces_of(logits, cuts), k, mask=mask)
    expected = logits.double().log_softmax(dim=1)
    allowed = logits.clone()
    mask(allowed, 0)
    for row in range(len(logits)):
        order = sorted(range(logits.size(1)), key=lambda c: (-allowed[row, c].item(), c))[:k]
        assert tokens[row].tolist() == order
        for log_prob, column in zip(log_probs[row].tolist(), order, strict=True):
            value = float("-inf") if column in never else expected[row, column].item()
            assert log_prob == pytest.approx(value, abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    npst.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(8, 200)), elements=FLOATS),
    st.lists(st.integers(1, 6), max_size=3),
    st.data(),
)
def test_one_token_has_the_probability_of_many(array, cuts, data):
    logits = torch.from_numpy(array)
    rows, size = logits.shape
    first = data.draw(st.integers(0, size - 1))
    columns = range(first, data.draw(st.integers(first + 1, size)))
    token = [data.draw(st.sampled_from([-1, *columns])) for _ in range(rows)]

    def mask(piece, start):  # every second token may follow
        piece[:, start % 2 :: 2] = -torch.inf

    found = best_tokens(
        logits, pieces_of(logits, cuts), size, mask=mask, stand=Stand(columns, torch.tensor(token))
    )
    expected = logits.double().softmax(dim=1)
    for row in range(rows):
        together = expected[row, columns.start : columns.stop].sum().log().item()
        values = dict(zip(found[1][row].tolist(), found[0][row].tolist(), strict=True))
        assert len(values) == size
        for column, value in values.items():
            alone = expected[row, column].log().item() if column % 2 else float("-inf")
            wanted = together if column == token[row] else alone
            assert value == pytest.approx(wanted, abs=1e-4)
        assert found[0][row].tolist() == sorted(values.values(), reverse=True)


@given(npst.arrays(np.float32, st.integers(1, 50), elements=FLOATS))
def test_sort_keys_order_like_scores_then_columns(array):
    keys = sort_keys(torch.from_numpy(array)[None])[0].tolist()
    assert len(set(keys)) == len(keys)
    order = sorted(range(len(array)), key=lambda c: (-float(array[c]), c))
    assert sorted(range(len(array)), key=lambda c: -keys[c]) == order
