"""A made-up demo scale: every manifest that tables, figures and the report read."""

import json
import math
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "config" / "paper"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
VARIATIONS = (
    "a_h1",
    "a_h4",
    "a_h16",
    "a_h32",
    "b_dk16",
    "b_dk32",
    "c_n2",
    "c_n4",
    "c_n8",
    "c_d256",
    "c_d1024",
    "c_ff1024",
    "c_ff4096",
    "d_dropout0",
    "d_dropout2",
    "d_smoothing0",
    "d_smoothing2",
    "e_learned",
)
MODEL = {
    "n_layers": 3,
    "d_model": 128,
    "d_ff": 512,
    "n_heads": 8,
    "d_k": 16,
    "d_v": 16,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "positions": "sinusoidal",
    "max_positions": 256,
    "causal": True,
}
TRAINING = {
    "max_steps": 300,
    "warmup_steps": 80,
    "learning_rate_scale": 1.0,
    "adam_betas": [0.9, 0.98],
    "adam_eps": 1e-9,
    "label_smoothing": 0.1,
    "tokens_per_step": 2500,
    "precision": "fp32",
    "clip_norm": None,
    "checkpoint_interval_steps": 50,
    "dev_interval_steps": 50,
}
SIGNATURES = {
    "tokenized_bleu": "nrefs:1|case:mixed|eff:no|tok:moses|split:hyphens|version:2.6.0",
    "sacrebleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
    "chrf": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
}


