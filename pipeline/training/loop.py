"""The training of one model, from wherever it stands to its last step (section 5)."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from pipeline.batching.buckets import open_buckets
from pipeline.batching.split import length_batches
from pipeline.encoded import PAD_ID, EncodedSplit
from pipeline.files import read_json, sha256_of
from pipeline.memory import peak_resident_bytes
from pipeline.model.likelihood import perplexity, sequence_nll
from pipeline.model.transformer import Transformer
from pipeline.progress import log
from pipeline.training import checkpoints
from pipeline.training.energy import Energy
from pipeline.training.engine import Engine
from pipeline.training.feed import Counts, Feed, Update, read_batch
from pipeline.training.loss import TrainedModel
from pipeline.training.metrics import Metrics, Window, divergence
from pipeline.training.precision import device_class, resolve_precision
from pipeline.training.ranks import Rank, device_name
from pipeline.training.run import Job
from pipeline.training.schedule import learning_rate

METRIC_LINES = 500  # of a whole training, about
GO_ON, SAVE, STOP = 0, 1, 2


class Interrupted(Exception):
    """SIGTERM came; the last checkpoint is of the step that the message names."""


def train(
    job: Job,
    sections: dict[str, Any],
    folder: Path,
    rank: Rank,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Train to the last step, checkpoints in `folder`; return what train.json tells, on rank 0.

    sections: what the weights depend on; kept in each checkpoint and compared on resuming.
    stop: asked after each step. Raises Interrupted when it says True, FloatingPointError for a
    gradient or dev perplexity that is not finite, MemoryError naming max_tokens, ValueError for
    inputs that can't be trained on.
    """
    try:
        return Trainer(job, sections, folder, rank).run(stop)
    except torch.OutOfMemoryError as error:
        raise MemoryError(_out_of_memory(job)) from error
    except RuntimeError as error:
        if "allocate memory" in str(error):
            raise MemoryError(_out_of_memory(job)) from error
        raise


