"""Python, packages, and programs beside them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from pipeline.diagnosis.finding import Finding, first_line

PROJECT = Path(__file__).resolve().parents[2]
INSTALL = "python -m pip install -e . -c constraints.txt"
IMPORT_SECONDS = 300
# What the stages import, by the names that pip and Python have for it.
NEEDED = {
    "numpy": "numpy",
    "torch": "torch",
    "deepspeed": "deepspeed",
    "snakemake": "snakemake",
    "snakemake-executor-plugin-slurm": "snakemake_executor_plugin_slurm",
    "sentencepiece": "sentencepiece",
    "sacrebleu": "sacrebleu",
    "sacremoses": "sacremoses",
    "datasets": "datasets",
    "pandas": "pandas",
    "pydantic": "pydantic",
    "PyYAML": "yaml",
    "safetensors": "safetensors",
    "matplotlib": "matplotlib",
    "tqdm": "tqdm",
    "Markdown": "markdown",
}
# In a process of its own: a library built for another processor ends Python by a signal.
IMPORT = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
        said = ""
    except Exception as error:
        said = (str(error).strip().split("\\n")[0] or type(error).__name__)
    sys.stderr.write("\\nimported\\t" + name + "\\t" + ascii(said)[1:-1] + "\\n")
    sys.stderr.flush()
"""


def python() -> list[Finding]:
    version = platform.python_version()
    spelled = f"{platform.python_implementation()} {version}, {sys.executable}"
    allowed = supported_pythons()
    if allowed and not allows(allowed, sys.version_info[:3]):
        fix = "make PYTHON=python3.12 demo, or an environment of your own with such a Python"
        return [Finding("Python", "error", f"{spelled}: not {allowed}", fix)]
    return [Finding("Python", "ok", f"{spelled}" + (f" ({allowed})" if allowed else ""))]


def supported_pythons() -> str:
    """requires-python of pyproject.toml; nothing where the code lies without it."""
    try:
        text = (PROJECT / "pyproject.toml").read_bytes().decode()
    except OSError:
        return ""
    stated = re.search(r'^requires-python = "([^"]+)"', text, re.M)
    return stated.group(1) if stated else ""


def allows(specifier: str, version: tuple[int, ...]) -> bool:
    """Whether a specifier such as ">=3.11,<3.15,!=3.14.1" holds a version.

    Read here, since `packaging` may not be installed. Raises ValueError for another operator.
    """
    for clause in specifier.split(","):
        parsed = re.fullmatch(r"\s*(>=|<=|!=|==|<|>)\s*(\d+(?:\.\d+)*)\s*", clause)
        if parsed is None:
            raise ValueError(f"requires-python of pyproject.toml holds: {clause}")
        operator, number = parsed.groups()
        bound = tuple(int(part) for part in number.split("."))
        length = max(len(bound), len(version))
        left, right = ((*v, *(0,) * (length - len(v))) for v in (version, bound))
        holds = {
            ">=": left >= right,
            "<=": left <= right,
            "!=": left != right,
            "==": left == right,
            "<": left < right,
            ">": left > right,
        }
        if not holds[operator]:
            return False
    return True


def packages() -> list[Finding]:
    """Whether what is needed is there, can be imported, and is what constraints.txt pins."""
    installed = {name: _installed(name) for name in NEEDED}
    missing = [name for name, version in installed.items() if version is None]
    if missing:
        text = f"{len(missing)} of {len(NEEDED)} packages are missing: {_some(missing)}"
        return [Finding("packages", "error", text, INSTALL)]
    broken = import_errors([NEEDED[name] for name in installed])
    findings = [
        Finding("packages", "error", f"{name} can't be imported: {said}", INSTALL)
        for name, said in broken.items()
    ]
    pins = pinned()
    versions = {name: _installed(name) for name in pins}
    others = [
        f"{name} {version} (pinned {pins[name]})"
        for name, version in versions.items()
        if version is not None and version.partition("+")[0] != pins[name]
    ]
    if others:
        text = f"{len(others)} other than constraints.txt pins: {_some(others)}"
        findings.append(Finding("packages", "warning", text, INSTALL))
    if not findings:
        there = sum(version is not None for version in versions.values())
        torch = installed["torch"]
        text = f"{len(NEEDED)} needed, {there} installed as pinned; torch {torch}"
        findings.append(Finding("packages", "ok", text))
    return findings


def import_errors(modules: list[str]) -> dict[str, str]:
    """Why modules can't be imported, in a process that imports them in turn; empty if all can."""
    code: int | None
    environment = {**os.environ, "DS_ACCELERATOR": "cpu"}  # else DeepSpeed looks for compilers
    try:
        result = subprocess.run(
            [sys.executable, "-c", IMPORT, *modules],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=IMPORT_SECONDS,
        )
        code, output = result.returncode, result.stderr
    except subprocess.TimeoutExpired as error:
        code, output = None, error.stderr or b""
    rows = [line.split("\t") for line in output.decode("utf-8", "replace").split("\n")]
    told = {row[1]: row[2] for row in rows if row[0] == "imported" and len(row) == 3}
    failed = {name: said for name, said in told.items() if said}
    if len(told) < len(modules):
        last = next(name for name in modules if name not in told)
        failed[last] = f"not within {IMPORT_SECONDS} s" if code is None else _end(code)
    return failed


def _end(code: int) -> str:
    if code >= 0:
        return f"Python ends with exit code {code}"
    return f"it kills Python by {signal.Signals(-code).name}"


def pinned() -> dict[str, str]:
    """Releases by the names of packages in constraints.txt; empty where the code lies without."""
    try:
        text = (PROJECT / "constraints.txt").read_bytes().decode()
    except OSError:
        return {}
    return dict(re.findall(r"^([\w.-]+)==([^\s;#]+)", text, re.M))


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _some(names: list[str], most: int = 4) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def compiler() -> list[Finding]:
    """Nothing that runs asks for one: DeepSpeed's operators are never built (training.engine)."""
    names = [name for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name]
    there = next((path for path in map(shutil.which, names) if path), None)
    if there:
        return [Finding("compiler", "ok", f"{there}; not needed")]
    text = (
        "no C++ compiler; not needed, but by pip where a package has no wheel for this Python "
        "and processor"
    )
    return [Finding("compiler", "ok", text)]


def tools() -> list[Finding]:
    """Programs that the workflow's shell lines call, and those that are of use beside it."""
    missing = [name for name in ("bash", "awk", "tee") if shutil.which(name) is None]
    if missing:
        fix = f"install {' and '.join(missing)}, or add the folder to PATH"
        text = f"Snakemake's jobs need programs that PATH lacks: {', '.join(missing)}"
        return [Finding("programs", "error", text, fix)]
    findings = []
    git, make = shutil.which("git"), shutil.which("make")
    if git is None:
        text = "no git: results can't name the commit that made them"
        findings.append(Finding("programs", "warning", text, "install git"))
    words = ["bash", "awk", "tee"] + ([_version(git)] if git else [])
    words.append(_version(make) if make else "no make (snakemake --cores all does what it does)")
    return [*findings, Finding("programs", "ok", ", ".join(words))]


def _version(program: str) -> str:
    """The first line of `--version`."""
    try:
        result = subprocess.run([program, "--version"], capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} ({first_line(error)})"
    return first_line(result.stdout.decode("utf-8", "replace"))
