"""The paper's figures as config/paper states them, closed and strict as every other config."""

import re
from collections.abc import Collection, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from pipeline.config.loading import read_yaml
from pipeline.config.schema import Checkpoints, Closed, Name

Model = TypeVar("Model", bound=Closed)
Size = Literal["n_layers", "d_model", "d_ff", "n_heads", "dropout", "max_steps"]
LIKENESS = 0.85  # of two names, one of which is a slip for the other
Percent = Annotated[float, Field(gt=0.0, le=100.0)]
Positive = Annotated[float, Field(gt=0.0, le=1.0e30)]  # training cost is the largest there is
SizeValue = Annotated[float, Field(ge=0.0, le=1.0e9)]
Power = Annotated[int, Field(ge=0, le=10)]


class PublishedRow(Closed):
    """One row of Tables 2-4. A value the paper left blank is null; `experiment` makes it ours."""

    label: str
    group: str = Field(default="", description="row letter of Table 3, training data of Table 4")
    experiment: Name | None = None
    tokenized_bleu: Percent | None = None
    perplexity: Positive | None = None
    bracket_f1: Percent | None = None
    parameters: Positive | None = None
    cost_flops: Positive | None = None
    sizes: dict[Size, SizeValue] = Field(
        default={},
        description="the paper's model; what is otherwise at our scale stands in the row",
    )


class PublishedSection(Closed):
    title: str
    rows: tuple[PublishedRow, ...] = Field(strict=False)


class PublishedTable(Closed):
    """Tables 2-4: what the paper printed, and which of our scores stand beside it."""

    table: Literal["table2", "table3", "table4"]
    title: str
    split: Literal["dev", "test"] = Field(description="split whose scores the table shows")
    test_set: str = Field(description="the paper's name of that split")
    n_average: Checkpoints | None = Field(default=None, description="null takes what was decoded")
    undertrained_below: dict[str, Percent] = Field(
        default={}, description="scale: sacrebleu under which a row counts as undertrained there"
    )
    sections: tuple[PublishedSection, ...] = Field(strict=False)

    @property
    def metric(self) -> Literal["tokenized_bleu", "bracket_f1"]:
        """The score that the paper's table is about."""
        return "bracket_f1" if self.table == "table4" else "tokenized_bleu"

    def rows(self) -> list[PublishedRow]:
        return [row for section in self.sections for row in section.rows]


class PublishedLayer(Closed):
    """One row of Table 1: n positions of width d, kernel k, neighbourhood r."""

    layer: Name
    title: str
    complexity: str
    sequential: str
    path: str
    exponent_n: Power = Field(description="power of n in the complexity")
    exponent_d: Power = Field(description="power of d in the complexity")


class PublishedLayers(Closed):
    """Table 1."""

    table: Literal["table1"]
    title: str
    layers: tuple[PublishedLayer, ...] = Field(strict=False)


def load_published(path: str | Path) -> PublishedTable:
    """Read config/paper/table2.yaml, table3.yaml or table4.yaml.

    Raises ValueError naming the file, the key and the value for anything the schema refuses.
    """
    return _load(path, PublishedTable)


def load_published_layers(path: str | Path) -> PublishedLayers:
    """Read config/paper/table1.yaml; errors as `load_published`."""
    return _load(path, PublishedLayers)


def rows_without_experiment(
    tables: Mapping[str, PublishedTable], shown: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """Experiments that rows name and config/experiments has not, and what is said of each.

    shown: for each experiment there is the tables that show it. Such a row keeps the paper's figure
    alone, as where someone removed an experiment. Raises ValueError where it is a slip instead: an
    experiment that the table shows has no row there, and its name is the row's but for a letter
    or two, not for a number.
    """
    found, slips = {}, []
    for name, table in tables.items():
        rows = [row for row in table.rows() if row.experiment]
        named = {row.experiment for row in rows}
        without = [other for other in shown if name in shown[other] and other not in named]
        for row in rows:
            if row.experiment in shown:
                continue
            said = (
                f"config/paper/{name}.yaml: experiment of the row {row.label!r}: no such file: "
                f"config/experiments/{row.experiment}.yaml"
            )
            meant = [other for other in without if _slip(row.experiment, other)]
            if meant:
                slips.append(f"{said}; did you mean {meant[0]}, which has no row?")
            found[row.experiment] = said
    if slips:
        raise ValueError("\n".join(slips))
    return found


def _slip(written: str, meant: str) -> bool:
    same_numbers = re.findall(r"\d+", written) == re.findall(r"\d+", meant)
    return same_numbers and SequenceMatcher(None, written, meant).ratio() >= LIKENESS


def _load(path: str | Path, model: type[Model]) -> Model:
    data = read_yaml(Path(path))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}: {item['input']!r}"
            for item in error.errors()
        ]
        raise ValueError(f"{path}: " + "; ".join(problems)) from None
