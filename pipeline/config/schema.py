"""What an experiment may say. The paper's section stands beside each key.

Every model here is frozen, strict and closed: an unknown key, a wrong type or a value out of range
is an error, and no code changes a setting after it was read.
"""

from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pipeline.config import bounds

T = TypeVar("T")


def distinct(values: tuple[T, ...]) -> tuple[T, ...]:
    """Raises ValueError for an entry that stands twice."""
    for number, value in enumerate(values):
        if value in values[:number]:
            raise ValueError(f"has an entry twice: {value}")
    return values


Task = Literal["en-de", "en-fr", "parsing", "parsing-silver"]
Table = Literal["table2", "table3", "table4"]
DecodingPrecision = Literal["auto", "fp32", "bf16", "int8"]  # a command's, not an experiment's
Name = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
Width = Annotated[int, Field(ge=1, le=bounds.MOST_WIDTH)]
Steps = Annotated[int, Field(ge=1, le=bounds.MOST_STEPS)]
Lines = Annotated[int, Field(ge=1, le=bounds.MOST_LINES)]
Words = Annotated[int, Field(ge=1, le=bounds.MOST_WORDS)]
Dropout = Annotated[float, Field(ge=0.0, le=bounds.MOST_DROPOUT)]
Beta = Annotated[float, Field(ge=0.0, le=bounds.MOST_BETA)]
BeamSize = Annotated[int, Field(ge=1, le=bounds.MOST_BEAM_SIZE)]
VocabSize = Annotated[int, Field(ge=1, le=bounds.MOST_VOCABULARY)]
Checkpoints = Annotated[int, Field(ge=1, le=bounds.MOST_CHECKPOINTS)]
Text = Annotated[str, Field(min_length=1)]
Seed = Annotated[int, Field(ge=0, le=bounds.MOST_SEED)]
Seeds = Annotated[tuple[Seed, ...], Field(strict=False, min_length=1), AfterValidator(distinct)]
Tables = Annotated[tuple[Table, ...], Field(strict=False, min_length=1), AfterValidator(distinct)]
SHOWN_IN: dict[Task, tuple[Table, ...]] = {
    "en-de": ("table2", "table3"),
    "en-fr": ("table2",),
    "parsing": ("table4",),
    "parsing-silver": ("table4",),
}  # what the paper's tables are about


