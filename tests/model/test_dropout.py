import pytest
import torch

from pipeline.model.dropout import add_dropped, dropped, random_bits

RATES = [0.1, 0.3, 0.5, 0.9]


def test_each_of_the_four_parts_of_a_random_number_is_uniform():
    torch.manual_seed(0)
    bits = random_bits(torch.Size([400_001])).long() + (1 << 15)
    for part in range(4):
        counts = torch.bincount(bits[part::4] // 4096, minlength=16).double()
        expected = counts.sum() / 16
        chi_squared = ((counts - expected) ** 2 / expected).sum()
        assert chi_squared < 45  # 15 degrees of freedom: exceeded once in 10,000


@pytest.mark.parametrize("rate", RATES)
def test_mask_keeps_the_expectation_and_its_gradient_is_the_mask(rate):
    torch.manual_seed(1)
    x = torch.full((300, 101), 2.0, requires_grad=True)
    sublayer = torch.ones(300, 101, requires_grad=True)
    total = add_dropped(x, sublayer, rate=rate)
    total.backward(torch.full_like(total, 3.0))
    factor = total.detach() - 2.0
    assert factor.unique().numel() == 2
    share = float((factor != 0).float().mean())
    assert share == pytest.approx(1 - rate, abs=0.015)
    assert float(factor.max()) == pytest.approx(1 / (1 - rate), rel=1e-3)
    torch.testing.assert_close(sublayer.grad, 3.0 * factor)
    assert (x.grad == 3.0).all()


def test_no_dropout_draws_nothing_and_seeds_repeat():
    x = torch.randn(10, 7)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert torch.equal(add_dropped(x, x, rate=0.0), x + x)
    assert torch.equal(torch.get_rng_state(), before)
    first = dropped(x, rate=0.5)
    torch.manual_seed(2)
    assert torch.equal(dropped(x, rate=0.5), first)
