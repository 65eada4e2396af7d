import math

import pytest
import torch

from pipeline.model.attention import MultiHeadAttention, _Attention, attention_weights
from pipeline.model.layout import CELLS, ROWS, SENTENCES, Layout


def test_worked_example_of_the_paper():
    """A query of (0, 2) with raw scores (0, 2, 2) and d_k = 2."""
    keys = torch.tensor([[[[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]]]])
    weights = attention_weights(torch.tensor([[[[0.0, 2.0]]]]), keys)
    torch.testing.assert_close(
        weights.flatten(), torch.tensor([0.108, 0.446, 0.446]), atol=5e-4, rtol=0
    )


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_gradients_of_attention(dropout):
    torch.manual_seed(0)
    q, k, v = (torch.randn(4, 5, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mask = torch.zeros(2, 1, 5, 5, dtype=torch.float64)
    mask[1, :, :, 3:] = -math.inf

    def attend(q, k, v):
        torch.manual_seed(1)  # the same mask of dropout each time
        return _Attention.apply(q, k, v, mask, dropout)

    assert torch.autograd.gradcheck(attend, (q, k, v))


def test_attention_equals_torch_own(small):
    torch.manual_seed(0)
    ids = torch.randint(1, 9, (3, 21))
    ids[0, 4:] = ids[1, 20:] = 0
    layout = Layout(ids, pad_id=0)
    module = MultiHeadAttention(small(d_k=4, d_v=4, n_heads=4), over_memory=False)
    x = torch.randn(layout.n_rows, 16)
    for causal in (False, True):
        ours = module(x, layout, causal=causal)[: layout.n_tokens]
        start = 0
        for row in ids:
            n = int((row != 0).sum())
            q, k, v = module.qkv(x[start : start + n]).unflatten(1, (3, 4, 4)).permute(1, 2, 0, 3)
            seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            wanted = module.out(seen.transpose(0, 1).flatten(1))
            torch.testing.assert_close(ours[start : start + n], wanted)
            start += n


@pytest.mark.parametrize("widths", [[8], [4, 4, 4], [4, 4, 10], [6, 3]])
def test_layout_goes_to_heads_and_back(widths):
    torch.manual_seed(0)
    ids = torch.randint(1, 9, (5, 18))
    for row, length in enumerate((18, 1, 7, 17, 12)):
        ids[row, length:] = 0
    layout = Layout(ids, pad_id=0)
    assert layout.n_rows % ROWS == 0
    assert layout.n_rows > layout.n_tokens == 55
    x = torch.randn(layout.n_rows, 3 * sum(widths), requires_grad=True)
    parts = layout.to_heads(x, widths, n_heads=3)
    batch, longest = layout.shape
    assert batch % SENTENCES == longest % CELLS == 0
    assert (batch, longest) == (8, 24)
    assert [p.shape for p in parts] == [(batch * 3, longest, w) for w in widths]
    back = torch.cat([layout.to_rows(p, n_heads=3) for p in parts], dim=1)
    n = layout.n_tokens
    torch.testing.assert_close(back[:n], x[:n])
    upstream = torch.randn_like(back)
    upstream[n:] = 0
    back.backward(upstream)
    torch.testing.assert_close(x.grad[:n], upstream[:n])
    assert (x.grad[n:] == 0).all()
    head = parts[0].view(batch, 3, longest, -1)[0, 1]  # second head of the first sentence
    torch.testing.assert_close(head[:18], x[:18, widths[0] : 2 * widths[0]])
