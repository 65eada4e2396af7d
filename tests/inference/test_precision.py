import pytest
import torch

from pipeline.inference import precision, processes
from pipeline.inference.precision import chosen_precision, step_products
from pipeline.inference.processes import TranslatorPool
from pipeline.inference.translator import Translator

LINES = ["the red fox", "a dog", "big house and small fox"]


@pytest.fixture
def measured(monkeypatch):
    """As if the machine had these rates."""

    def set_rates(*, native=True, **gflops):
        monkeypatch.setattr(precision, "native_bf16", lambda device: native)
        monkeypatch.setattr(precision, "bf16_price", lambda device: "bf16 at 5 here, fp32 at 58")
        monkeypatch.setattr(
            precision, "decoding_gflops", lambda config, *, precision, **_: gflops[precision]
        )

    return set_rates


def no_bytes():
    raise ValueError("products of bytes differ: int8")


@pytest.mark.parametrize(
    ("gflops", "taken"),
    [
        ({"fp32": 100.0, "bf16": 300.0, "int8": 290.0}, "bf16"),
        ({"fp32": 100.0, "bf16": 150.0, "int8": 290.0}, "int8"),
        ({"fp32": 100.0, "bf16": 129.0, "int8": 40.0}, "fp32"),
        ({"fp32": 100.0, "bf16": 129.0, "int8": 131.0}, "int8"),
    ],
)
def test_auto_takes_the_fastest_that_is_worth_it(toy_folder, measured, capsys, gflops, taken):
    measured(**gflops)
    assert chosen_precision("auto", toy_folder, device="cpu") == taken
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.endswith(f"; takes: {taken}\n")


def test_auto_leaves_out_what_is_slow_or_wrong(toy_folder, measured, monkeypatch, capsys):
    measured(native=False, fp32=100.0, bf16=900.0, int8=900.0)
    monkeypatch.setattr(precision, "int8_steps", no_bytes)
    assert chosen_precision("auto", toy_folder, device="cpu") == "fp32"
    assert "leaves int8 out, products of bytes differ" in capsys.readouterr().err


@pytest.mark.parametrize(("native", "taken"), [(True, "bf16"), (False, "fp32")])
def test_auto_on_a_gpu_is_bf16_where_it_is_native(toy_folder, measured, native, taken):
    measured(native=native)
    assert chosen_precision("auto", toy_folder, device="cuda") == taken


@pytest.mark.parametrize("choice", ["fp32", "bf16", "int8"])
def test_what_is_asked_for_is_taken(toy_folder, measured, monkeypatch, capsys, choice):
    measured(native=True)
    assert chosen_precision(choice, toy_folder, device="cpu") == choice
    assert capsys.readouterr().err == ""


def test_bf16_that_is_not_native_is_one_warning_with_its_price(toy_folder, measured, capsys):
    measured(native=False)
    assert chosen_precision("bf16", toy_folder, device="cpu") == "bf16"
    said = capsys.readouterr().err
    assert said.endswith("warning, bf16 at 5 here, fp32 at 58; take precision fp32 or auto: bf16\n")
    assert said.count("\n") == 1


def test_int8_that_is_wrong_is_refused_before_the_weights_are_read(toy_folder, monkeypatch):
    monkeypatch.setattr(precision, "int8_steps", no_bytes)
    with pytest.raises(ValueError, match="int8"):
        chosen_precision("int8", toy_folder, device="cpu")


def test_products_of_a_step_are_all_weights_of_the_decoder(make_model):
    """But for the keys and values of the memory, which are made once a sentence."""
    model = make_model(0, vocab_size=5000)
    weights = sum(p.numel() for p in model.decoder.parameters() if p.dim() == 2)
    weights -= sum(layer.memory_attention.kv.weight.numel() for layer in model.decoder)
    weights += model.embedding.weight.numel()
    counts = step_products(model.config, vocab_size=5000)
    assert sum(i * o * count for (i, o), count in counts.items()) == pytest.approx(weights)


@pytest.mark.parametrize("name", ["fp32", "bf16"])
def test_rates_are_of_the_time_of_all_products(make_model, monkeypatch, name):
    """Half of the operations at 1 GFLOP/s and half at 3 are 1.5 GFLOP/s together."""
    model = make_model(0, vocab_size=300)
    products = {(16, 32): 2.0, (8, 64): 2.0}
    monkeypatch.setattr(precision, "step_products", lambda *_, **__: products)
    found = iter([1.0, 3.0])
    monkeypatch.setattr(precision, "measured_gflops", lambda multiply, *, flops: next(found))
    rate = precision.decoding_gflops(model.config, precision=name, vocab_size=300, beam_size=4)
    assert rate == pytest.approx(1.5)


def test_measuring_leaves_random_numbers_alone(toy_folder):
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    chosen_precision("auto", toy_folder, device="cpu")
    assert torch.equal(torch.rand(2), expected)


def test_translators_take_auto_and_say_it_once(toy_folder, capfd):
    options = {"decoding": toy_folder.decoding, "max_tokens": 100}
    one = Translator(toy_folder, device="cpu", precision="auto")
    assert capfd.readouterr().err.count("takes: ") == 1
    assert len(one.run(LINES, **options)) == len(LINES)
    with TranslatorPool(toy_folder, device="cpu", processes=2, precision="auto") as pool:
        assert len(dict(pool.run_batches(LINES, **options))) == len(LINES)
    assert capfd.readouterr().err.count("takes: ") == 1


def test_cores_where_the_system_does_not_tell_which_are_ours(monkeypatch):
    """As on macOS."""
    monkeypatch.delattr(processes.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(processes.os, "cpu_count", lambda: 6)
    assert processes.usable_cores() == 6
