"""The command as people start it: on this class, a lesser one, and where something is missing."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.__main__ import main
from pipeline.commands import doctor
from pipeline.config.loading import load_project
from pipeline.diagnosis import hardware, place, software
from pipeline.diagnosis.finding import COLUMNS, Finding
from pipeline.inference import int8, precision
from pipeline.model import rates as rates_module
from pipeline.model.rates import WORTH

PROJECT = Path(__file__).resolve().parents[2]
DEMO = load_project(PROJECT / "config", {"scale": "demo"})
RATE = r"((?:fp32|bf16|int8)(?: packed)?) ([\d,]+)"
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
SUBJECTS = [
    "Python", "packages", "processor", "cores", "products", "training", "decoding", "memory",
    "GPUs", "compiler", "programs", "folder", "disk", "locale", "Slurm",
]  # fmt: skip
QUICK = """
import sys
from pipeline.__main__ import main
from pipeline.diagnosis import hardware, software
software.packages = list
hardware.products = lambda scale: []
sys.exit(main(["doctor", *sys.argv[1:]]))
"""


def child(*words, cwd, **environment):
    """A Python of its own; output as bytes."""
    names = {"PYTHONIOENCODING", "LC_ALL", "LANG", *AVX2} - set(environment)
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env={**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(cwd), **environment},
        capture_output=True,
        timeout=500,
    )


def assert_sound(result, told):
    """Exit code and last line follow from the states."""
    errors = [line for line in told if line.startswith("error")]
    assert result.returncode == (1 if errors else 0), result.stderr
    assert told[-1] == (
        f"{len(errors)} to mend before everything can run" if errors else "Everything can run here"
    )


def test_everything_is_said_on_one_screen(project_folder):
    result = child("-m", "pipeline", "doctor", cwd=project_folder, LC_ALL="C.UTF-8")
    told = result.stdout.decode("utf-8").splitlines()
    heads = [line.split()[:2] for line in told if re.match(r"(ok|warning|error) ", line)]
    assert list(dict.fromkeys(subject for _, subject in heads)) == SUBJECTS
    assert max(map(len, told)) <= COLUMNS
    assert len(told) <= 50
    assert_sound(result, told)
    assert not result.stderr


def test_a_lesser_class_is_named_and_its_precision_measured(project_folder):
    result = child("-m", "pipeline", "doctor", "--json", cwd=project_folder, **AVX2)
    data = json.loads(result.stdout)
    by_subject = {}
    for finding in data["findings"]:
        by_subject.setdefault(finding["subject"], finding)
    processor = by_subject["processor"]["text"]
    if not processor.startswith("x86-64 AVX2;"):
        pytest.skip(f"the variables are for x86 with AVX2: {processor}")
    assert "limited by ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2" in processor
    assert {"fp32", "bf16"} <= set(numbers(by_subject["products"]["text"]))
    assert "precision auto is fp32 on the CPU" in by_subject["training"]["text"]
    assert "int8 is exact, with weights of 7 bits" in by_subject["decoding"]["text"]
    assert "bf16" not in by_subject["decoding"]["text"]
    assert data["can_run"] == (result.returncode == 0)


def numbers(text):
    return {way: float(rate.replace(",", "")) for way, rate in re.findall(RATE, text)}


def test_auto_follows_from_the_measured_rates():
    products, training, *_ = hardware.products("demo")
    rate = numbers(products.text.partition(": ")[2])
    best = max(r for way, r in rate.items() if way.startswith("fp32"))
    taken = re.search(r"precision auto is (\w+) on the CPU: bf16 at ([\d.]+)", training.text)
    assert float(taken[2]) == pytest.approx(rate["bf16"] / best, abs=0.05 + 2 / best)
    if abs(float(taken[2]) - WORTH) > 0.05:  # printed digits don't decide closer ones
        assert taken[1] == ("bf16" if float(taken[2]) > WORTH else "fp32")


@given(st.lists(st.floats(1.0, 1e4), min_size=3, max_size=3), st.booleans(), st.booleans())
def test_what_decoding_takes_is_what_it_says(rates, native, exact):
    by_name = dict(zip(("fp32", "bf16", "int8"), rates, strict=True))

    def steps():
        if not exact:
            raise ValueError("wrong sums: int8")
        return 63

    def gflops(config, *, precision, vocab_size, beam_size):
        return by_name[precision]

    experiment = DEMO.experiments["ende_base"]
    folder = SimpleNamespace(model=experiment.model, decoding=experiment.decoding, vocab_size=1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, "configured", lambda scale: DEMO)
        for module in (rates_module, precision):
            patch.setattr(module, "native_bf16", lambda device: native)
        for module in (int8, precision):
            patch.setattr(module, "int8_steps", steps)
        patch.setattr(precision, "decoding_gflops", gflops)
        (finding,) = hardware._decoding("demo")
        taken = precision.chosen_precision("auto", folder, device="cpu")
    assert f"precision auto is {taken} for ende_base" in finding.text
    assert ("int8 is refused: wrong sums" in finding.text) is not exact


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise OSError('libcudart.so.12: cannot open shared object file')", "libcudart.so.12"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "SIGILL"),
    ],
    ids=["a library is missing", "built for another processor"],
)
def test_without_torch_all_else_is_still_said(project_folder, tmp_path, source, said):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(
        # the command itself must survive: only the process of imports meets the signal
        f"import sys\nif 'pipeline' in sys.modules: raise ImportError('no torch')\n{source}\n"
    )
    path = f"{tmp_path}{os.pathsep}{project_folder}"
    result = child("-m", "pipeline", "doctor", cwd=project_folder, PYTHONPATH=path)
    told = result.stdout.decode()
    assert result.returncode == 1
    assert re.search(rf"^error +packages +torch can't be imported: .*{said}", told, re.M)
    assert f"fix: {software.INSTALL}" in told
    for subject in set(SUBJECTS) - {"training", "decoding"}:
        assert re.search(rf"^\w+ +{subject} ", told, re.M), subject
    assert b"Traceback" not in result.stderr


def test_only_an_error_is_exit_code_1(monkeypatch, capsys):
    for state, code in (("ok", 0), ("warning", 0), ("error", 1)):
        finding = Finding("disk", state, "words", "mend it")
        monkeypatch.setattr(doctor, "findings", lambda scale, finding=finding: iter([finding]))
        assert main(["doctor"]) == code
        told = capsys.readouterr().out
        assert "fix: mend it" in told
        assert main(["doctor", "--json"]) == code
        assert json.loads(capsys.readouterr().out)["can_run"] == (code == 0)


def test_a_check_that_breaks_hides_no_other(monkeypatch):
    def broken(*given):
        raise RuntimeError("first\nsecond")

    for module in (hardware, software, place):
        for name, value in list(vars(module).items()):
            if callable(value) and getattr(value, "__module__", "") == module.__name__:
                monkeypatch.setattr(module, name, broken)
    told = list(doctor.findings("demo"))
    broke = [finding for finding in told if finding.text == "can't be told: first"]
    assert [finding.subject for finding in told if finding not in broke] == ["GPUs"]
    assert {finding.state for finding in broke} == {"warning"}


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "iso-8859-1"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "utf-16"},
    ],
    ids=lambda environment: " ".join(environment.values()),
)
def test_output_survives_any_encoding(project_folder, tmp_path, environment):
    folder = tmp_path / "dossier é 日本"
    folder.mkdir()
    result = child("-c", QUICK, cwd=folder, PYTHONPATH=str(project_folder), **environment)
    assert not result.stderr
    told = result.stdout.decode(environment.get("PYTHONIOENCODING", "utf-8"))
    assert re.search("^warning +folder +no Snakefile", told, re.M)
    if environment.get("PYTHONIOENCODING") == "iso-8859-1":
        assert "terminal iso" in told.lower()
        assert r"é \u65e5\u672c" in told
    assert result.returncode in (0, 1)


def test_a_scale_that_is_not_there_is_one_line(project_folder):
    result = child("-c", QUICK, "--scale", "nope", cwd=project_folder)
    told = result.stdout.decode()
    assert result.returncode == 1
    assert re.search(r"^error +config +.*scale: no such file: config/scales/nope\.yaml", told, re.M)


def own_modules(project_folder):
    yield project_folder / "pipeline" / "__main__.py"
    yield project_folder / "pipeline" / "progress.py"
    yield project_folder / "pipeline" / "commands" / "doctor.py"
    yield from sorted((project_folder / "pipeline" / "diagnosis").glob("*.py"))


def test_it_reads_as_an_old_python_and_imports_no_package_first(project_folder):
    for path in own_modules(project_folder):
        tree = ast.parse(path.read_text(), feature_version=(3, 8))
        if len(tree.body) > 1:
            assert "from __future__ import annotations" in path.read_text(), path
        for node in tree.body:
            if isinstance(node, ast.Import):
                first = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                first = {".".join(node.module.split(".")[:2])}
            else:
                continue
            ours = {"pipeline.diagnosis", "pipeline.commands", "pipeline.progress"}
            assert all(name.split(".")[0] in sys.stdlib_module_names or name in ours
                       for name in first), (path, first)  # fmt: skip


def old_pythons():
    for minor in (8, 9, 10):
        program = shutil.which(f"python3.{minor}")
        if program and not subprocess.run([program, "--version"], capture_output=True).returncode:
            yield program


def test_an_old_python_is_told_so(project_folder):
    programs = list(old_pythons())
    if not programs:
        pytest.skip("needs an interpreter of Python 3.8, 3.9 or 3.10 in PATH")
    for program in programs:
        command = [program, "-m", "pipeline", "doctor"]
        environment = {**os.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
        result = subprocess.run(command, cwd=project_folder, env=environment, capture_output=True)
        told = result.stdout.decode()
        assert re.search(r"^error +Python +CPython 3\.\d+\.\d+, .*: not >=3\.", told, re.M), told
        assert re.search(r"^error +packages +\d+ of \d+ packages are missing", told, re.M)
        assert result.returncode == 1
        assert not result.stderr
