import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.inference.layer_times import (
    layers_of_width,
    measure_layers,
    restricted_attention,
    self_attention,
)
from pipeline.steps import layer_times


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 1000))
def test_restricted_attention_is_attention_under_a_band(reach, blocks, seed):
    generator = torch.Generator().manual_seed(seed)
    n = reach * blocks
    x = torch.randn(2, n, 6, generator=generator)
    positions = torch.arange(n)
    far = (positions[:, None] - positions[None, :]).abs() > reach
    scores = (x @ x.transpose(1, 2) / math.sqrt(6)).masked_fill(far, -torch.inf)
    expected = scores.softmax(dim=-1) @ x
    torch.testing.assert_close(restricted_attention(x, neighbourhood=2 * reach), expected)


def test_self_attention_is_torchs():
    x = torch.randn(2, 7, 6)
    expected = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    torch.testing.assert_close(self_attention(x), expected)


@pytest.mark.parametrize("neighbourhood", [0, 3, 8])
def test_a_neighbourhood_that_does_not_fit_is_refused(neighbourhood):
    with pytest.raises(ValueError, match=f"half divide n 6: {neighbourhood}"):
        restricted_attention(torch.randn(1, 6, 4), neighbourhood=neighbourhood)


def test_every_layer_keeps_the_shape():
    layers = layers_of_width(8, kernel=3, neighbourhood=4, device=torch.device("cpu"))
    for layer in layers.values():
        assert layer(torch.randn(2, 12, 8)).shape == (2, 12, 8)


def test_each_layer_is_timed_at_each_size():
    found = measure_layers(
        lengths=[8, 16],
        widths=[4],
        fixed_length=12,
        fixed_width=6,
        batch=1,
        kernel=3,
        neighbourhood=4,
        device=torch.device("cpu"),
        seconds_each=0.0,
    )
    points = {(entry["layer"], entry["varied"], entry["n"], entry["d"]) for entry in found}
    assert len(points) == len(found) == 4 * 3
    assert ("recurrent", "n", 16, 6) in points
    assert ("restricted", "d", 12, 4) in points
    assert all(entry["seconds"] >= 0 for entry in found)


def test_step_states_what_was_timed(tmp_path):
    sizes = ["--lengths", "64", "128", "--widths", "8", "16", "--fixed-length", "64"]
    output = tmp_path / "layer_times.json"
    layer_times.main([*sizes, "--fixed-width", "8", "--seconds-each", "0", "--output", str(output)])
    written = json.loads(output.read_text())
    assert written["lengths"] == [64, 128]
    assert written["device"] == "cpu"
    assert len(written["measurements"]) == 16
