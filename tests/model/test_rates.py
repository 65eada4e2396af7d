import pytest
import torch

from pipeline.model import onednn, rates
from pipeline.model.onednn import operator

AVX2 = {"sse4_1", "avx", "avx2", "fma3"}
AVX512 = AVX2 | {"avx512_f", "avx512_bw", "avx512_dq", "avx512_vl"}
ZEN_5 = AVX512 | {"avx_vnni", "avx512_vnni", "avx512_bf16"}
SAPPHIRE_RAPIDS = ZEN_5 | {"avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"}


@pytest.fixture
def unmeasured():
    rates._product_rates.cache_clear()
    yield
    rates._product_rates.cache_clear()


@pytest.mark.parametrize(
    ("flags", "limit", "expected"),
    [
        (AVX2, "", "x86-64 AVX2"),
        (AVX2 | {"avx_vnni"}, "", "x86-64 AVX2 with VNNI"),
        (AVX512, "", "x86-64 AVX-512"),
        (AVX512 | {"avx512_vnni"}, "", "x86-64 AVX-512 with VNNI"),
        (ZEN_5, "", "x86-64 AVX-512 with bf16"),
        (SAPPHIRE_RAPIDS, "", "x86-64 AMX"),
        (SAPPHIRE_RAPIDS - {"amx_int8"}, "ALL", "x86-64 AVX-512 with fp16"),
        (ZEN_5, "AVX2", "x86-64 AVX2"),
        (ZEN_5, "avx2_vnni", "x86-64 AVX2 with VNNI"),
        (ZEN_5, "AVX512_CORE", "x86-64 AVX-512"),
        (ZEN_5, "AVX512_CORE_AMX", "x86-64 AVX-512 with bf16"),
        (AVX2, "AVX512_CORE", "x86-64 AVX2"),
        (set(), "", "x86-64"),
    ],
)
def test_class_is_the_most_that_processor_and_limit_allow(flags, limit, expected):
    capabilities = dict.fromkeys(flags, True)
    assert rates._named_class(capabilities, machine="x86_64", limit=limit) == expected


def test_class_of_arm_says_whether_it_multiplies_bf16():
    assert rates._named_class({"neon": True}, machine="arm64", limit="") == "arm64"
    assert rates._named_class({"bf16": True}, machine="aarch64", limit="") == "aarch64 with bf16"


def test_class_of_this_process_follows_the_variable(monkeypatch):
    if "x86-64" not in rates.processor_class():
        pytest.skip("the variable is that of x86 processors")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "SSE41")
    assert rates.processor_class() == "x86-64 SSE4.1"


def test_rates_count_operations_by_the_time_they_took(monkeypatch):
    clock = iter([0.0, 10.0, 12.0, 20.0, 24.0, 30.0])  # calls of 2 and 4 seconds
    monkeypatch.setattr(rates.time, "perf_counter", lambda: next(clock))
    calls = []
    assert rates.measured_gflops(lambda: calls.append(1), flops=4e9) == 2.0
    assert len(calls) == 3  # and one before the clock starts


def test_measuring_draws_none_of_the_callers_random_numbers(unmeasured):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assert set(rates.product_rates("cpu")) >= {"fp32", "bf16"}
    assert torch.equal(torch.rand(3), expected)


def test_rates_are_those_of_the_named_type_under_autocast_too(unmeasured, monkeypatch):
    seen = []

    def measured(multiply, **_):
        seen.append(multiply().dtype)
        return 1.0

    monkeypatch.setattr(rates, "measured_gflops", measured)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rates.product_rates("cpu")
    assert set(seen) == {torch.float32, torch.bfloat16}
    assert seen[0] == torch.float32


def test_processors_without_packed_products_are_measured_by_torchs_own(unmeasured, monkeypatch):
    monkeypatch.setattr(onednn, "operator", lambda name: None)
    assert set(rates.product_rates("cpu")) == {"fp32", "bf16"}


@pytest.mark.parametrize(
    ("measured", "native"),
    [
        ({"fp32": 50.0, "bf16": 5.0}, False),
        ({"fp32": 60.0, "fp32 packed": 119.0, "bf16": 61.0, "bf16 packed": 53.0}, False),
        ({"fp32": 70.0, "fp32 packed": 137.0, "bf16": 274.0, "bf16 packed": 371.0}, True),
        ({"fp32": 100.0, "bf16": 129.0}, False),
        ({"fp32": 100.0, "bf16": 130.0}, True),
    ],
)
def test_bf16_is_native_where_it_beats_the_best_of_fp32(monkeypatch, measured, native):
    monkeypatch.setattr(rates, "_product_rates", lambda kind, index: tuple(measured.items()))
    assert rates.native_bf16("cpu") is native
    assert f"fp32 at {max(measured['fp32'], measured.get('fp32 packed', 0)):.0f}" in (
        rates.bf16_price("cpu")
    )


@pytest.mark.parametrize(
    ("capability", "native"), [((7, 5), False), ((8, 0), True), ((9, 0), True)]
)
def test_gpus_multiply_bf16_from_capability_8_on(monkeypatch, capability, native):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert rates.native_bf16("cuda:0") is native


def test_an_operator_that_torch_lacks_is_none(monkeypatch):
    assert operator("mkldnn.no_such_operator") is None
    assert operator("no_such_library.linear") is None
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert operator("mkldnn._linear_pointwise") is None
