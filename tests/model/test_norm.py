import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from pipeline.model.norm import LEAST_GAIN, LayerNorm


@given(
    rows=st.integers(1, 9),
    width=st.integers(2, 12),
    least=st.sampled_from([0.0, LEAST_GAIN / 2, LEAST_GAIN * 2, 1.0]),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_output_and_gradients_equal_torch_whatever_the_gains(rows, width, least, seed):
    torch.manual_seed(seed)
    ours, theirs = LayerNorm(width).double(), nn.LayerNorm(width).double()
    with torch.no_grad():
        for norm in (ours, theirs):
            torch.manual_seed(seed)
            nn.init.normal_(norm.weight)
            norm.weight += least * norm.weight.sign()
            norm.weight[0] = least
            nn.init.normal_(norm.bias)
    x = torch.randn(rows, width, dtype=torch.float64)
    upstream = torch.randn(rows, width, dtype=torch.float64)
    results = []
    for norm in (ours, theirs):
        own = x.clone().requires_grad_()
        y = norm(own)
        y.backward(upstream)
        results.append((y.detach(), own.grad, norm.weight.grad, norm.bias.grad))
    for mine, other in zip(*results, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("gain", "keeps_output"), [(1.0, True), (LEAST_GAIN / 2, False)])
def test_what_is_kept_for_the_gradient(gain, keeps_output):
    norm = LayerNorm(8)
    with torch.no_grad():
        norm.weight[3] = gain
    kept = []
    x = torch.randn(5, 8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = norm(x)
    assert any(t.data_ptr() == y.data_ptr() for t in kept) == keeps_output
    assert any(t.data_ptr() == x.data_ptr() for t in kept) != keeps_output
