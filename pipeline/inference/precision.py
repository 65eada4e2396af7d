"""Which precision decoding multiplies in: the one asked for, or the fastest that is right."""

import torch

from pipeline.config.schema import DecodingPrecision, ModelConfig
from pipeline.inference.int8 import int8_steps
from pipeline.inference.products import Precision, product
from pipeline.model.folder import ModelFolder
from pipeline.model.rates import WORTH, bf16_price, measured_gflops, native_bf16
from pipeline.progress import log

SENTENCES = 32  # whose hypotheses a product of a step multiplies, typically
COLUMNS = 4096  # of the logits, measured for all


def chosen_precision(
    choice: DecodingPrecision, folder: ModelFolder, *, device: torch.device | str
) -> Precision:
    """What a model decodes in. `auto` is measured and said on stderr; its results may differ
    from one machine to the next.

    A GPU takes bf16 from compute capability 8.0 on. A CPU takes the narrower precision whose
    products, at the model's own shapes, have the greatest rate, if that is at least 1.3 times
    fp32's: bf16 where it is native, int8 where its sums are exact. bf16 asked for where it is not
    native is a warning with the price. Raises ValueError for int8 where it can't be.
    """
    device = torch.device(device)
    if choice == "bf16" and not native_bf16(device):
        log(f"warning, {bf16_price(device)}; take precision fp32 or auto: bf16")
    if choice == "int8" and device.type == "cpu":
        int8_steps()
    if choice != "auto":
        return choice
    if device.type != "cpu":
        taken = "bf16" if native_bf16(device) else "fp32"
        log(f"precision auto takes on {device.type}: {taken}")
        return taken
    rates = {
        precision: decoding_gflops(
            folder.model,
            precision=precision,
            vocab_size=folder.vocab_size,
            beam_size=folder.decoding.beam_size,
        )
        for precision in right_precisions()
    }
    taken = max(rates, key=lambda name: rates[name] if name != "fp32" else WORTH * rates[name])
    listing = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items())
    log(f"precision auto, GFLOP/s of the model's products {listing}; takes: {taken}")
    return taken


def right_precisions() -> list[Precision]:
    """Those of this CPU that are worth to measure: fp32, native bf16, int8 of exact sums."""
    found: list[Precision] = ["fp32"]
    if native_bf16("cpu"):
        found.append("bf16")
    try:
        int8_steps()
    except ValueError as error:
        log(f"precision auto leaves int8 out, {error}")
    else:
        found.append("int8")
    return found


@torch.inference_mode()
def decoding_gflops(
    config: ModelConfig, *, precision: Precision, vocab_size: int, beam_size: int
) -> float:
    """GFLOP/s of the products of a step of beam search on this CPU, by all their time together.

    Rounding of inputs counts as part of a product; attention, softmax and search do not.
    """
    rows = SENTENCES * beam_size
    flops = seconds = 0.0
    draw = torch.Generator().manual_seed(0)
    for (inputs, outputs), count in step_products(config, vocab_size=vocab_size).items():
        multiply = product(torch.randn(outputs, inputs, generator=draw), precision=precision)
        x_NI = torch.randn(rows, inputs, generator=draw)
        once = 2.0 * rows * inputs * outputs
        rate = measured_gflops(lambda multiply=multiply, x_NI=x_NI: multiply(x_NI), flops=once)
        flops, seconds = flops + count * once, seconds + count * once / rate
    return flops / seconds


def step_products(config: ModelConfig, *, vocab_size: int) -> dict[tuple[int, int], float]:
    """(inputs, outputs) of the decoder's products for a token, and how often each is done."""
    d_model, keys, values = config.d_model, config.n_heads * config.d_k, config.n_heads * config.d_v
    columns = min(COLUMNS, vocab_size)
    counts: dict[tuple[int, int], float] = {}
    for shape, count in (
        ((d_model, 2 * keys + values), config.n_layers),
        ((d_model, keys), config.n_layers),
        ((values, d_model), 2 * config.n_layers),
        ((d_model, config.d_ff), config.n_layers),
        ((config.d_ff, d_model), config.n_layers),
        ((d_model, columns), vocab_size / columns),
    ):
        counts[shape] = counts.get(shape, 0) + count
    return counts
