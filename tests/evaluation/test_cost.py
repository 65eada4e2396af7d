"""The paper's cost figures, and counted operations against a count of each matrix product."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.loading import ConfigError
from pipeline.evaluation.cost import (
    Lengths,
    counted_training_flops,
    device_rate,
    forward_flops,
    load_devices,
    training_flops_by_time,
)

BASE = SimpleNamespace(n_layers=6, d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)


def test_costs_of_table_2(project_folder: Path) -> None:
    rate = device_rate("P100", load_devices(project_folder / "config" / "devices.yaml"))
    base = training_flops_by_time(12 * 3600, devices=8, tflops=rate)
    big = training_flops_by_time(3.5 * 24 * 3600, devices=8, tflops=rate)
    assert (f"{base:.1e}", f"{big:.1e}") == ("3.3e+18", "2.3e+19")


def test_rates_of_the_paper(project_folder: Path) -> None:
    devices = load_devices(project_folder / "config" / "devices.yaml")
    rates = {name: devices[name].tflops for name in ("K80", "K40", "M40", "P100")}
    assert rates == {"K80": 2.8, "K40": 3.7, "M40": 6.0, "P100": 9.5}
    assert all(device.basis for device in devices.values())


def test_rates_of_data_sheets(project_folder: Path) -> None:
    """Peaks as the makers print them, dense; every entry says of which kind it is."""
    devices = load_devices(project_folder / "config" / "devices.yaml")
    peaks = {"V100": 15.7, "T4": 8.1, "A100": 19.5, "A100-bf16": 312.0, "H100": 67.0}
    peaks |= {"H100-bf16": 989.0, "H200": 67.0, "H200-bf16": 989.0, "L4": 30.3, "L4-bf16": 121.0}
    assert {name: devices[name].tflops for name in peaks} == peaks
    kinds = ("paper: sustained", "data sheet", "measured: ")
    assert all(device.basis.startswith(kinds) for device in devices.values())


def test_a_user_adds_a_device(tmp_path: Path) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text("devices:\n  Mine: {tflops: 12.5, basis: measured with a stopwatch}\n")
    devices = load_devices(path)
    assert device_rate("Mine", devices) == 12.5
    with pytest.raises(ValueError, match=r"no rate for device 'P100': .* one of: Mine"):
        device_rate("P100", devices)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("devices:\n  X: {tflops: -1.0, basis: a}\n", r"devices\.X\.tflops.*: -1\.0"),
        ("devices:\n  X: {tflops: fast, basis: a}\n", r"devices\.X\.tflops.*: 'fast'"),
        ("devices:\n  X: {tflops: 1.0}\n", r"devices\.X\.basis"),
        ("devices:\n  X: {tflops: 1.0, basis: a, tdp: 3}\n", r"devices\.X\.tdp"),
        ("devices:\n  X: 5\n", r"devices\.X: .*: 5"),
        ("devices: []\n", "must map names"),
        ("device: {}\n", "must map names"),
    ],
)
def test_a_broken_table_names_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"devices\.yaml: .*" + message):
        load_devices(path)
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        load_devices(tmp_path / "none.yaml")


@pytest.mark.parametrize(("seconds", "devices", "tflops"), [(-1, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_nonsense_costs(seconds: float, devices: int, tflops: float) -> None:
    with pytest.raises(ValueError, match=r"seconds >= 0, devices >= 1 and tflops > 0"):
        training_flops_by_time(seconds, devices=devices, tflops=tflops)


def product(rows: int, inner: int, columns: int) -> int:
    """Operations of one matrix product: a multiplication and an addition for each term."""
    return 2 * rows * inner * columns


def forward_by_hand(model: SimpleNamespace, vocab_size: int, src: int, tgt: int) -> float:
    """Every matrix product of one sentence pair, in the order of the forward pass."""
    d, d_ff = model.d_model, model.d_ff
    flops = 0.0

    def attend(queries: int, keys: int, share: float) -> float:
        total = 0.0
        for _ in range(model.n_heads):
            total += product(queries, d, model.d_k)  # W^Q
            total += product(keys, d, model.d_k)  # W^K
            total += product(keys, d, model.d_v)  # W^V
            total += share * product(queries, model.d_k, keys)  # Q K^T
            total += share * product(queries, keys, model.d_v)  # weights V
        return total + product(queries, model.n_heads * model.d_v, d)  # W^O

    for _ in range(model.n_layers):
        flops += attend(src, src, 1.0)
        flops += product(src, d, d_ff) + product(src, d_ff, d)
    for _ in range(model.n_layers):
        flops += attend(tgt, tgt, 0.5)  # the mask leaves half of the pairs of positions
        flops += attend(tgt, src, 1.0)
        flops += product(tgt, d, d_ff) + product(tgt, d_ff, d)
    return flops + product(tgt, d, vocab_size)


SIZE = st.integers(1, 60)


@given(
    st.builds(
        SimpleNamespace, n_layers=st.integers(1, 8), d_model=SIZE, d_ff=SIZE, n_heads=SIZE,
        d_k=SIZE, d_v=SIZE,
    ),
    SIZE,
    st.lists(st.tuples(SIZE, SIZE), min_size=1, max_size=5),
)  # fmt: skip
def test_count_is_that_of_every_product(model, vocab_size, pairs) -> None:
    lengths = Lengths.of(pairs)
    by_hand = sum(forward_by_hand(model, vocab_size, src, tgt) for src, tgt in pairs)
    assert forward_flops(model, vocab_size=vocab_size, lengths=lengths) == pytest.approx(by_hand)
    trained = counted_training_flops(model, vocab_size=vocab_size, lengths=lengths.times(2.5))
    assert trained == pytest.approx(3 * 2.5 * by_hand)


def test_formula_of_the_base_model() -> None:
    """The closed form for d_k = d_v = d / h, and about 0.38 GFLOP a target token."""
    pairs = [(20, 22), (27, 28), (40, 37)]
    d, ff, vocabulary = 512, 2048, 37_000
    src, tgt = sum(s for s, _ in pairs), sum(t for _, t in pairs)
    forward = 2 * (
        src * (6 * (4 * d**2 + 2 * d * ff) + 12 * d**2)
        + tgt * (6 * (6 * d**2 + 2 * d * ff) + vocabulary * d)
    ) + sum(6 * (4 * d * s**2 + 2 * d * t**2 + 4 * d * s * t) for s, t in pairs)
    lengths = Lengths.of(pairs)
    trained = counted_training_flops(BASE, vocab_size=vocabulary, lengths=lengths)
    assert trained == 3 * forward
    assert trained / tgt == pytest.approx(0.38e9, rel=0.02)
