"""DeepSpeed behind one class: the only module that imports it.

What is used of it: data-parallel reduction, ZeRO 0, 1 and 2, gradient accumulation and clipping.
What is not: its learning rates (ours is set for each update), its loss scaling (nothing here is
fp16), its bf16 mode (weights and gradients stay fp32 under torch.autocast) and its checkpoints
(they are pickles; ours are safetensors that fit any number of ranks).
"""

import logging
import os
from collections import defaultdict
from collections.abc import Callable

import torch
from torch import Tensor, nn

from pipeline.config.schema import TrainingConfig
from pipeline.training.ranks import Rank

MOMENTS = ("exp_avg", "exp_avg_sq")


class Engine:
    """Updates the parameters of `module`, whose call returns a loss, by Adam (section 5.3).

    A loss must be divided by what is counted over all ranks and micro-batches already: gradients
    are added up, never averaged.
    """

    def __init__(
        self, module: nn.Module, training: TrainingConfig, *, rank: Rank, zero_stage: int
    ) -> None:
        if zero_stage not in (0, 1, 2):
            raise ValueError(f"zero_stage must be 0, 1 or 2: {zero_stage}")
        self.rank = rank
        self.zero_stage = zero_stage
        self.module = module.to(rank.device)
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.clip_norm = training.clip_norm
        self.adam = torch.optim.Adam(
            self.parameters, lr=0.0, betas=training.adam_betas, eps=training.adam_eps, fused=True
        )
        deepspeed = _import_deepspeed(rank.device.type)
        config = {
            "train_micro_batch_size_per_gpu": 1,  # it counts samples; we count tokens ourselves
            "gradient_accumulation_steps": 1,  # the boundary is set for each micro-batch
            "gradient_allreduce_op": "sum",
            "zero_optimization": {"stage": zero_stage, "overlap_comm": False},
            "gradient_clipping": 0.0 if zero_stage == 0 else training.clip_norm or 0.0,
            "steps_per_print": 1 << 62,
            "timers": {"throughput": {"enabled": False}},
        }
        self.engine, *_ = deepspeed.initialize(model=module, optimizer=self.adam, config=config)
        if rank.world_size == 1 and zero_stage == 0:
            self.engine.enable_backward_allreduce = False  # would copy all gradients twice
        self._norm: Tensor | None = None
        if zero_stage == 0:
            self.adam.register_step_pre_hook(self._clip)
            # its own walks through all modules for them, each step
            self.engine.zero_grad = self.adam.zero_grad

    def train_micro_batch(self, *arguments: Tensor, last: bool) -> None:
        """Forward and backward; `last` says that the update follows."""
        self.engine.set_gradient_accumulation_boundary(last)
        loss = self.engine(*arguments)
        self.engine.backward(loss, scale_wrt_gas=False)

    def step(self, learning_rate: float) -> float:
        """Update the parameters; return the norm of the gradient, before clipping.

        Where the norm is not finite, nothing is updated.
        """
        for group in self.adam.param_groups:
            group["lr"] = learning_rate
        try:
            self.engine.step()
        except _NotFinite as error:
            return error.norm
        norm = self._norm if self.zero_stage == 0 else self.engine.get_global_grad_norm()
        return float(norm)

    @property
    def learning_rate(self) -> float:
        """Of the last update."""
        return self.adam.param_groups[0]["lr"]

    def _clip(self, *_) -> None:
        """Before Adam's step under ZeRO 0: DeepSpeed itself counts no norm there."""
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        self._norm = nn.utils.get_total_norm(gradients)
        if not torch.isfinite(self._norm):
            raise _NotFinite(float(self._norm))
        if self.clip_norm is not None:
            nn.utils.clip_grads_with_norm_(self.parameters, self.clip_norm, self._norm)

    def moments(self) -> tuple[dict[str, Tensor], int, int] | None:
        """Adam's moments as slices [start, end) of all parameters laid end to end; on the CPU.

        Under ZeRO each rank holds a slice of its own; without it, rank 0 gives all and the
        others None.
        """
        if self.zero_stage == 0:
            if not self.rank.first:
                return None
            states = [self.adam.state[p] for p in self.parameters]
            flat = {m: torch.cat([s[m].flatten() for s in states]).cpu() for m in MOMENTS}
            return flat, 0, len(flat[MOMENTS[0]])
        start, end = self._slice()
        state = self.adam.state[self._master()]
        return {m: state[m][: end - start].cpu() for m in MOMENTS}, start, end

    def load_moments(self, read: Callable[[str, int, int], Tensor], *, step: int) -> None:
        """Set Adam's state after `step` updates; `read(moment, start, end)` gives a slice."""
        if self.zero_stage == 0:
            start = 0
            for parameter in self.parameters:
                end = start + parameter.numel()
                moments = {m: read(m, start, end).view_as(parameter) for m in MOMENTS}
                self._set(parameter, moments, step)
                start = end
        else:
            start, end = self._slice()
            master = self._master()
            moments = {m: torch.zeros_like(master.detach(), device="cpu") for m in MOMENTS}
            for moment, flat in moments.items():
                flat[: end - start] = read(moment, start, end)
            self._set(master, moments, step)

    def _set(self, parameter: Tensor, moments: dict[str, Tensor], step: int) -> None:
        count = torch.tensor(float(step), dtype=torch.float32, device=parameter.device)
        state = {m: t.to(parameter.device, parameter.dtype).clone() for m, t in moments.items()}
        self.adam.state[parameter] = {"step": count, **state}

    def _master(self) -> Tensor:
        return self.engine.optimizer.single_partition_of_fp32_groups[0]

    def _slice(self) -> tuple[int, int]:
        """This rank's share of the parameters laid end to end, without ZeRO's padding."""
        total = sum(p.numel() for p in self.parameters)
        width = self._master().numel()
        start = min(self.rank.rank * width, total)
        return start, min(start + width, total)


class _NotFinite(Exception):
    def __init__(self, norm: float) -> None:
        super().__init__(norm)
        self.norm = norm


def _import_deepspeed(device: str):
    """Import DeepSpeed for this kind of device, quietly, without building any operator.

    It would probe for a compiler and, on a CPU, compile an operator for collectives in shared
    memory; nothing here calls its operators, and gloo and NCCL do that work without.
    """
    os.environ["DS_ACCELERATOR"] = device
    os.environ.setdefault("LOCAL_RANK", "0")  # it insists; one process by itself has none
    logging.getLogger("DeepSpeed").setLevel(logging.WARNING)
    import deepspeed  # late: readers of this module need not pay for it

    deepspeed.utils.logger.setLevel(logging.WARNING)
    deepspeed.ops.__compatible_ops__ = defaultdict(bool)
    return deepspeed
