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


def test_memory_of_a_batch_is_known():
    config = ModelConfig(
        n_layers=6, d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64, dropout=0.1,
        attention_dropout=0.0, positions="sinusoidal", max_positions=1024, causal=True,
    )  # fmt: skip
    sizes = {"n_sentences": 64, "longest": 32, "vocab_size": 37000, "max_extra_tokens": 50}
    one, four = (most_bytes(config, beam_size=beam, **sizes) for beam in (1, 4))
    assert four > 4 * 64 * 37000 * 4  # the logits alone
    assert one < four < 4 * one < 8e9
