"""JSON schemas of the configuration files, for editors; `python -m pipeline.config.json_schema`.

A test compares them with the models, so that they cannot drift apart.
"""

import json
from pathlib import Path

from pipeline.config.corpus import CorpusConfig
from pipeline.config.scale import Config, Scale
from pipeline.config.schema import Closed
from pipeline.config.search import SearchFile
from pipeline.config.sections import ExperimentFile
from pipeline.config.self_training import INHERITED

FOLDER = Path("config/schema")
FILES: dict[str, tuple[type[Closed], tuple[str, ...]]] = {
    "config": (Config, ()),
    "scale": (Scale, ("name",)),
    "corpus": (CorpusConfig, ("name",)),
    "experiment": (ExperimentFile, ()),
    "search": (SearchFile, ("name",)),
}


def schema_text(name: str) -> str:
    """The JSON schema of one kind of file; keys that come from the file's name are left out."""
    model, from_name = FILES[name]
    schema = model.model_json_schema()
    for key in from_name:
        schema["properties"].pop(key)
        schema["required"].remove(key)
    if name == "corpus":  # a self-trained corpus has these from its treebank
        schema["required"] = [key for key in schema["required"] if key not in INHERITED]
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write_schemas(folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