class Trainer:
    def __init__(self, job: Job, sections: dict[str, Any], folder: Path, rank: Rank) -> None:
        self.job, self.sections, self.folder, self.rank = job, sections, folder, rank
        self.vocab_size = read_json(job.encoded / "encode.json")["vocab_size"]
        split = EncodedSplit.open(job.encoded / "train")
        self.dev = EncodedSplit.open(job.encoded / "dev")
        self.dev_lengths = self.dev.src_lengths(), self.dev.tgt_lengths()
        every = open_buckets(job.buckets, split)
        longest = job.training.tokens_per_step
        if job.model.positions == "learned":
            longest = min(longest, job.model.max_positions)
            if (longest_dev := max(int(side.max()) for side in self.dev_lengths)) > longest:
                raise ValueError(
                    f"model.max_positions must hold the longest dev sentence, {longest_dev} "
                    f"tokens: {job.model.max_positions}"
                )
        usable = every.up_to(longest)
        self.skipped = len(every) - len(usable)
        if self.skipped and rank.first:
            log(f"skipping pairs of more than {longest} tokens a side: {self.skipped}")
        if not len(usable):
            raise ValueError(
                f"every pair is longer than training.tokens_per_step or model.max_positions: "
                f"{longest}"
            )
        longest = int(max(usable.src.max(), usable.tgt.max()))
        if job.max_tokens < longest:
            raise ValueError(
                f"max_tokens must hold the longest pair, {longest} tokens: {job.max_tokens}"
            )
        self.feed = Feed(
            split,
            usable,
            rank=rank,
            seed=job.seed,
            tokens_per_step=job.training.tokens_per_step,
            max_tokens=job.max_tokens,
        )
        self.counts, self.step, self.epoch, self.index, self.seconds = Counts(), 0, 0, 0, 0.0
        self.dev_perplexity: float | None = None
        self.energy = Energy.of(rank)
        self.window = Window()
        self._build()

    def _build(self) -> None:
        job = self.job
        found = checkpoints.newest_on_all_ranks(self.folder, self.rank)
        torch.manual_seed(job.seed)
        model = Transformer(job.model, vocab_size=self.vocab_size, pad_id=PAD_ID)
        if found is not None:
            checkpoints.check_sections(found, self.sections)
            checkpoints.load_weights(found, model)
        self.model = model
        self.precision = resolve_precision(job.training.precision, began=found, rank=self.rank)
        self.trained = TrainedModel(
            model, label_smoothing=job.training.label_smoothing, precision=self.precision
        ).train()
        self.engine = Engine(self.trained, job.training, rank=self.rank, zero_stage=job.zero_stage)
        if found is not None:
            state = found.state
            self.step, self.epoch, self.index = found.step, state["epoch"], state["index"]
            self.seconds, self.counts = state["seconds"], Counts(**state["counts"])
            self.dev_perplexity = state["dev_perplexity"]
            self.energy.resume(state.get("energy_joules"))
            self.engine.load_moments(found.read_moments(), step=self.step)
            if self.rank.first:
                log(f"resuming after step {self.step} of {job.training.max_steps}")
        self.writer = checkpoints.Writer(
            self.folder, rank=self.rank.rank, world_size=self.rank.world_size
        )

    def run(self, stop: Callable[[], bool]) -> dict[str, Any]:
        last = self.job.training.max_steps
        self.window.restart()
        self.saved_at = time.monotonic()
        started = time.monotonic() - self.seconds
        updates = self.feed.updates(epoch=self.epoch, index=self.index)
        with Metrics(self.folder if self.rank.first else None, step=self.step) as metrics:
            while self.step < last:
                norm = self.update(next(updates))
                self.seconds = time.monotonic() - started
                self.energy.poll()
                self._report(metrics, norm)
                verdict = self._agree(stop())
                regular = self.step % self.job.training.checkpoint_interval_steps == 0
                if verdict != GO_ON or regular or self.step == last:
                    self._save()
                if verdict == STOP and self.step < last:
                    self.writer.wait()
                    raise Interrupted(f"stopped as asked; saved after step: {self.step}")
        self.writer.wait()
        if not self.rank.first:
            return {}
        if worse := divergence(self.folder):
            log(f"warning: {worse}")
        return self._facts()

    def update(self, update: Update) -> float:
        """One update on all ranks; the norm of its gradient."""
        self.step += 1
        tokens = update.counts.tgt_tokens
        for number, (batch, counts) in enumerate(update.batches):
            _seed(self.job.seed, self.step, self.rank.rank, number, device=self.rank.device)
            last = number == len(update.batches) - 1
            weight = 1.0 / tokens if counts else 0.0
            self.engine.train_micro_batch(*batch, weight, last=last)
        norm = self.engine.step(
            learning_rate(
                self.step,
                d_model=self.job.model.d_model,
                warmup_steps=self.job.training.warmup_steps,
                scale=self.job.training.learning_rate_scale,
            )
        )
        if not math.isfinite(norm):
            raise FloatingPointError(self._not_finite(norm, update))
        self.epoch, self.index = update.epoch, update.index + 1
        self.counts.add(update.counts)
        self.window.counts.add(update.counts)
        return norm

    def _not_finite(self, norm: float, update: Update) -> str:
        return (
            f"the gradient of step {self.step} is not finite (norm {norm}); pairs of the training "
            f"split in that update: {update.ids.tolist()}; {self._last_checkpoint()}"
        )

    def _last_checkpoint(self) -> str:
        self.writer.wait()  # the newest may still be on its way to the disk
        good = checkpoints.steps_in(self.folder)
        where = checkpoints.folder_of(self.folder, good[-1]) if good else "none"
        return f"last good checkpoint: {where}"

    def _report(self, metrics: Metrics, norm: float) -> None:
        last = self.job.training.max_steps
        dev_due = self.step % self.job.training.dev_interval_steps == 0 or self.step == last
        if not (dev_due or self.step % max(1, last // METRIC_LINES) == 0):
            return
        counts, seconds = self.window.counts, self.window.seconds()
        loss, nll = self._over_ranks(self.trained.take_sums())
        values = {
            "loss": loss / counts.tgt_tokens,
            "perplexity": perplexity(nll, counts.tgt_tokens),
            "learning_rate": self.engine.learning_rate,
            "gradient_norm": norm,
            "src_tokens_per_second": counts.src_tokens / seconds,
            "tgt_tokens_per_second": counts.tgt_tokens / seconds,
            "padding_share": counts.padding_share,
            "epoch": self.epoch,
            "seconds": self.seconds,
        }
        if dev_due:
            self.dev_perplexity = values["dev_perplexity"] = self._dev_perplexity()
        tokens = counts.tgt_tokens
        metrics.write(self.step, last=last, tgt_tokens=tokens, took_seconds=seconds, **values)
        if dev_due and not math.isfinite(self.dev_perplexity):
            raise FloatingPointError(
                f"the dev perplexity of step {self.step} is {self.dev_perplexity}, so the training "
                "diverged; lower training.learning_rate_scale or raise training.warmup_steps; "
                + self._last_checkpoint()
            )
        self.window.restart()

    def _over_ranks(self, sums: tuple[float, ...]) -> tuple[float, ...]:
        if self.rank.world_size == 1:
            return sums
        together = torch.tensor(sums, dtype=torch.float64, device=self.rank.device)
        dist.all_reduce(together)
        return tuple(together.tolist())

    def _dev_perplexity(self) -> float:
        src, tgt = self.dev_lengths
        most = max(self.job.max_tokens, int(src.max()), int(tgt.max()))
        parts = length_batches(src, tgt, max_tokens=most)
        mine = parts[self.rank.rank :: self.rank.world_size]
        with torch.autocast(
            self.rank.device.type,
            dtype=torch.bfloat16,
            enabled=self.precision == "bf16",
        ):
            batches = (read_batch(self.dev, ids, self.rank.device) for ids in mine)
            nll = sequence_nll(self.model, batches)
        (nll,) = self._over_ranks((nll,))
        return perplexity(nll, int(tgt.sum()))

    def _agree(self, stop: bool) -> int:
        """The same verdict on every rank: go on, save for safety, or save and stop."""
        due = time.monotonic() - self.saved_at > 60 * self.job.safety_minutes
        verdict = STOP if stop else SAVE if due and self.rank.first else GO_ON
        if self.rank.world_size == 1:
            return verdict
        said = torch.tensor([verdict], device=self.rank.device)
        dist.all_reduce(said, op=dist.ReduceOp.MAX)
        return int(said.item())

    def _save(self) -> None:
        self.saved_at = time.monotonic()
        state = {
            "format": 1,
            "step": self.step,
            "epoch": self.epoch,
            "index": self.index,
            "seconds": self.seconds,
            "energy_joules": self.energy.total(self._over_ranks),
            "counts": asdict(self.counts),
            "dev_perplexity": self.dev_perplexity,
            "precision": self.precision,
            "sections": self.sections,
            "shards": 1 if self.job.zero_stage == 0 else self.rank.world_size,
        }
        weights = None
        if self.rank.first:
            weights = {
                name: t.detach().cpu().clone() for name, t in self.model.state_dict().items()
            }

        def prune() -> None:
            checkpoints.prune(
                self.folder,
                interval=self.job.training.checkpoint_interval_steps,
                last=self.job.training.max_steps,
                keep=self.job.keep,
            )

        self.writer.write(state, weights, self.engine.moments(), then=prune)

    def _facts(self) -> dict[str, Any]:
        regular = checkpoints.regular_steps(
            self.folder,
            interval=self.job.training.checkpoint_interval_steps,
            last=self.job.training.max_steps,
        )
        kept = {
            step: checkpoints.folder_of(self.folder, step) for step in regular[-self.job.keep :]
        }
        return {
            "vocab_size": self.vocab_size,
            "max_steps": self.step,
            "checkpoints": [
                {
                    "step": step,
                    "path": f"{path.name}/{checkpoints.WEIGHTS}",
                    "sha256": sha256_of(path / checkpoints.WEIGHTS),
                }
                for step, path in kept.items()
            ],
            "elapsed_seconds": self.seconds,
            **self.energy.facts(),
            **asdict(self.counts),
            "padding_share": self.counts.padding_share,
            "skipped_pairs": self.skipped,
            "epochs": self.epoch + 1,
            "n_parameters": sum(p.numel() for p in self.model.parameters()),
            "precision": self.precision,
            "device": device_name(self.rank.device),
            "device_class": device_class(self.rank),
            "ranks": self.rank.world_size,
            "peak_memory_bytes": peak_memory_bytes(self.rank.device),
            "dev_perplexity": self.dev_perplexity,
        }


def peak_memory_bytes(device: torch.device) -> int:
    """Most memory this process has held: of the GPU, or resident on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return peak_resident_bytes()


def _seed(*parts: int, device: torch.device) -> None:
    """Dropout is a function of (seed, step, rank, micro-batch): nothing to save, nothing to lose
    when training goes on elsewhere."""
    seed = int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> 1)
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)  # torch.manual_seed takes 20 times as long
    else:
        torch.manual_seed(seed)


def _out_of_memory(job: Job) -> str:
    return (
        "out of memory; lower max_tokens, the padded tokens of a micro-batch (the update stays "
        f"the same, in more pieces): {job.max_tokens}"
    )
