"""Lines in, lines out: right count and order for whatever text comes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.inference.attention_maps import encoder_attention
from pipeline.inference.processes import TranslatorPool
from pipeline.inference.translator import BLANK, Translator

WORDS = [
    "the", "red", "fox", "saw", "a", "big", "dog", "ran", "to", "house", "and", "small",
]  # fmt: skip


@pytest.fixture(scope="module")
def translator(toy_folder):
    return Translator(toy_folder, device="cpu")


@pytest.fixture(scope="module")
def greedy(toy_folder):
    return toy_folder.decoding.model_copy(update={"beam_size": 1, "max_extra_tokens": 2})


def texts(results):
    return [outputs[0].text for outputs in results]


odd = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)
plain = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@settings(max_examples=20, deadline=None)
@given(st.lists(odd | plain | st.just("") | st.just(" \t "), max_size=8), st.integers(1, 400))
def test_count_order_and_content_whatever_the_lines(translator, greedy, lines, max_tokens):
    together = translator.run(lines, decoding=greedy, max_tokens=max_tokens)
    assert len(together) == len(lines)
    for line, (output,) in zip(lines, together, strict=True):
        if not line.strip():
            assert output is BLANK
            continue
        (alone,) = translator.run([line], decoding=greedy, max_tokens=1)[0]
        assert output.log_prob == pytest.approx(alone.log_prob, abs=1e-3)
        assert not set(output.text) & {"\n", "\u2581", "\u2047"}


def test_batch_size_changes_nothing_but_float_noise(translator, toy_folder):
    generator = np.random.default_rng(0)
    lines = [" ".join(generator.choice(WORDS, n)) for n in generator.integers(1, 5, 40)]
    results = [
        translator.run(lines, decoding=toy_folder.decoding, max_tokens=n) for n in (1, 60, 10**6)
    ]
    scores = np.array([[outputs[0].score for outputs in result] for result in results])
    assert np.abs(scores - scores[0]).max() < 1e-4
    same = np.mean(np.array(texts(results[0])) == np.array(texts(results[2])))
    assert same > 0.95, same


def test_a_line_of_a_thousand_tokens(translator, greedy):
    long = " ".join(["dog"] * 1000)
    decoding = greedy.model_copy(update={"max_extra_tokens": 0})
    first, second = translator.run(["fox", long], decoding=decoding, max_tokens=100)
    assert first[0].n_tokens <= 2
    assert second[0].n_tokens <= 1001


def test_ten_thousand_lines(translator, greedy):
    generator = np.random.default_rng(1)
    kinds = ["", *WORDS]
    lines = [kinds[i] for i in generator.integers(0, len(kinds), 10_000)]
    decoding = greedy.model_copy(update={"max_extra_tokens": 0})
    results = translator.run(lines, decoding=decoding, max_tokens=2000)
    expected = dict(
        zip(kinds, texts(translator.run(kinds, decoding=decoding, max_tokens=1)), strict=True)
    )
    wrong = [
        line for line, text in zip(lines, texts(results), strict=True) if text != expected[line]
    ]
    assert len(wrong) < 100  # near ties may fall differently in another batch


def test_n_best_comes_best_first(translator, toy_folder):
    (outputs,) = translator.run(
        ["the big dog"], decoding=toy_folder.decoding, max_tokens=1000, n_best=3
    )
    scores = [output.score for output in outputs]
    assert len(outputs) == 3
    assert scores == sorted(scores, reverse=True)
    assert len({output.text for output in outputs}) == 3


def test_constrained_is_for_parsers(translator, toy_folder):
    decoding = toy_folder.decoding.model_copy(update={"constrained": True})
    with pytest.raises(ValueError, match="parsing"):
        translator.run(["a"], decoding=decoding, max_tokens=100)


def test_another_vocabulary_is_named(toy_folder):
    from dataclasses import replace

    with pytest.raises(ValueError, match="vocabulary of 299"):
        Translator(replace(toy_folder, vocab_size=299), device="cpu")


def test_threads_change_nothing_but_float_noise(translator, toy_folder):
    import torch

    lines = ["the red fox", "a dog", "big house small fox saw a dog", "a"] * 5
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            results.append(translator.run(lines, decoding=toy_folder.decoding, max_tokens=200))
    finally:
        torch.set_num_threads(threads)
    for found in results[1:]:
        assert texts(found) == texts(results[0])
        for (mine,), (other,) in zip(found, results[0], strict=True):
            assert mine.score == pytest.approx(other.score, abs=1e-4)


def test_processes_give_what_one_process_gives(translator, toy_folder):
    lines = ["the red fox", "", "a dog", "big house", "small fox saw a dog", "a"]
    how = {"decoding": toy_folder.decoding, "max_tokens": 30}
    expected = dict(translator.run_batches(lines, **how))
    with TranslatorPool(toy_folder, device="cpu", processes=2) as pool:
        found = dict(pool.run_batches(lines, **how))
    assert found.keys() == expected.keys()
    for index, (output,) in found.items():
        assert output.score == pytest.approx(expected[index][0].score, abs=1e-4)


def test_attention_of_a_layer(translator):
    import torch

    source = torch.tensor([280, 279, 277, 2])
    for layer in (1, 2):
        weights = encoder_attention(translator.network, source, layer=layer)
        assert weights.shape == (2, 4, 4)
        assert torch.allclose(weights.sum(-1), torch.ones(2, 4))
    with pytest.raises(ValueError, match="layer"):
        encoder_attention(translator.network, source, layer=3)
