"""Makes the environment of a file of envs/ out of the packages that this Python has: as a plain one
from the same list, with what the list's packages require and nothing else. To run as a script:

    python linked_environment.py FILE FOLDER
"""

import re
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

import yaml
from packaging.requirements import Requirement

LOG = "pythons.log"  # beside the environments: the environment of every Python that ran


def listed(path: Path) -> list[str]:
    """Names of the packages that an environment file lists."""
    dependencies = yaml.safe_load(path.read_text())["dependencies"]
    (packages,) = [entry["pip"] for entry in dependencies if isinstance(entry, dict)]
    return [re.match(r"[\w.-]+", package)[0] for package in packages]


def closure(names: list[str]) -> list[Distribution]:
    """The packages and all that they require on this machine."""
    found: dict[str, Distribution] = {}
    open_ = [(name, frozenset()) for name in names]
    seen = set()
    while open_:
        name, extras = open_.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        package = found[name.lower()] = distribution(name)
        for line in package.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            ):
                open_.append((requirement.name, frozenset(requirement.extras)))
    return list(found.values())


def make(path: Path, folder: Path) -> None:
    """An environment whose `python` notes that it ran."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for package in closure(listed(path)):
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            source = Path(package.locate_file(top))
            if source.exists() and not (packages / top).exists():
                (packages / top).symlink_to(source)
    for name in ("python", "python3"):
        real = folder / "bin" / f"real_{name}"
        (folder / "bin" / name).rename(real)
        note = f'echo "{folder.name}" >> "{folder.parent / LOG}"'
        (folder / "bin" / name).write_text(f'#!/bin/sh\n{note}\nexec "{real}" "$@"\n')
        (folder / "bin" / name).chmod(0o755)


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