def write(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


class DemoScale:
    """Writes manifests below `folder` and remembers their paths by kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trains: list[Path] = []
        self.scores: list[Path] = []
        self.perplexities: list[Path] = []
        self.decodes: list[Path] = []

    def train(self, experiment: str, seed: int = 1, *, corpus: str = "grammar_ende", **facts):
        """train.json and the metrics of its checkpoint folder."""
        run = f"{experiment}-seed{seed}"
        folder = self.folder / "checkpoints" / f"{experiment}{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        noise = random.Random(run)
        lines = []
        for step in range(10, 301, 10):
            line = {
                "step": step,
                "loss": 1.2 + 6 * math.exp(-step / 70) + noise.uniform(-0.1, 0.1),
                "learning_rate": 128**-0.5 * min(step**-0.5, step * 80**-1.5),
                "gradient_norm": 1.0 + noise.random(),
                "tgt_tokens_per_second": 9000 + noise.uniform(-800, 800),
                "padding_share": 0.03 + noise.uniform(0, 0.02),
                "seconds": step * 0.4,
            }
            if step % 50 == 0:
                line["dev_perplexity"] = 1.1 + 40 * math.exp(-step / 45)
            lines.append(json.dumps(line))
        (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
        manifest = {
            "step": "train",
            "commit": COMMIT,
            "fingerprint": f"{experiment}{seed}".ljust(16, "0"),
            "folder": str(folder),
            "run": run,
            "experiment": experiment,
            "scale": "demo",
            "seed": seed,
            "corpus": corpus,
            "max_steps": 300,
            "checkpoints": [],
            "model": MODEL,
            "training": TRAINING,
            "vocab_size": 1000,
            "n_parameters": 1_234_567,
            "elapsed_seconds": 120.0,
            "src_tokens": 700_000,
            "tgt_tokens": 750_000,
            "sum_src_squared": 9_000_000,
            "sum_tgt_squared": 10_000_000,
            "sum_src_tgt": 9_500_000,
            "padding_share": 0.04,
            "counted_flops": 3.4e15,
            "device": "cpu",
            "ranks": 1,
            "peak_memory_bytes": 700_000_000,
            "dev_perplexity": 1.2,
            **facts,
        }
        self.trains.append(write(self.folder / "runs" / run / "train.json", manifest))

    def score(
        self, experiment: str, seed: int = 1, *, split: str = "test", bleu: float = 85.0, **facts
    ):
        run = f"{experiment}-seed{seed}"
        averaged = 1 if split == "dev" else 5
        facts = {"languages": "en-fr" if experiment.startswith("enfr") else "en-de", **facts}
        entries = {
            name: {
                "score": value,
                "signature": SIGNATURES[name],
                "interval": [value - 1, value + 1],
            }
            for name, value in (("tokenized_bleu", bleu), ("sacrebleu", bleu - 0.4), ("chrf", 90.0))
        }
        self._scores(experiment, seed, split, averaged, run, "translation", entries, facts)

    def statistics(self, experiment: str, seed: int = 1, *, split: str = "test", loss: float):
        """Sentence counts beside scores.json, as the score step writes them; less with `loss`."""
        draw = np.random.default_rng(7)  # of the references: the same for all runs
        length = draw.integers(5, 30, 400)
        own = np.random.default_rng(sum(map(ord, f"{experiment}{seed}{split}")))
        correct = [own.binomial(np.maximum(length - n, 0), 0.8 - loss) for n in range(4)]
        total = [np.maximum(length - n, 0) for n in range(4)]
        averaged = 1 if split == "dev" else 5
        folder = self.folder / "runs" / f"{experiment}-seed{seed}" / f"average{averaged}" / split
        counts = np.stack([length, length, *correct, *total], axis=1)
        trees = np.stack([correct[0], length, length], axis=1)
        np.savez(folder / "statistics.npz", tokenized_bleu=counts, bracket_f1=trees)
        return counts

    def score_trees(self, experiment: str, seed: int = 1, *, f1: float = 93.0, **facts):
        entry = {
            "score": f1,
            "recall": f1 - 0.5,
            "precision": f1 + 0.5,
            "interval": [f1 - 0.8, f1 + 0.8],
            "signature": "labelled|evalb|no punctuation",
        }
        run = f"{experiment}-seed{seed}"
        entries = {"bracket_f1": entry, "bracket_f1_all_lines": {**entry, "score": f1 - 0.1}}
        self._scores(experiment, seed, "test", 5, run, "parsing", entries, facts)

    def texts(self, corpus: str, languages: str, *, lines: int = 60) -> None:
        """Test text of a corpus: made-up words, source and target alike."""
        noise = random.Random(corpus)
        words = ["the", "old", "dog", "sees", "house", "which", "sleeps", "often", "girl", "small"]
        texts = [
            " ".join(noise.choices(words, k=noise.randint(4, 25))) + " ." for _ in range(lines)
        ]
        for side in languages.split("-"):
            path = self.folder / "corpora" / corpus / "text" / f"test.{side}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{text}\n" for text in texts))

    def hypotheses(self, experiment: str, corpus: str, language: str, seed: int = 1) -> None:
        """The references with some words lost, beside the scores."""
        noise = random.Random(experiment)
        references = (self.folder / "corpora" / corpus / "text" / f"test.{language}").read_text()
        kept = [
            " ".join(word for word in line.split(" ") if noise.random() > 0.04)
            for line in references.split("\n")[:-1]
        ]
        folder = self.folder / "runs" / f"{experiment}-seed{seed}" / "average5" / "test"
        (folder / "hypotheses.txt").write_text("".join(f"{line}\n" for line in kept))

    def trees(self, corpus: str, experiments: tuple[str, ...]) -> None:
        """Gold trees of a corpus, and parses of which every third has another label."""
        noise = random.Random(corpus)
        gold = []
        for _ in range(30):
            noun, verb = noise.choice(["dog", "girl"]), noise.choice(["sees", "hears"])
            subject = f"(NP (DT the) (NN {noun}))"
            gold.append(f"(S {subject} (VP (VBZ {verb}) (NP (DT a) (JJ old) (NN house))) (. .))")
        path = self.folder / "corpora" / corpus / "text" / "test.trees"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in gold))
        for experiment in experiments:
            folder = self.folder / "runs" / f"{experiment}-seed1" / "average5" / "test"
            parses = (t if i % 3 else t.replace("(VP", "(PP") for i, t in enumerate(gold))
            (folder / "hypotheses.txt").write_text("".join(f"{line}\n" for line in parses))

    def card(self, corpus: str) -> Path:
        """card.md with a table, an image that is there, one that is not, and links."""
        folder = self.folder / "corpora" / corpus
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lengths.svg").write_text(
            '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="40">'
            '<rect width="200" height="40" fill="#0072B2"/></svg>'
        )
        path = folder / "card.md"
        path.write_text(
            f"# Corpus {corpus}\n\nSee [the code](../x.py) and [home](https://example.org/).\n\n"
            "| split | pairs |\n|---|---|\n| train | 4,000 |\n| test <b> | 400 |\n\n"
            "## Lengths\n\n![lengths](lengths.svg)\n\n![gone](gone.svg)\n"
        )
        return path

    def attention(self, n_heads: int = 8) -> Path:
        """A map of made-up heads, each with its own favourite offset."""
        pieces = "▁the ▁law ▁will ▁never ▁be ▁per fect , ▁but ▁its ▁appli cation ▁is ▁just . </s>"
        names = pieces.split()
        heads = []
        for head in range(n_heads):
            rows = []
            for query in range(len(names)):
                favourite = (query + 3 * head) % len(names)
                raw = [math.exp(-abs(key - favourite)) for key in range(len(names))]
                rows.append([value / sum(raw) for value in raw])
            heads.append(rows)
        data = {"layer": 2, "heads": heads, "pieces": names, "name": "attention_1"}
        return write(self.folder / "attention" / "attention_1.json", data)

    def _scores(self, experiment, seed, split, averaged, run, kind, entries, facts):
        manifest = {
            "step": "score",
            "kind": kind,
            "split": split,
            "test_set": f"grammar {split}",
            "lines": 400,
            "reference_sha256": "ab" * 32,
            "run": run,
            "experiment": experiment,
            "scale": "demo",
            "seed": seed,
            "n_average": averaged,
            "checkpoint_steps": [100, 150, 200, 250, 300][-averaged:],
            "commit": COMMIT,
            "scores": entries,
            "warnings": [],
            **facts,
        }
        path = self.folder / "runs" / run / f"average{averaged}" / split / "scores.json"
        self.scores.append(write(path, manifest))

    def perplexity(self, experiment: str, seed: int = 1, *, value: float = 1.25, **facts):
        run = f"{experiment}-seed{seed}"
        manifest = {
            "step": "perplexity",
            "run": run,
            "experiment": experiment,
            "scale": "demo",
            "seed": seed,
            "n_average": 1,
            "split": "dev",
            "test_set": "grammar dev",
            "perplexity": value,
            "nll": math.log(value),
            "tgt_tokens": 5000,
            "commit": COMMIT,
            **facts,
        }
        path = self.folder / "runs" / run / "average1" / "dev" / "perplexity.json"
        self.perplexities.append(write(path, manifest))

    def arguments(self, table: str, output: Path) -> list[str]:
        """The command line of a table step for everything written so far."""
        lists = {"runs": self.trains, "scores": self.scores, "perplexities": self.perplexities}
        given = [text for name, paths in lists.items() for text in (f"--{name}", *map(str, paths))]
        fixed = [
            "--devices",
            str(ROOT / "config" / "devices.yaml"),
            "--paper",
            str(PAPER / f"{table}.yaml"),
            "--scale",
            "demo",
            "--output",
            str(output),
        ]
        return [*given, *fixed]

    def everything(self) -> "DemoScale":
        """All rows of Tables 2-4, with one of Table 3 undertrained."""
        for number, experiment in enumerate(("ende_base", "ende_big", "enfr_base", "enfr_big")):
            self.train(experiment, corpus=f"grammar_{experiment[:4]}")
            self.score(experiment, bleu=84.0 + number)
            corpus, language = f"grammar_{experiment[:4]}", experiment[2:4]
            self.texts(corpus, f"en-{language}")
            self.hypotheses(experiment, corpus, language)
        for number, name in enumerate(
            ("ende_base", "ende_big", *(f"table3_{v}" for v in VARIATIONS))
        ):
            if name.startswith("table3"):
                self.train(name, n_parameters=900_000 + 20_000 * number)
            self.score(name, split="dev", bleu=41.0 if "dk16" in name else 86.0 - number / 3)
            self.perplexity(name, value=1.2 + number / 50)
        for name in ("parsing_wsj", "parsing_semi"):
            self.train(name, corpus="grammar_trees")
            self.score_trees(name)
        self.trees("grammar_trees", ("parsing_wsj", "parsing_semi"))
        return self


@pytest.fixture
def demo_scale(tmp_path) -> DemoScale:
    return DemoScale(tmp_path / "results" / "demo")


@pytest.fixture
def paths() -> SimpleNamespace:
    return SimpleNamespace(root=ROOT, paper=PAPER, model=MODEL, training=TRAINING)
