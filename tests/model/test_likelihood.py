import math
import subprocess
import sys

import pytest
import torch
from torch.nn import functional as F

from pipeline.model.likelihood import perplexity, vocabulary_loss


@pytest.mark.parametrize("eps", [0.0, 0.1])
@pytest.mark.parametrize("tokens", [1, 1024, 1500])
def test_loss_and_gradients_equal_torch_cross_entropy(eps, tokens):
    torch.manual_seed(0)
    states = torch.randn(tokens, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(31, 6, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 31, (tokens,))
    loss, nll = vocabulary_loss(states, weight, targets, label_smoothing=eps)
    (loss * 0.3).backward()
    ours = states.grad.clone(), weight.grad.clone()
    states.grad = weight.grad = None
    wanted = F.cross_entropy(states @ weight.T, targets, reduction="sum", label_smoothing=eps)
    (wanted * 0.3).backward()
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(nll, F.cross_entropy(states @ weight.T, targets, reduction="sum"))
    torch.testing.assert_close(ours, (states.grad, weight.grad))


def test_no_gradient_where_none_is_wanted():
    states, weight = torch.randn(3, 4), torch.randn(5, 4, requires_grad=True)
    with torch.no_grad():
        loss, _ = vocabulary_loss(states, weight, torch.tensor([0, 1, 2]), label_smoothing=0.1)
    assert not loss.requires_grad


def test_autocast_runs_products_in_bf16_and_sums_in_float32():
    torch.manual_seed(0)
    states, weight = torch.randn(200, 64), torch.randn(500, 64, requires_grad=True)
    targets = torch.randint(0, 500, (200,))
    exact, _ = vocabulary_loss(states, weight, targets, label_smoothing=0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, _ = vocabulary_loss(states, weight, targets, label_smoothing=0.1)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=1e-2)
    assert loss.item() != exact.item()


def test_perplexity():
    assert perplexity(math.log(8.0) * 5, 5) == pytest.approx(8.0)
    assert perplexity(1e6, 1) == math.inf


PEAK = """
import sys, torch
from pipeline.memory import peak_resident_bytes
from pipeline.model.likelihood import vocabulary_loss
torch.set_num_threads(1)
tokens, vocabulary = int(sys.argv[1]), int(sys.argv[2])
weight = torch.randn(vocabulary, 16, requires_grad=True)
states = torch.randn(tokens, 16, requires_grad=True)
targets = torch.randint(0, vocabulary, (tokens,))
before = peak_resident_bytes()
vocabulary_loss(states, weight, targets, label_smoothing=0.1)[0].backward()
print((peak_resident_bytes() - before) / 2**20)
"""


def peak_mebibytes(tokens: int, vocabulary: int) -> float:
    command = [sys.executable, "-c", PEAK, str(tokens), str(vocabulary)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def test_memory_does_not_grow_with_tokens_times_vocabulary():
    """The logits alone would grow by 8,192 x 32,000 x 4 - 1,024 x 16,000 x 4 bytes: 937 MiB."""
    small, large = peak_mebibytes(1024, 16000), peak_mebibytes(8192, 32000)
    assert 10 < large < 300
    assert large - small < 200
