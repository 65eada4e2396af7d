"""What a scale and config.yaml may say."""

from typing import Annotated

from pydantic import AfterValidator, Field

from pipeline.config.schema import Closed, Name, Seeds, Task, Text, distinct
from pipeline.config.sections import Divisors, Sections


class Settings(Closed):
    """Values that replace the paper's at a scale, after dividing.

    An experiment that extends one of those and states a key keeps its own.
    """

    base: Sections = Field(
        default=Sections(), description="for the base model, from which all others descend"
    )
    tasks: dict[Task, Sections] = Field(
        default={}, description="for the experiment that a task begins with"
    )
    experiments: dict[Name, Sections] = Field(default={}, description="for one experiment")


class Attention(Closed):
    """Figures 3 to 5: whose attention is drawn, on which sentences."""

    experiment: Name = Field(description="its first seed's averaged model")
    sentences: dict[Name, Text] = Field(
        description="name of the figure: sentence of the source", min_length=1
    )


class Scale(Closed):
    """A file of config/scales: which corpora stand behind the tasks, how far numbers shrink."""

    name: Name
    title: Text
    tasks: dict[Task, Name] = Field(
        description="corpus file behind each task of the paper", min_length=1
    )
    divide: Divisors = Field(default=Divisors(), description="whole divisors of the paper's values")
    settings: Settings = Settings()
    attention: Attention | None = Field(default=None, description="null draws no attention maps")


class Config(Closed):
    """config/config.yaml, with what `--config` on the command line replaced."""

    scale: Name
    results: Annotated[
        tuple[str, ...], Field(strict=False, min_length=1), AfterValidator(distinct)
    ] = Field(description="tables, figures or experiments that plain `snakemake` makes")
    seeds: Seeds = Field(description="one training a seed for each experiment")
    data_root: Text | None = Field(
        description="folder that holds corpus files at hand, searched before any download"
    )
