"""What a training run cost: by the paper's estimate, and by counting the model's operations.

The paper's estimate is time x devices x sustained rate (section 6.1); it charges idle time and
says nothing of how well a device was used. The counted figure is what the model's matrix products
need on tokens that are not padding. Their quotient is the share of the device that was used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field, TypeAdapter, ValidationError

from pipeline.config.bounds import MOST_TFLOPS
from pipeline.config.loading import read_yaml
from pipeline.config.schema import Closed

DEVICES_FILE = "config/devices.yaml"
BACKWARD_AND_FORWARD = 3  # the backward pass multiplies twice for each product of the forward


class Device(Closed):
    tflops: Annotated[
        float, Field(gt=0.0, le=MOST_TFLOPS)
    ]  # 1e12 operations a second that one device sustains
    basis: str  # where the rate comes from


class Sizes(Protocol):
    """What counting needs of a ModelConfig."""

    n_layers: int
    d_model: int
    d_ff: int
    n_heads: int
    d_k: int
    d_v: int


@dataclass(frozen=True)
class Lengths:
    """Sums over the sentence pairs that a model read; lengths in tokens, padding not counted."""

    src_tokens: float
    tgt_tokens: float
    src_squares: float  # sum of src length squared
    tgt_squares: float
    products: float  # sum of src length x tgt length

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> "Lengths":
        """Sums over pairs of (source, target) lengths."""
        src_tokens = tgt_tokens = src_squares = tgt_squares = products = 0
        for src, tgt in pairs:
            src_tokens += src
            tgt_tokens += tgt
            src_squares += src * src
            tgt_squares += tgt * tgt
            products += src * tgt
        return cls(src_tokens, tgt_tokens, src_squares, tgt_squares, products)

    def times(self, factor: float) -> "Lengths":
        """The sums after reading the same pairs `factor` times, a fraction of an epoch included."""
        return Lengths(
            self.src_tokens * factor,
            self.tgt_tokens * factor,
            self.src_squares * factor,
            self.tgt_squares * factor,
            self.products * factor,
        )


def training_flops_by_time(seconds: float, *, devices: int, tflops: float) -> float:
    """The paper's estimate (section 6.1): 8 P100 at 9.5 TFLOPS for 12 hours are 3.3e18 FLOPs."""
    if seconds < 0 or devices < 1 or tflops <= 0:
        raise ValueError(
            "a training cost needs seconds >= 0, devices >= 1 and tflops > 0: "
            f"{seconds}, {devices}, {tflops}"
        )
    return seconds * devices * tflops * 1e12


def forward_flops(model: Sizes, *, vocab_size: int, lengths: Lengths) -> float:
    """Operations of the matrix products of one forward pass, two for each multiply-add.

    Per source token and layer: the encoder's projections and feed-forward, and the decoder's
    projections of the memory to keys and values. Per target token and layer: the decoder's own
    projections, its queries and outputs for the memory, its feed-forward; once the logits. Per
    sentence: queries with keys, weights with values; of the decoder's own attention only the half
    that the mask leaves. Embedding look-ups, norms and softmax are not counted.
    """
    keys_and_values = model.n_heads * (model.d_k + model.d_v)
    attention = model.d_model * 2 * keys_and_values  # W^Q, W^K, W^V, W^O
    feed_forward = 2 * model.d_model * model.d_ff
    # of the attention to the memory, half the projections (K, V) act on it and half (Q, O) on the
    # target, so that a token costs the same on either side
    per_token = model.n_layers * (attention + attention / 2 + feed_forward)
    pairs_of_positions = lengths.src_squares + lengths.tgt_squares / 2 + lengths.products
    multiply_adds = (
        (lengths.src_tokens + lengths.tgt_tokens) * per_token
        + lengths.tgt_tokens * vocab_size * model.d_model
        + model.n_layers * keys_and_values * pairs_of_positions
    )
    return 2.0 * multiply_adds


def counted_training_flops(model: Sizes, *, vocab_size: int, lengths: Lengths) -> float:
    """Operations of forward and backward over everything a run trained on (`lengths`)."""
    return BACKWARD_AND_FORWARD * forward_flops(model, vocab_size=vocab_size, lengths=lengths)


def load_devices(path: str | Path = DEVICES_FILE) -> dict[str, Device]:
    """The table of device rates by name. Raises ValueError naming the file and the device."""
    table = read_yaml(Path(path)).get("devices")
    if not isinstance(table, Mapping) or not table:
        raise ValueError(
            f"{path}: devices must map names to {{tflops: ..., basis: ...}}: {table!r}"
        )
    devices = {}
    for name, entry in table.items():
        try:
            devices[str(name)] = TypeAdapter(Device).validate_python(entry)
        except ValidationError as error:
            problem = error.errors()[0]
            key = ".".join(["devices", str(name), *map(str, problem["loc"])])
            what = f"{problem['msg']}: {problem['input']!r}"
            if problem["type"] == "missing":
                what = "is missing; state it, as other devices of the file do"
            raise ValueError(f"{path}: {key}: {what}") from None
    return devices


def device_rate(name: str, devices: Mapping[str, Device]) -> float:
    """TFLOPS of a device by its name; a ValueError lists the names there are."""
    if name not in devices:
        raise ValueError(
            f"no rate for device {name!r}: add it to {DEVICES_FILE}, "
            f"or name one of: {', '.join(devices)}"
        )
    return devices[name].tflops
