"""One program of `bench.training` in a process of its own: ours, torch's nn.Transformer, or Hugging
Face's Marian; each trains the same model size on the same pairs and says what it measured."""

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.batching.buckets import bucket_pairs, write_buckets
from pipeline.batching.grids import read_grids
from pipeline.batching.plan import plan_epoch
from pipeline.batching.split import padded_tokens
from pipeline.config.schema import ModelConfig, TrainingConfig
from pipeline.encoded import EOS_ID, PAD_ID, EncodedSplit, token_dtype, write_array
from pipeline.files import write_json
from pipeline.memory import keep_freed_memory, peak_resident_bytes
from pipeline.model.linear import product
from pipeline.model.positions import sinusoids

VOCABULARY, PAIRS, TOKENS, EPS = 37_000, 200_000, 4096, 0.1
SIZES = {
    "base": {"n_layers": 6, "d_model": 512, "d_ff": 2048, "n_heads": 8, "d_k": 64, "d_v": 64},
    "tiny": {"n_layers": 1, "d_model": 32, "d_ff": 64, "n_heads": 2, "d_k": 16, "d_v": 16},
}
ADAM = {"lr": 1e-4, "betas": (0.9, 0.98), "eps": 1e-9, "fused": True}


def newstest_like(pairs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Word-pieces of each side, eos counted, spread as in newstest 2008-2014."""
    rng = np.random.default_rng(seed)
    src = rng.gamma(3.2, 30.3 / 3.2, pairs)
    tgt = src * np.exp(rng.normal(0.06, 0.18, pairs))
    return tuple(np.clip(np.round(x), 2, 250).astype(np.int64) for x in (src, tgt))


def write_corpus(folder: Path, pairs: int) -> EncodedSplit:
    """Zipf-like random tokens of those lengths, encoded and bucketed."""
    rng = np.random.default_rng(1)
    chance = 1.0 / np.arange(1, VOCABULARY - 3)
    for side, lengths in zip(("src", "tgt"), newstest_like(pairs, 0), strict=True):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tokens = rng.choice(VOCABULARY - 4, size=offsets[-1], p=chance / chance.sum()) + 4
        tokens[offsets[1:] - 1] = EOS_ID
        for split in ("train", "dev"):
            path = folder / "encoded" / split
            write_array(path / f"{side}_tokens.npy", tokens.astype(token_dtype(VOCABULARY)))
            write_array(path / f"{side}_offsets.npy", offsets)
    splits = {"train": {}, "dev": {}}
    write_json(folder / "encoded" / "encode.json", {"vocab_size": VOCABULARY, "splits": splits})
    split = EncodedSplit.open(folder / "encoded" / "train")
    write_buckets(folder / "buckets", lambda: [(split.src_lengths(), split.tgt_lengths())])
    return split


def our_batches(split: EncodedSplit) -> Iterator[np.ndarray]:
    buckets = bucket_pairs(split.src_lengths(), split.tgt_lengths())
    plan = plan_epoch(buckets, tokens_per_step=TOKENS, seed=1, epoch=0)
    yield from (plan.update(number) for number in range(len(plan)))


def shuffled_batches(split: EncodedSplit) -> Iterator[np.ndarray]:
    """A tutorial's: pairs at random, as many as hold the tokens on average."""
    size = round(TOKENS / split.tgt_lengths().mean())
    order = np.random.default_rng(1).permutation(len(split))
    yield from (order[i : i + size] for i in range(0, len(order) - size, size))


def grouped_batches(split: EncodedSplit) -> Iterator[np.ndarray]:
    """Hugging Face's LengthGroupedSampler: sorted by source length within 50 batches."""
    size, lengths = round(TOKENS / split.tgt_lengths().mean()), split.src_lengths()
    order = np.random.default_rng(1).permutation(len(split))
    for start in range(0, len(order), 50 * size):
        group = order[start : start + 50 * size]
        group = group[np.argsort(-lengths[group], kind="stable")]
        yield from (group[i : i + size] for i in range(0, len(group) - size, size))


Update = Callable[[np.ndarray], None]


def ours(folder: Path, split: EncodedSplit, size: dict[str, int], precision: str) -> Update:
    from pipeline.training import loop, ranks
    from pipeline.training.feed import Counts
    from pipeline.training.feed import Update as Micro
    from pipeline.training.run import Job

    job = Job(
        encoded=folder / "encoded",
        buckets=folder / "buckets",
        checkpoints=folder,
        model=ModelConfig(
            **size,
            dropout=0.1,
            attention_dropout=0.0,
            positions="sinusoidal",
            max_positions=256,
            causal=True,
        ),
        training=TrainingConfig(
            max_steps=1000,
            warmup_steps=4000,
            learning_rate_scale=1.0,
            adam_betas=ADAM["betas"],
            adam_eps=ADAM["eps"],
            label_smoothing=EPS,
            tokens_per_step=TOKENS,
            precision=precision,
            clip_norm=None,
            checkpoint_interval_steps=1000,
            dev_interval_steps=1000,
        ),
        seed=1,
        max_tokens=4 * TOKENS,
    )
    keep_freed_memory()  # as the step does before it trains
    trainer = loop.Trainer(job, job.sections(), folder, ranks.join("cpu"))

    def update(ids: np.ndarray) -> None:
        tokens = int((split.tgt_offsets[ids + 1] - split.tgt_offsets[ids]).sum())
        batch = [(trainer.feed.batch(ids), True)]
        trainer.update(Micro(0, 0, ids, batch, Counts(tgt_tokens=tokens)))

    return update


class TorchTransformer(nn.Module):
    """torch's own nn.Transformer, post-norm, with the embedding tied three ways."""

    def __init__(self, size: dict[str, int]) -> None:
        super().__init__()
        d = size["d_model"]
        self.embedding = nn.Embedding(VOCABULARY, d, padding_idx=PAD_ID)
        self.register_buffer("table", sinusoids(512, d), persistent=False)
        self.dropout = nn.Dropout(0.1)
        self.body = nn.Transformer(
            d, size["n_heads"], size["n_layers"], size["n_layers"], size["d_ff"], 0.1,
            batch_first=True,
        )  # fmt: skip
        for layer in (*self.body.encoder.layers, *self.body.decoder.layers):
            layer.dropout.p = layer.self_attn.dropout = 0.0  # the paper's places alone
            if hasattr(layer, "multihead_attn"):
                layer.multihead_attn.dropout = 0.0

    def embed(self, ids: Tensor) -> Tensor:
        scaled = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(scaled + self.table[: ids.size(1)])

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        src_padding = torch.zeros(src.shape).masked_fill_(src == PAD_ID, -torch.inf)
        states = self.body(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=causal,
            src_key_padding_mask=src_padding,
            memory_key_padding_mask=src_padding,
            tgt_is_causal=True,
        )
        return F.linear(states, self.embedding.weight)


def marian(size: dict[str, int]) -> nn.Module:
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=size["d_model"],
        encoder_layers=size["n_layers"],
        decoder_layers=size["n_layers"],
        encoder_attention_heads=size["n_heads"],
        decoder_attention_heads=size["n_heads"],
        encoder_ffn_dim=size["d_ff"],
        decoder_ffn_dim=size["d_ff"],
        activation_function="relu",
        dropout=0.1,
        scale_embedding=True,
        pad_token_id=PAD_ID,
        eos_token_id=EOS_ID,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
        max_position_embeddings=512,
        use_cache=False,
        attn_implementation="sdpa",
    )
    return MarianMTModel(config)


