import pytest
import torch
from torch.nn import functional as F

from pipeline.encoded import EOS_ID
from pipeline.inference.beam import beam_search
from pipeline.inference.network import Network
from pipeline.inference.products import product

ERROR = {"fp32": 1e-6, "bf16": 0.01, "int8": 0.02}


@pytest.mark.parametrize("precision", ERROR)
@pytest.mark.parametrize("shape", [(1, 16, 24), (33, 64, 7), (5, 48, 4096)], ids=str)
@pytest.mark.parametrize("relu", [False, True])
def test_products_are_those_of_torch_to_their_precision(precision, shape, relu):
    rows, inputs, outputs = shape
    torch.manual_seed(0)
    x, weight, bias = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    y = product(weight, bias, precision=precision, relu=relu)(x)
    expected = F.linear(x, weight, bias)
    expected = expected.relu() if relu else expected
    assert y.dtype == (torch.bfloat16 if precision == "bf16" else torch.float32)
    error = (y.float() - expected).norm() / expected.norm()
    assert error < ERROR[precision], error


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("lacking", ["operators", "types"])
def test_without_packed_products_torchs_own_linear_multiplies(
    monkeypatch, precision, relu, lacking
):
    def fails(*_):
        raise RuntimeError("this type needs a processor with avx512")

    monkeypatch.setattr(
        "pipeline.model.onednn.operator", lambda name: None if lacking == "operators" else fails
    )
    torch.manual_seed(0)
    x, weight, bias = torch.randn(5, 48), torch.randn(32, 48), torch.randn(32)
    y = product(weight, bias, precision=precision, relu=relu)(x)
    expected = F.linear(x, weight, bias)
    expected = expected.relu() if relu else expected
    assert y.dtype == (torch.bfloat16 if precision == "bf16" else torch.float32)
    assert (y.float() - expected).norm() / expected.norm() < ERROR[precision]


def test_int8_takes_zeros():
    weight = torch.zeros(8, 16)
    assert not product(weight, precision="int8")(torch.zeros(3, 16)).any()


def test_int8_on_a_gpu_is_refused():
    with pytest.raises(ValueError, match="int8"):
        product(torch.empty(4, 4, device="meta"), precision="int8")


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_narrow_precisions_find_nearly_the_same_hypotheses(reverser, precision):
    torch.manual_seed(2)
    sources = [
        torch.cat([torch.randint(260, 280, (n,)), torch.tensor([EOS_ID])]) for n in range(1, 8)
    ] * 4
    how = {"beam_size": 4, "length_penalty": 0.6, "max_extra_tokens": 5}
    exact = beam_search(Network(reverser), sources, **how)
    near = beam_search(Network(reverser, precision=precision), sources, **how)
    difference = sum(abs(a[0].score - b[0].score) for a, b in zip(exact, near, strict=True))
    assert difference / len(sources) < 0.1