class Closed(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class ModelConfig(Closed):
    """Section 3: the sizes of one Transformer."""

    n_layers: Annotated[int, Field(ge=1, le=bounds.MOST_LAYERS)] = Field(
        description="N: encoder layers, and as many decoder layers"
    )
    d_model: Width = Field(description="width of embeddings and of each layer's output; even")
    d_ff: Width = Field(description="inner width of the feed-forward layers")
    n_heads: Annotated[int, Field(ge=1, le=bounds.MOST_HEADS)] = Field(
        description="h: attention heads"
    )
    d_k: Width = Field(description="width of a head's queries and keys")
    d_v: Width = Field(description="width of a head's values")
    dropout: Dropout = Field(description="P_drop on sub-layer outputs and on embedding + position")
    attention_dropout: Dropout = Field(
        description="dropout on attention weights; the parser's only"
    )
    positions: Literal["sinusoidal", "learned", "none"] = Field(
        description="section 3.5; 'none' leaves positions out, to show that they are needed"
    )
    max_positions: Annotated[int, Field(ge=1, le=bounds.MOST_POSITIONS)] = Field(
        description="rows of the table of learned positions"
    )
    causal: bool = Field(
        description="mask of the decoder's self-attention; false shows that it is needed"
    )

    @model_validator(mode="after")
    def even_width(self) -> Self:
        if self.d_model % 2:
            raise ValueError(
                f"d_model must be even, since sines and cosines alternate (section 3.5): "
                f"{self.d_model}"
            )
        return self


class TrainingConfig(Closed):
    """Section 5: how one model is trained. Everything here changes the weights that come out."""

    max_steps: Steps = Field(description="optimiser updates")
    warmup_steps: Steps = Field(description="eq. (3)")
    learning_rate_scale: Annotated[float, Field(gt=0.0, le=100.0)] = Field(
        description="factor on eq. (3); 1.0 is the paper's"
    )
    adam_betas: tuple[Beta, Beta] = Field(description="section 5.3", strict=False)
    adam_eps: Annotated[float, Field(gt=0.0, le=1.0)] = Field(description="section 5.3")
    label_smoothing: Dropout = Field(description="eps_ls, section 5.4")
    tokens_per_step: Annotated[int, Field(ge=1, le=bounds.MOST_TOKENS)] = Field(
        description="tokens of an update on the larger side, padding not counted (section 5.1)"
    )
    precision: Literal["fp32", "bf16", "auto"] = Field(
        description="of the matrix products; weights, gradients and optimiser state stay fp32; "
        "auto: bf16 where the device that trains multiplies it natively, else fp32"
    )
    clip_norm: Annotated[float, Field(gt=0.0, le=1.0e6)] | None = Field(
        description="gradient norm limit; null is the paper's"
    )
    checkpoint_interval_steps: Steps = Field(description="what averaging uses (section 6.1)")
    dev_interval_steps: Steps = Field(description="steps between dev perplexities in the curves")

    @model_validator(mode="after")
    def some_checkpoint(self) -> Self:
        if self.checkpoint_interval_steps > self.max_steps:
            raise ValueError(
                f"checkpoint_interval_steps must not exceed max_steps {self.max_steps}: "
                f"{self.checkpoint_interval_steps}"
            )
        return self


class DecodingConfig(Closed):
    """Section 6.1: how text is produced from a trained model."""

    n_average: Checkpoints = Field(
        description="last checkpoints averaged; Table 3 takes 1 for all rows"
    )
    beam_size: BeamSize = Field(description="4; 21 for the parser")
    length_penalty: Annotated[float, Field(ge=0.0, le=bounds.MOST_LENGTH_PENALTY)] = Field(
        description="alpha; 0.6, parser 0.3"
    )
    max_extra_tokens: Annotated[int, Field(ge=1, le=bounds.MOST_EXTRA_TOKENS)] = Field(
        description="output is at most input + this; 50, parser 300"
    )
    constrained: bool = Field(description="parser only: well-formed trees alone are searched")


PAPER_DECODING = {
    "translation": DecodingConfig(
        n_average=5, beam_size=4, length_penalty=0.6, max_extra_tokens=50, constrained=False
    ),
    "parsing": DecodingConfig(
        n_average=5, beam_size=21, length_penalty=0.3, max_extra_tokens=300, constrained=False
    ),
}
"""What a model folder proposes to those who use it by hand (sections 6.1 and 6.3)."""


class Experiment(Closed):
    """One model: a file of config/experiments after `extends:` and the scale were applied."""

    name: Name
    title: Text = Field(description="the row's label in tables and figures")
    task: Task
    tables: Tables = Field(description="tables that show it")
    seeds: Seeds | None = Field(
        default=None, description="seeds of this experiment; null takes those of config.yaml"
    )
    model: ModelConfig
    training: TrainingConfig
    decoding: DecodingConfig

    @model_validator(mode="after")
    def enough_checkpoints(self) -> Self:
        kept = -(-self.training.max_steps // self.training.checkpoint_interval_steps)
        if self.decoding.n_average > kept:
            raise ValueError(
                f"decoding.n_average asks for {self.decoding.n_average} checkpoints, but "
                f"training.max_steps {self.training.max_steps} at one every "
                f"{self.training.checkpoint_interval_steps} steps gives {kept}"
            )
        return self

    @model_validator(mode="after")
    def tables_of_the_task(self) -> Self:
        for table in self.tables:
            if table not in SHOWN_IN[self.task]:
                raise ValueError(
                    f"tables must be of {', '.join(SHOWN_IN[self.task])} for task {self.task}: "
                    f"{table}"
                )
        return self

    @model_validator(mode="after")
    def trees_alone_are_constrained(self) -> Self:
        if self.decoding.constrained and not self.task.startswith("parsing"):
            raise ValueError(
                f"decoding.constrained must be false unless the task is parsing: task {self.task}"
            )
        return self