def peer(name: str, split: EncodedSplit, size: dict[str, int], precision: str) -> Update:
    model = (TorchTransformer(size) if name == "torch" else marian(size)).train()
    adam = torch.optim.Adam(model.parameters(), **ADAM)

    def update(ids: np.ndarray) -> None:
        grids = read_grids(split, ids)
        src, tgt = torch.from_numpy(grids.src_BS), torch.from_numpy(grids.tgt_BT)
        targets = torch.full_like(tgt, -100)
        targets[tgt != PAD_ID] = torch.from_numpy(grids.targets_N)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            if name == "torch":
                logits = model(src, tgt)
            else:
                logits = model(
                    input_ids=src, attention_mask=(src != PAD_ID).long(), decoder_input_ids=tgt
                ).logits
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=EPS)
        loss.backward()
        adam.step()
        adam.zero_grad()

    return update


def matrix_rate(size: dict[str, int], precision: str) -> float:
    """FLOP/s of plain matrix products at the model's shapes, weighted by their FLOPs.

    The better of torch's own products and of those that training uses.
    """
    return max(_rate(size, precision, multiply) for multiply in (F.linear, product))


def _rate(size: dict[str, int], precision: str, multiply: Callable[..., Tensor]) -> float:
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    d, ff = size["d_model"], size["d_ff"]
    shapes = [(3 * d, d, 12), (d, d, 30), (2 * d, d, 6), (ff, d, 12), (d, ff, 12)]
    flops = seconds = 0.0
    for rows, outputs, inputs, count in [
        *((TOKENS, o, i, n) for o, i, n in shapes),
        (448, VOCABULARY, d, TOKENS / 448),
    ]:
        x, w = torch.randn(rows, inputs, dtype=dtype), torch.randn(outputs, inputs, dtype=dtype)
        multiply(x, w)
        start = time.perf_counter()
        for _ in range(5):
            multiply(x, w)
        seconds += count * (time.perf_counter() - start) / 5
        flops += count * 2 * rows * outputs * inputs
    return flops / seconds


