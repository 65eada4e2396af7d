"""Table 1 measured: forward time of the four kinds of layer against length n and width d.

What is timed is what the table counts: attention without its projections, the recurrence and the
convolution with theirs (they have nothing else).
"""

# B batch, N positions, D width, W blocks of positions, C block length, K keys that a block sees

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Layer = Callable[[Tensor], Tensor]
WARM_UP = 2
MIN_REPEATS, MAX_REPEATS = 5, 50


@dataclass(frozen=True)
class Measurement:
    layer: str
    varied: str  # n or d
    n: int
    d: int
    seconds: float  # least of the repeats: noise only adds


def self_attention(x_BND: Tensor) -> Tensor:
    """Eq. (1) with x as queries, keys and values; O(n^2 d)."""
    scores_BNN = x_BND @ x_BND.transpose(1, 2) / math.sqrt(x_BND.size(-1))
    return scores_BNN.softmax(dim=-1) @ x_BND


def restricted_attention(x_BND: Tensor, *, neighbourhood: int) -> Tensor:
    """Section 4: position i attends to j with |i - j| <= neighbourhood / 2; O(r n d).

    Blocks of r / 2 queries see their own and both neighbouring blocks of keys, less what a mask
    takes away. Raises ValueError unless r is even and r / 2 divides n.
    """
    reach = neighbourhood // 2
    b, n, d = x_BND.shape
    if neighbourhood < 2 or neighbourhood % 2 or n % reach:
        raise ValueError(f"neighbourhood must be even and its half divide n {n}: {neighbourhood}")
    padded_BND = F.pad(x_BND, (0, 0, reach, reach))
    keys_BWDK = padded_BND.unfold(1, 3 * reach, reach)  # a view: overlapping windows of 3 blocks
    queries_BWCD = x_BND.view(b, n // reach, reach, d)
    scores_BWCK = queries_BWCD @ keys_BWDK / math.sqrt(d)
    scores_BWCK = scores_BWCK.masked_fill(~_band(n, reach, x_BND.device), -torch.inf)
    mixed_BWCD = scores_BWCK.softmax(dim=-1) @ keys_BWDK.transpose(2, 3)
    return mixed_BWCD.reshape(b, n, d)


def _band(n: int, reach: int, device: torch.device) -> Tensor:
    """Mask [W, C, K]: key within reach of the query, and within the sequence."""
    query_C1 = torch.arange(reach, device=device)[:, None]
    key_1K = torch.arange(3 * reach, device=device)[None, :] - reach  # relative to the block
    start_W11 = torch.arange(0, n, reach, device=device)[:, None, None]
    position_W1K = start_W11 + key_1K
    return ((query_C1 - key_1K).abs() <= reach) & (position_W1K >= 0) & (position_W1K < n)


def layers_of_width(
    d: int, *, kernel: int, neighbourhood: int, device: torch.device
) -> dict[str, Layer]:
    """The four layers of Table 1, by the names that config/paper/table1.yaml uses."""
    recurrent = nn.RNN(d, d, batch_first=True).to(device)
    convolution = nn.Conv1d(d, d, kernel, padding=kernel // 2).to(device)
    return {
        "self_attention": self_attention,
        "recurrent": lambda x_BND: recurrent(x_BND)[0],
        "convolutional": lambda x_BND: convolution(x_BND.transpose(1, 2)).transpose(1, 2),
        "restricted": lambda x_BND: restricted_attention(x_BND, neighbourhood=neighbourhood),
    }


def measure_layers(
    *,
    lengths: Sequence[int],
    widths: Sequence[int],
    fixed_length: int,
    fixed_width: int,
    batch: int,
    kernel: int,
    neighbourhood: int,
    device: torch.device,
    seconds_each: float,
) -> list[dict[str, object]]:
    """Time each layer at every length with `fixed_width`, then every width with `fixed_length`.

    Returns plain data of `Measurement`; each figure takes about `seconds_each` seconds.
    """
    points = [("n", n, fixed_width) for n in lengths] + [("d", fixed_length, d) for d in widths]
    found = []
    for varied, n, d in points:
        x_BND = torch.randn(batch, n, d, device=device)
        layers = layers_of_width(d, kernel=kernel, neighbourhood=neighbourhood, device=device)
        for name, layer in layers.items():
            seconds = _least_seconds(layer, x_BND, budget_seconds=seconds_each)
            found.append(asdict(Measurement(name, varied, n, d, seconds)))
    return found


@torch.inference_mode()
def _least_seconds(layer: Layer, x_BND: Tensor, *, budget_seconds: float) -> float:
    clock = _clock(x_BND.device)
    for _ in range(WARM_UP):
        layer(x_BND)
    times: list[float] = []
    while len(times) < MIN_REPEATS or (len(times) < MAX_REPEATS and sum(times) < budget_seconds):
        start = clock()
        layer(x_BND)
        times.append(clock() - start)
    return min(times)


def _clock(device: torch.device) -> Callable[[], float]:
    """Time of the device's work alone: on one CPU thread, what other jobs take does not count."""
    if device.type == "cuda":

        def after_all_work() -> float:
            torch.cuda.synchronize(device)
            return time.perf_counter()

        return after_all_work
    return time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
