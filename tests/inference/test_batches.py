import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.schema import ModelConfig
from pipeline.inference.batches import by_length, most_bytes


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 900), st.integers(1, 5))
def test_each_sentence_once_within_the_budget_longest_first(lengths, max_tokens, per_sentence):
    batches = by_length(lengths, max_tokens=max_tokens, per_sentence=per_sentence)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    in_order = [lengths[i] for batch in batches for i in batch]
    assert in_order == sorted(lengths, reverse=True)
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) == 1 or longest * len(batch) * per_sentence <= max_tokens


PEAK = """
import torch
from pipeline.config.schema import ModelConfig
from pipeline.inference.batches import most_bytes
from pipeline.inference.beam import beam_search
from pipeline.inference.network import Network
from pipeline.memory import peak_resident_bytes
from pipeline.model.transformer import Transformer
torch.set_num_threads(1)
config = ModelConfig(
    n_layers=2, d_model=128, d_ff=512, n_heads=4, d_k=32, d_v=32, dropout=0.0,
    attention_dropout=0.0, positions="sinusoidal", max_positions=8, causal=True,
)
network = Network(Transformer(config, vocab_size=VOCABULARY, pad_id=0), precision="fp32")
def search(n_sentences, longest):
    sources = [torch.randint(4, VOCABULARY, (longest,)) for _ in range(n_sentences)]
    found = beam_search(
        network, sources, beam_size=4, length_penalty=0.6, max_extra_tokens=EXTRA,
        min_lengths=[longest + EXTRA] * n_sentences,
    )
    assert len(found[0][0].tokens) + 1 >= longest + EXTRA
    return peak_resident_bytes()
before = search(1, 2)
peak = search(SENTENCES, LONGEST)
print(peak - before, most_bytes(config, n_sentences=SENTENCES, longest=LONGEST,
    vocab_size=VOCABULARY, beam_size=4, max_extra_tokens=EXTRA))
"""


@pytest.mark.parametrize(
    ("n_sentences", "longest", "vocab_size", "extra"),
    [(100, 16, 30_000, 4), (120, 100, 1000, 10), (2, 1500, 100, 2)],
)
def test_memory_of_a_batch_is_bounded_by_what_is_said_before(
    n_sentences, longest, vocab_size, extra
):
    sizes = f"SENTENCES, LONGEST, VOCABULARY, EXTRA = {n_sentences, longest, vocab_size, extra}"
    done = subprocess.run(
        [sys.executable, "-c", f"{sizes}\n{PEAK}"], capture_output=True, text=True, check=True
    )
    grown, bound = map(int, done.stdout.split())
    assert bound / 8 < grown < bound


def test_memory_of_a_batch_is_known():
    config = ModelConfig(
        n_layers=6, d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64, dropout=0.1,
        attention_dropout=0.0, positions="sinusoidal", max_positions=1024, causal=True,
    )  # fmt: skip
    sizes = {"n_sentences": 64, "longest": 32, "vocab_size": 37000, "max_extra_tokens": 50}
    one, four = (most_bytes(config, beam_size=beam, **sizes) for beam in (1, 4))
    assert four > 4 * 64 * 37000 * 4  # the logits alone
    assert one < four < 4 * one < 8e9
