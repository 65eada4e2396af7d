"""Configuration files changed as a user changes them, and what is said of that."""

import pytest
import yaml

from pipeline.config.loading import ConfigError, load_project


def edit(folder, name, change):
    path = folder / f"{name}.yaml"
    data = yaml.safe_load(path.read_text())
    change(data)
    path.write_text(yaml.safe_dump(data))


def error_of(folder, scale="demo"):
    with pytest.raises(ConfigError) as caught:
        load_project(folder, {"scale": scale})
    return str(caught.value)
