"""Products of bytes are exact on every class of processor, or refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pipeline.inference import int8
from pipeline.inference.int8 import int8_product, int8_steps
from pipeline.model.rates import processor_class

LIMITS = {
    "native": {},
    **{
        name: {"ONEDNN_MAX_CPU_ISA": name}
        | ({"ATEN_CPU_CAPABILITY": "avx2"} if name.startswith("AVX2") else {})
        for name in ("AVX2", "AVX2_VNNI", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16")
    },
}

# In a child, since oneDNN reads its limit once: the greatest error of 20 products whose inputs and
# weights are whole numbers of steps, against the exact sums, which float32 holds (below 2^24). The
# first rows are extremes of one sign, which saturate first.
CHILD = """
import torch
from pipeline.inference.int8 import int8_product, int8_steps

steps = int8_steps()
draw = torch.Generator().manual_seed(3)
worst = 0.0
for number in range(20):
    rows, inputs, outputs = (int(torch.randint(1, n, (), generator=draw)) for n in (40, 520, 90))
    weight = torch.randint(-steps, steps + 1, (outputs, inputs), generator=draw)
    x = torch.randint(-127, 128, (rows, inputs), generator=draw)
    extreme = torch.rand(inputs, generator=draw) < number / 19
    weight[:, extreme] = weight[:, extreme].sign() * steps
    x[:, extreme] = x[:, extreme].sign() * 127
    weight[0], x[0] = steps, 127
    weight[:, 0], x[:, 0] = steps, 127  # so that the scale of each row, and of the inputs, is 1
    exact = x.double() @ weight.double().t()
    got = int8_product(weight.float(), None, relu=False)(x.float()).double()
    worst = max(worst, float((got - exact).abs().max()))
print(steps, worst)
"""


@pytest.mark.parametrize("name", LIMITS)
def test_20_matrices_with_extremes_are_multiplied_exactly(name):
    environment = {**os.environ, **LIMITS[name], "OMP_NUM_THREADS": "1"}
    if name == "native":
        environment.pop("ONEDNN_MAX_CPU_ISA", None)
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**environment, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    steps, worst = map(float, done.stdout.split())
    assert worst == 0.0, f"{steps:.0f} steps"
    assert steps in (127, 63)
    if name in ("AVX2", "AVX512_CORE") and processor_class().startswith("x86-64"):
        assert steps == 63


@pytest.fixture
def unchecked():
    int8_steps.cache_clear()
    yield
    int8_steps.cache_clear()


@pytest.mark.parametrize(
    ("errors", "steps"),
    [({127: 0.0, 63: 0.0}, 127), ({127: 5.0, 63: 0.0}, 63), ({127: float("inf"), 63: 0.0}, 63)],
)
def test_weights_take_the_most_bits_that_are_exact(unchecked, monkeypatch, errors, steps):
    monkeypatch.setattr(int8, "greatest_error", errors.__getitem__)
    assert int8_steps() == steps
    weight = torch.tensor([[1.0, -0.5], [0.0, 0.25]])
    bound = 0.6 / steps + 0.6 / 127  # half a step of each, and a tenth of that
    y = int8_product(weight, None, relu=False)(torch.eye(2))
    assert (y - weight.t()).abs().max() < bound


def test_wrong_products_are_refused_in_one_line(unchecked, monkeypatch):
    monkeypatch.setattr(int8, "greatest_error", lambda steps: 1.0)
    with pytest.raises(ValueError, match=r"differ from exact integers.*take precision.*: int8$"):
        int8_product(torch.ones(2, 2), None, relu=False)


def test_a_saturating_product_is_an_error(monkeypatch):
    """As processors without VNNI add: pairs of products, in 16 bits."""

    def saturating(bytes_NI, step, zero, weight_OI, *_):
        x = torch.nn.functional.pad(bytes_NI.long(), (0, bytes_NI.size(1) % 2))
        weight = torch.nn.functional.pad(weight_OI.long(), (0, weight_OI.size(1) % 2))
        products = (x[:, None] * weight[None]).unflatten(-1, (-1, 2)).sum(-1)
        sums = products.clamp(-(2**15), 2**15 - 1).sum(-1)
        return sums.float() - zero * weight.sum(-1)

    monkeypatch.setattr(int8, "_operators", lambda: (lambda steps, _: steps, saturating))
    assert int8.greatest_error(127) > 1000
    assert int8.greatest_error(63) == 0


def test_torch_without_products_of_bytes_is_said_in_one_line(unchecked, monkeypatch):
    monkeypatch.setattr(int8, "operator", lambda name: None)
    with pytest.raises(ValueError, match=r"no products of bytes .*; take precision fp32.*: int8$"):
        int8_product(torch.ones(2, 2), None, relu=False)


def test_products_that_fail_are_refused(unchecked, monkeypatch):
    def fails(*_):
        raise RuntimeError("could not create a primitive")

    monkeypatch.setattr(int8, "_operators", lambda: (fails, fails))
    with pytest.raises(ValueError, match="differ from exact integers"):
        int8_steps()