def training_flops(size: dict[str, int], src: np.ndarray, tgt: np.ndarray) -> float:
    """Three times a forward pass, products alone, padding not counted."""
    d, ff, n = size["d_model"], size["d_ff"], size["n_layers"]
    s, t = src.sum(), tgt.sum()
    products = s * (n * (4 * d * d + 2 * d * ff) + n * 2 * d * d)
    products += t * (n * (6 * d * d + 2 * d * ff) + VOCABULARY * d)
    attention = n * d * (4 * (src @ src) + 2 * (tgt @ tgt) + 4 * (src @ tgt))
    return 3.0 * (2 * products + attention)


def main() -> None:
    request: dict[str, Any] = json.loads(sys.argv[1])
    torch.set_num_threads(request["threads"])
    torch.manual_seed(1)
    size, precision, program = SIZES[request["size"]], request["precision"], request["program"]
    if program == "rate":
        print(json.dumps({"flops_per_second": matrix_rate(size, precision)}))
        return
    with tempfile.TemporaryDirectory() as name:
        split = write_corpus(Path(name), request["pairs"])
        if program == "ours":
            update = ours(Path(name), split, size, precision)
        else:
            update = peer(program, split, size, precision)
        own = {"ours": our_batches, "torch": shuffled_batches, "marian": grouped_batches}
        batches = (our_batches if request["batches"] == "same" else own[program])(split)
        src, tgt = (x.astype(np.int64) for x in (split.src_lengths(), split.tgt_lengths()))
        sums = dict.fromkeys(("tgt_tokens", "src_tokens", "cells", "flops"), 0.0)
        for number in range(request["warm_up"] + request["updates"]):
            ids = next(batches)
            if number == request["warm_up"]:
                wall, cpu = time.perf_counter(), time.process_time()
            update(ids)
            if number >= request["warm_up"]:
                sums["src_tokens"] += float(src[ids].sum())
                sums["tgt_tokens"] += float(tgt[ids].sum())
                sums["cells"] += padded_tokens(src[ids], tgt[ids])
                sums["flops"] += training_flops(size, src[ids], tgt[ids])
        seconds = time.perf_counter() - wall
        facts = {
            **request,
            **sums,
            "seconds": seconds,
            "cpu_seconds": time.process_time() - cpu,
            "tgt_tokens_per_second": sums["tgt_tokens"] / seconds,
            "flops_per_second": sums["flops"] / seconds,
            "padding_share": 1 - (sums["src_tokens"] + sums["tgt_tokens"]) / sums["cells"],
            "peak_memory_bytes": peak_resident_bytes(),
        }
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
