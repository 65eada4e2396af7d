"""`precision: auto` takes what the device multiplies natively, once for all of a training."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.files import read_json
from pipeline.model.rates import native_bf16
from pipeline.training import loop, precision
from pipeline.training.checkpoints import read_checkpoint
from pipeline.training.run import Job

AUTO = {"precision": "auto"}


@pytest.fixture
def train(corpus, tmp_path, model, training, rank):
    def run(name: str, *, stop_after: int | None = None, **training_changes):
        job = Job(
            encoded=corpus / "encoded",
            buckets=corpus / "buckets",
            checkpoints=tmp_path,
            model=model(),
            training=training(**training_changes),
            seed=7,
            max_tokens=1000,
            keep=2,
        )
        (tmp_path / name).mkdir(exist_ok=True)
        asked = []

        def stop() -> bool:
            asked.append(1)
            return len(asked) == stop_after

        return loop.train(job, job.sections(), tmp_path / name, rank, stop=stop)

    return run


@pytest.fixture
def device_is(monkeypatch):
    """Pretend that the device multiplies bf16 natively, or does not."""

    def pretend(*, native: bool) -> None:
        monkeypatch.setattr(precision, "native_bf16", lambda device: native)

    return pretend


@pytest.mark.parametrize(("native", "expected"), [(True, "bf16"), (False, "fp32")])
def test_auto_is_the_precision_that_it_names(train, device_is, tmp_path, native, expected):
    device_is(native=native)
    facts = train("auto", **AUTO)
    assert facts["precision"] == expected
    assert facts["device_class"] == precision.processor_class()
    same = train("explicit", precision=expected)
    assert [c["sha256"] for c in facts["checkpoints"]] == [c["sha256"] for c in same["checkpoints"]]


def test_auto_here_is_what_is_measured_here(train):
    assert train("auto", **AUTO)["precision"] == ("bf16" if native_bf16("cpu") else "fp32")


@pytest.mark.parametrize("native_then", [True, False])
def test_a_training_keeps_the_precision_it_began_with(train, device_is, tmp_path, native_then):
    began = "bf16" if native_then else "fp32"
    device_is(native=native_then)
    whole = train("whole", **AUTO)
    with pytest.raises(loop.Interrupted):
        train("moved", stop_after=7, **AUTO)
    assert read_checkpoint(tmp_path / "moved", 7).state["precision"] == began
    device_is(native=not native_then)
    if native_then:
        with pytest.raises(
            ValueError, match=r"began in bf16, and bf16 products run at \d+"
        ) as said:
            train("moved", **AUTO)
        assert str(said.value).endswith(str(tmp_path / "moved"))
        assert "remove its checkpoints" in str(said.value)
        device_is(native=True)
    again = train("moved", **AUTO)
    assert again["precision"] == began
    assert again["checkpoints"] == whole["checkpoints"]


def test_explicit_bf16_is_kept_and_its_price_said_once(train, device_is, capsys):
    device_is(native=False)
    assert train("a", precision="bf16")["precision"] == "bf16"
    warnings = [line for line in capsys.readouterr().err.split("\n") if "warning" in line]
    assert len(warnings) == 1
    assert "bf16 products run at" in warnings[0]
    assert warnings[0].endswith(": bf16")
    device_is(native=True)
    train("b", precision="bf16")
    assert "warning" not in capsys.readouterr().err


def test_ranks_of_two_classes_agree_on_fp32(tmp_path, arguments):
    """Rank 1's device has no native bf16, rank 0's has."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "if 'RANK' in os.environ:\n"
        "    from pipeline.training import precision\n"
        "    precision.native_bf16 = lambda device: os.environ['RANK'] == '0'\n"
    )
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    given = arguments(tmp_path, training_changes=AUTO | {"max_steps": 5}, ranks=2)
    subprocess.run(
        [sys.executable, "-m", "pipeline.steps.train", *given],
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        check=True,
    )
    assert read_json(tmp_path / "train.json")["precision"] == "fp32"
