"""Beam search beside CTranslate2, Hugging Face's generate and a plain loop: tokens a second.

    python -m bench.decoding --output results/bench/decoding.json
    python -m bench.decoding --isa avx2 --output results/bench/decoding_avx2.json

The base model with random weights, 37,000 pieces, beam 4, sentences of the lengths of news text;
each output has exactly the length that its batch prescribes, the same for all engines. Every run
is a process of its own (or two at once, which share the sentences), starts its clock when all of
its processes have loaded and warmed up, and stops it when the last is done. Engines alternate;
ratios are taken within a round, and their median counts. --isa holds every engine to a lesser class
of processor than this one, as each of their libraries is told.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bench.classes import CLASSES
from pipeline.memory import peak_resident_bytes

VOCAB, BEAM, BATCH = 37_000, 4, 32
ENGINES = {
    "ours_fp32": ("ours", "fp32"),
    "ours_bf16": ("ours", "bf16"),
    "ours_int8": ("ours", "int8"),
    "ctranslate2_fp32": ("ctranslate2", "float32"),
    "ctranslate2_int8": ("ctranslate2", "int8"),
    "transformers_fp32": ("transformers", "float32"),
    "plain_loop_fp32": ("plain", "fp32"),
}
SLOW = {"transformers_fp32": 6, "plain_loop_fp32": 32}  # measured on so many times fewer sentences


def batches(sentences: int) -> list[tuple[list[list[int]], int]]:
    """(source ids without eos, output length with eos), of like length, the longest first."""
    draw = np.random.default_rng(7)
    lengths = np.sort(np.clip(draw.lognormal(3.16, 0.55, sentences).round(), 3, 90).astype(int))
    groups = [lengths[::-1][i : i + BATCH] for i in range(0, sentences, BATCH)]
    return [
        ([draw.integers(4, VOCAB, n).tolist() for n in group], round(group.mean() * 28 / 27) + 1)
        for group in groups
    ]


def base_model():
    import torch

    from pipeline.config.schema import ModelConfig
    from pipeline.model.transformer import Transformer

    config = ModelConfig(
        n_layers=6, d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64, dropout=0.1,
        attention_dropout=0.0, positions="sinusoidal", max_positions=1024, causal=True,
    )  # fmt: skip
    torch.manual_seed(0)
    return Transformer(config, vocab_size=VOCAB, pad_id=0).eval().requires_grad_(False)


def load_ours(precision: str, threads: int, _: Path):
    import torch

    from pipeline.inference.beam import beam_search
    from pipeline.inference.network import Network

    torch.set_num_threads(threads)
    network = Network(base_model(), precision=precision)

    def translate(sources, length):
        found = beam_search(
            network, [torch.tensor([*s, 2]) for s in sources], beam_size=BEAM, length_penalty=0.6,
            max_extra_tokens=0, max_lengths=[length] * len(sources),
            min_lengths=[length] * len(sources),
        )  # fmt: skip
        return sum(len(h[0].tokens) + 1 for h in found)

    return translate


def load_plain(_: str, threads: int, __: Path):
    """Beam search as a tutorial has it: the whole decoder again for each token, no cache."""
    import torch

    torch.set_num_threads(threads)
    model = base_model()

    @torch.inference_mode()
    def translate(sources, length):
        for source in sources:
            src = torch.tensor([[*source, 2]])
            tokens, scores = torch.ones(1, 1, dtype=torch.int64), torch.zeros(1)
            for _ in range(length):
                states = model(src.expand(len(tokens), -1), tokens)
                last = states.view(*tokens.shape, -1)[:, -1]
                total = scores[:, None] + model.logits(last).log_softmax(-1)
                scores, flat = total.flatten().topk(BEAM)
                tokens = torch.cat([tokens[flat // VOCAB], (flat % VOCAB)[:, None]], dim=1)
        return length * len(sources)

    return translate


def load_ctranslate2(compute_type: str, threads: int, folder: Path):
    import ctranslate2

    translator = ctranslate2.Translator(
        str(folder), intra_threads=threads, inter_threads=1, compute_type=compute_type
    )

    def translate(sources, length):
        found = translator.translate_batch(
            [[f"p{i}" for i in source] for source in sources], beam_size=BEAM, length_penalty=0.6,
            min_decoding_length=length - 1, max_decoding_length=length - 1, max_batch_size=0,
        )  # fmt: skip
        return sum(len(result.hypotheses[0]) + 1 for result in found)

    return translate


def load_transformers(_: str, threads: int, __: Path):
    import torch
    from transformers import MarianConfig, MarianMTModel

    from pipeline.inference.export import marian_config, marian_weights

    torch.set_num_threads(threads)
    ours = base_model()
    model = MarianMTModel(MarianConfig(**marian_config(ours.config, vocab_size=VOCAB))).eval()
    model.load_state_dict(marian_weights(ours), strict=False)
    model.tie_weights()

    def translate(sources, length):
        longest = max(map(len, sources)) + 1
        ids = torch.tensor([[*s, 2, *[0] * (longest - len(s) - 1)] for s in sources])
        found = model.generate(
            input_ids=ids, attention_mask=(ids != 0).long(), num_beams=BEAM, length_penalty=0.6,
            min_new_tokens=length, max_new_tokens=length,
        )  # fmt: skip
        return found[:, 1:].numel()

    return translate


LOADERS = {
    "ours": load_ours,
    "plain": load_plain,
    "ctranslate2": load_ctranslate2,
    "transformers": load_transformers,
}


def work(options: argparse.Namespace) -> None:
    """One process of a run: load, warm up, wait for the word, translate its share, report."""
    kind, precision = ENGINES[options.engine]
    share = batches(options.sentences)[options.part :: options.parts]
    translate = LOADERS[kind](precision, options.threads, options.folder)
    translate([[5, 6, 7]] * 2, 4)
    print("ready", flush=True)
    sys.stdin.readline()
    cpu, start = time.process_time(), time.perf_counter()
    tokens = sum(translate(sources, length) for sources, length in share)
    report = {
        "tokens": tokens,
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": peak_resident_bytes(),
    }
    print(json.dumps(report), flush=True)


def run(engine: str, *, processes: int, threads: int, sentences: int, folder: Path) -> dict:
    """All processes of one run."""
    paths = [str(Path.cwd()), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(paths),
    }  # fmt: skip
    workers = [
        subprocess.Popen(
            [
                sys.executable, "-m", "bench.decoding", "--engine", engine, "--part", str(part),
                "--parts", str(processes), "--threads", str(threads), "--sentences", str(sentences),
                "--folder", str(folder),
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        for part in range(processes)
    ]  # fmt: skip
    for worker in workers:
        while line := worker.stdout.readline():
            if line == "ready\n":
                break
        else:
            raise RuntimeError(f"{engine} ended before it was ready")
    start = time.perf_counter()
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    reports = [json.loads(worker.communicate()[0]) for worker in workers]
    seconds = time.perf_counter() - start
    tokens = sum(report["tokens"] for report in reports)
    return {
        "tokens": tokens,
        "tokens_per_second": tokens / seconds,
        "cpu_seconds": sum(report["cpu_seconds"] for report in reports),
        "peak_bytes": sum(report["peak_bytes"] for report in reports),
    }


def product_rates(engines: Iterable[str]) -> dict[str, float]:
    """FLOP/s of one thread at the narrow products of decoding, FLOP-weighted: the floor."""
    import torch

    from pipeline.inference.precision import decoding_gflops

    torch.set_num_threads(1)
    config = base_model().config
    return {
        precision: 1e9
        * decoding_gflops(config, precision=precision, vocab_size=VOCAB, beam_size=BEAM)
        for kind, precision in (ENGINES[engine] for engine in engines)
        if kind == "ours"
    }


def flops_a_token(sentences: int) -> float:
    """Matrix products of decoder, logits and encoder for one output token, all beams."""
    d, ff, layers = 512, 2048, 6
    shape = batches(sentences)
    src = sum(len(source) + 1 for sources, _ in shape for source in sources)
    tgt = sum(length * len(sources) for sources, length in shape)
    decoder = BEAM * (layers * (6 * d * d + 2 * d * ff) + VOCAB * d)
    encoder = layers * (4 * d * d + 2 * d * ff + 2 * d * d) * src / tgt
    return 2.0 * (decoder + encoder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("results/bench/decoding.json"))
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", nargs="*", choices=list(ENGINES))
    parser.add_argument("--isa", default="native", choices=list(CLASSES), help="class to hold to")
    parser.add_argument("--folder", type=Path, default=Path("results/bench/ctranslate2"))
    for name in ("part", "parts", "threads"):
        parser.add_argument(f"--{name}", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        work(options)
        return

    os.environ.update(CLASSES[options.isa])  # before torch is imported, here and in each run
    from pipeline.files import commit, write_json
    from pipeline.inference.export import ctranslate2_spec
    from pipeline.inference.processes import usable_cores
    from pipeline.model.rates import native_bf16, processor_class

    cores = usable_cores()
    slow = set() if native_bf16("cpu") else {"ours_bf16"}  # a tenth of the others' rate
    options.engines = options.engines or [engine for engine in ENGINES if engine not in slow]
    if any(engine.startswith("ctranslate2") for engine in options.engines):
        options.folder.mkdir(parents=True, exist_ok=True)
        special = ["<pad>", "<s>", "</s>", "<unk>"]
        pieces = special + [f"p{i}" for i in range(len(special), VOCAB)]
        ctranslate2_spec(base_model(), pieces).save(str(options.folder))
    arrangements = {f"{cores}x1": (cores, 1), f"1x{cores}": (1, cores)}
    runs: dict[str, dict[str, list[dict]]] = {
        engine: {name: [] for name in arrangements} for engine in options.engines
    }
    for number in range(options.rounds):
        for engine in options.engines:
            for name, (processes, threads) in arrangements.items():
                sentences = max(1, options.sentences // SLOW.get(engine, 1))
                result = run(
                    engine, processes=processes, threads=threads, sentences=sentences,
                    folder=options.folder,
                )  # fmt: skip
                runs[engine][name].append(result)
                rate = result["tokens_per_second"]
                print(f"round {number + 1}, {engine}, {name}: {rate:.0f}", file=sys.stderr)
    about = {"commit": commit(), "processor_class": processor_class()}
    write_json(options.output, {**about, **summary(runs, options.sentences, cores=cores)})


def summary(runs: dict, sentences: int, *, cores: int) -> dict:
    """Medians of each engine's best arrangement, ratios within rounds, shares of the floor."""
    rates = {
        engine: {
            name: [run["tokens_per_second"] for run in rounds] for name, rounds in by_name.items()
        }
        for engine, by_name in runs.items()
    }
    best = {
        engine: max(by_name, key=lambda name, by_name=by_name: statistics.median(by_name[name]))
        for engine, by_name in rates.items()
    }
    rounds = {engine: rates[engine][best[engine]] for engine in rates}

    of_cpu = {
        engine: [run["tokens"] / run["cpu_seconds"] for run in runs[engine][best[engine]]]
        for engine in rates
    }

    def ratio(ours: str, theirs: str, rounds: dict[str, list[float]] = rounds) -> float | None:
        if ours not in rounds or theirs not in rounds:
            return None
        return statistics.median(a / b for a, b in zip(rounds[ours], rounds[theirs], strict=True))

    fast = max(
        (engine for engine in ("ours_bf16", "ours_int8") if engine in rounds),
        key=lambda engine: statistics.median(rounds[engine]),
        default="ours_int8",
    )
    floor = product_rates(rounds)
    flops = flops_a_token(sentences)
    return {
        "ratio": {
            "fp32_to_ctranslate2_fp32": ratio("ours_fp32", "ctranslate2_fp32"),
            "fast_to_ctranslate2_int8": ratio(fast, "ctranslate2_int8"),
            "fp32_to_transformers": ratio("ours_fp32", "transformers_fp32"),
        },
        "ratio_of_cpu_seconds": {  # says more where other work runs beside
            "fp32_to_ctranslate2_fp32": ratio("ours_fp32", "ctranslate2_fp32", of_cpu),
            "fast_to_ctranslate2_int8": ratio(fast, "ctranslate2_int8", of_cpu),
            "fp32_to_transformers": ratio("ours_fp32", "transformers_fp32", of_cpu),
        },
        "fast": fast,
        "tokens_per_second": {e: statistics.median(r) for e, r in rounds.items()},
        "tokens_per_cpu_second": {e: statistics.median(r) for e, r in of_cpu.items()},
        "arrangement": best,
        "flops_per_token": flops,
        "product_flops_per_second_of_a_thread": floor,
        "share_of_floor": {
            engine: statistics.median(values) * flops / (cores * floor[ENGINES[engine][1]])
            for engine, values in rounds.items()
            if engine.startswith("ours")
        },
        "sentences": sentences,
        "cores": cores,
        "runs": runs,
    }


if __name__ == "__main__":
    main()
