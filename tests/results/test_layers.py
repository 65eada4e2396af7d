import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.results.layers import build_layer_table, fit_exponent
from pipeline.results.published import load_published_layers
from pipeline.steps import table1


def made_up_times(published):
    """Times that follow the theory to the letter."""
    measurements = [
        {"layer": row.layer, "varied": v, "n": n, "d": d}
        | {"seconds": 1e-9 * n**row.exponent_n * d**row.exponent_d}
        for row in published.layers
        for v, points in {"n": [(64, 32), (128, 32)], "d": [(64, 32), (64, 96)]}.items()
        for n, d in points
    ]
    facts = {"lengths": [64, 128], "widths": [32, 96], "fixed_length": 64, "fixed_width": 32}
    machine = {"device": "cpu", "threads": 1, "batch": 1, "kernel": 3, "neighbourhood": 8}
    return {**facts, **machine, "commit": "0123456789abcdef", "measurements": measurements}


@given(st.floats(-1, 3), st.floats(1e-9, 1e3))
def test_the_power_of_a_power_law_comes_back(power, factor):
    sizes = [256, 2048, 512, 1024]
    assert math.isclose(
        fit_exponent(sizes, [factor * n**power for n in sizes]), power, abs_tol=1e-9
    )


def test_overhead_of_small_sizes_does_not_count():
    sizes = [1, 2, 1024, 2048, 4096]
    assert math.isclose(fit_exponent(sizes, [5.0, 5.0, *(1e-6 * n**2 for n in sizes[2:])]), 2.0)


def test_one_size_has_no_exponent():
    with pytest.raises(ValueError, match="at least two sizes"):
        fit_exponent([64, 64], [1.0, 1.0])


def test_theory_and_measurement_agree_where_times_follow_theory(paths):
    published = load_published_layers(paths.paper / "table1.yaml")
    frame = build_layer_table(published, made_up_times(published), scale="demo").frame
    assert len(frame) == 4
    for varied in "nd":
        theory = frame[f"theory_exponent_{varied}"].astype(float)
        assert frame[f"measured_exponent_{varied}"].sub(theory).abs().max() < 1e-9


def test_without_times_the_theory_stands_alone(paths):
    published = load_published_layers(paths.paper / "table1.yaml")
    built = build_layer_table(published, None, scale="demo")
    assert [column.heading for column in built.columns][-1] == "power of d, theory"
    assert any("not timed" in note for note in built.notes)


def test_step_writes_four_formats(paths, tmp_path):
    published = load_published_layers(paths.paper / "table1.yaml")
    times = tmp_path / "layer_times.json"
    times.write_text(json.dumps(made_up_times(published)))
    given_paths = ["--paper", str(paths.paper / "table1.yaml"), "--times", str(times)]
    table1.main([*given_paths, "--scale", "demo", "--output", str(tmp_path / "t" / "table1")])
    assert {path.suffix for path in (tmp_path / "t").iterdir()} == {".md", ".csv", ".tex", ".html"}
    assert "O(n²·d)" in (tmp_path / "t" / "table1.md").read_text()
    assert r"O(n$^{2}$$\cdot$d)" in (tmp_path / "t" / "table1.tex").read_text()
