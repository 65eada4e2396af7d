"""Cached steps against the model's own forward pass over whole sequences."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.encoded import BOS_ID, EOS_ID, PAD_ID
from pipeline.inference.cache import ROOM_STEPS, Cache
from pipeline.inference.grid import Grid, pad
from pipeline.inference.network import Network

VARIANTS = [
    {},
    {"positions": "learned"},
    {"positions": "none"},
    {"n_layers": 1, "n_heads": 1, "d_k": 16, "d_v": 8},
    {"d_k": 3, "d_v": 5, "n_heads": 4},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_encoder_equals_the_model(make_model, changes):
    model = make_model(1, vocab_size=50, **changes)
    sources = [torch.randint(4, 50, (length,)) for length in (3, 1, 7, 7)]
    rows_ND, grid = Network(model).encode(sources)
    expected = model.encode(pad(sources, pad_id=PAD_ID))
    mask = pad(sources, pad_id=PAD_ID) != PAD_ID
    torch.testing.assert_close(rows_ND, expected[mask], atol=1e-5, rtol=1e-5)
    assert grid.to_grid(rows_ND).shape == expected.shape


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(VARIANTS), st.integers(1, 5), st.integers(0, 10**6))
def test_steps_equal_the_model_however_hypotheses_are_reordered(make_model, changes, beams, seed):
    """Random parents, a changing number of hypotheses, sentences that leave on the way."""
    model = make_model(2, vocab_size=30, **changes)
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 6, (4,), generator=draw).tolist()
    sources = [torch.randint(4, 30, (n,), generator=draw) for n in lengths]
    cache = Cache(Network(model), sources)
    tokens = torch.full((4, 1), BOS_ID)
    parents = torch.zeros(4, 1, dtype=torch.int64)
    texts = [[[]] for _ in sources]
    for step in range(2 * ROOM_STEPS + 3):
        texts = [
            [[*texts[s][parents[s, b]], int(tokens[s, b])] for b in range(tokens.size(1))]
            for s in range(len(texts))
        ]
        states = cache.step(tokens, parents).view(*tokens.shape, -1)
        for s, hypotheses in enumerate(texts):
            source = sources[s].expand(len(hypotheses), -1)
            own = model(source, torch.tensor(hypotheses)).view(len(hypotheses), step + 1, -1)
            torch.testing.assert_close(states[s], own[:, -1], atol=2e-5, rtol=1e-4)
        if step in (4, 11) and len(texts) > 1:
            stay = torch.tensor([s for s in range(len(texts)) if s != step % len(texts)])
            cache.keep(stay)
            texts = [texts[s] for s in stay]
            sources = [sources[s] for s in stay]
        before = len(texts[0])
        parents = torch.randint(0, before, (len(texts), beams), generator=draw)
        tokens = torch.randint(4, 30, (len(texts), beams), generator=draw)


def test_keys_of_a_shared_past_are_stored_once(make_model):
    """Hypotheses that all descend from the first leave about one key a position."""
    cache = Cache(Network(make_model(3, vocab_size=30)), [torch.tensor([4, EOS_ID])])
    parents = torch.zeros(1, 4, dtype=torch.int64)
    for _ in range(40):
        cache.step(torch.full((1, 4), 5), parents)
    assert cache.width <= 40 + 4 * ROOM_STEPS


def test_grid_is_the_inverse_of_packing():
    sources = [torch.arange(n) for n in (2, 5, 1)]
    grid = Grid(sources, device=torch.device("cpu"))
    rows = torch.randn(8, 3)
    assert torch.equal(grid.to_packed(grid.to_grid(rows)), rows)
    assert grid.position_N.tolist() == [0, 1, 0, 1, 2, 3, 4, 0]
