"""What an output of a step lacks, as its own manifest lists it.

Snakemake asks of a folder only whether it exists, and knows nothing of checkpoints, which are no
output of a rule. What later steps read stands in manifests; what is gone of it is looked up here,
so that it is made again.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pipeline.encoded import SIDES
from pipeline.files import read_json


def missing(path: Path) -> list[str]:
    """Names, below the folder of `path`, of files that belong to an existing output and are gone.

    path: a folder that a rule makes, or train.json. A manifest that can't be read is missing.
    """
    listed = LISTED[path.name]
    manifest = path / listed.manifest if listed.inside else path.parent / listed.manifest
    try:
        names = list(listed.names(read_json(manifest)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [listed.manifest]
    folder = Path() if listed.from_here else path
    return [name for name in names if not (folder / name).is_file()]


class _Listed:
    """names: the files that a manifest's data lists, below the folder or (from_here) below the
    working directory. inside: whether the manifest itself lies in the folder."""

    def __init__(
        self,
        manifest: str,
        names: Callable[[Any], Iterable[str]],
        *,
        inside: bool = True,
        from_here: bool = False,
    ) -> None:
        self.manifest, self.names, self.inside, self.from_here = manifest, names, inside, from_here


def _raw(sources: Any) -> Iterable[str]:
    for parts in sources["splits"].values():
        for part in parts:
            yield from (file["path"] for file in part["sides"].values())


def _encoded(manifest: Any) -> Iterable[str]:
    for split in manifest["splits"]:
        for side in SIDES:
            yield from (f"{split}/{side}_{part}.npy" for part in ("tokens", "offsets"))


def _subwords(manifest: Any) -> Iterable[str]:
    return ("subwords.model", *(["symbols.json"] if manifest["n_symbols"] else []))


def _model(config: Any) -> Iterable[str]:
    return ("model.safetensors", "subwords.model", "card.json", *config.get("subwords", {}))


LISTED = {
    "raw": _Listed("sources.json", _raw, inside=False, from_here=True),
    "text": _Listed("prepare.json", lambda report: report["sha256"], inside=False),
    "subwords": _Listed("subwords.json", _subwords),
    "encoded": _Listed("encode.json", _encoded),
    "buckets": _Listed("bucket.json", lambda report: ("order.npy", "offsets.npy")),
    "card": _Listed("card.json", lambda facts: ("card.md", "lengths.svg", "lengths.png")),
    "model": _Listed("config.json", _model),
    "figures": _Listed(
        "figures.json", lambda index: [name for f in index["figures"] for name in f["files"]]
    ),
    "train.json": _Listed(
        "train.json",
        lambda train: [checkpoint["path"] for checkpoint in train["checkpoints"]],
        inside=False,
        from_here=True,
    ),
}
