"""Parts of an experiment: what a file of config/experiments or a scale states, key by key."""

from typing import Annotated, Any

from pydantic import Field, create_model

from pipeline.config.schema import (
    Closed,
    DecodingConfig,
    ModelConfig,
    Name,
    Seeds,
    Steps,
    Tables,
    Task,
    Text,
    TrainingConfig,
)

SECTIONS = ("model", "training", "decoding")


def _optional(model: type[Closed], name: str) -> type[Closed]:
    """The same keys, each of which may be left out."""
    fields: dict[str, Any] = {
        key: (
            Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation,
            Field(default=None, description=field.description),
        )
        for key, field in model.model_fields.items()
    }
    return create_model(name, __base__=Closed, **fields)


def _divisors(model: type[Closed], name: str) -> type[Closed]:
    """The whole-numbered keys, each a divisor that may be left out."""
    fields: dict[str, Any] = {
        key: (Steps, Field(default=None, description=f"divides: {field.description}"))
        for key, field in model.model_fields.items()
        if field.annotation is int
    }
    return create_model(name, __base__=Closed, **fields)


ModelSection = _optional(ModelConfig, "ModelSection")
TrainingSection = _optional(TrainingConfig, "TrainingSection")
DecodingSection = _optional(DecodingConfig, "DecodingSection")
ModelDivisors = _divisors(ModelConfig, "ModelDivisors")
TrainingDivisors = _divisors(TrainingConfig, "TrainingDivisors")
DecodingDivisors = _divisors(DecodingConfig, "DecodingDivisors")


class Sections(Closed):
    """The keys of an experiment that are stated here."""

    model: ModelSection = ModelSection()  # type: ignore[valid-type]
    training: TrainingSection = TrainingSection()  # type: ignore[valid-type]
    decoding: DecodingSection = DecodingSection()  # type: ignore[valid-type]


class Divisors(Closed):
    """By what the paper's values are divided; a fraction is an error."""

    model: ModelDivisors = ModelDivisors()  # type: ignore[valid-type]
    training: TrainingDivisors = TrainingDivisors()  # type: ignore[valid-type]
    decoding: DecodingDivisors = DecodingDivisors()  # type: ignore[valid-type]


class ExperimentFile(Sections):
    """A file of config/experiments: the keys in which it differs from the one it extends."""

    extends: Name | None = Field(default=None, description="experiment whose keys it takes over")
    title: Text = Field(description="the row's label in tables and figures")
    task: Task = Field(
        default=None,  # type: ignore[arg-type] # the one that it extends states it
        description="task of the paper; a scale names its corpus",
    )
    tables: Tables = Field(description="tables that show it")
    seeds: Seeds | None = Field(
        default=None, description="seeds of this experiment; null takes those of config.yaml"
    )
