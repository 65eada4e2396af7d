"""Copying the source, and the translation of the most similar training sentence."""

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora.baselines import copy_source, nearest_sentence
from pipeline.corpora.grammar import generate_pairs

lines = st.lists(st.text("ab c", max_size=12), min_size=1, max_size=8)


@given(lines=lines)
def test_a_sentence_of_the_training_text_is_its_own_nearest(lines):
    lines = list(dict.fromkeys(line for line in lines if line.split())) or ["a"]
    by_words = {" ".join(line.split()): number for number, line in reversed([*enumerate(lines)])}
    targets = [str(number) for number in range(len(lines))]
    nearest = nearest_sentence(lines, train_sources=lines, train_targets=targets)
    for line, target in zip(lines, nearest, strict=True):
        assert by_words[" ".join(line.split())] <= int(target)
        assert sorted(lines[int(target)].split()) == sorted(line.split())


def test_shared_words_their_rarity_and_length_decide():
    train = ["the cat sleeps .", "the dog sleeps .", "the dog sleeps . and then some more words"]
    targets = ["cat", "dog", "long"]

    def nearest(source: str) -> str:
        return nearest_sentence([source], train_sources=train, train_targets=targets)[0]

    assert nearest("a dog sleeps .") == "dog"
    assert nearest("The CAT sleeps .") == "cat"
    assert nearest("nothing shared") == "cat"  # the first of equals
    assert nearest("") == "cat"


def test_sides_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="2 and 1"):
        nearest_sentence(["a"], train_sources=["a", "b"], train_targets=["x"])


@pytest.mark.parametrize("language", ["de", "fr"])
def test_neither_baseline_solves_the_grammar(language):
    sizes = {"train": 8000, "dev": 250}
    made = generate_pairs(target_language=language, sizes=sizes, seed=1)
    sources, references = (list(side) for side in zip(*made["dev"], strict=True))
    train_sources, train_targets = (list(side) for side in zip(*made["train"], strict=True))
    nearest = nearest_sentence(sources, train_sources=train_sources, train_targets=train_targets)
    assert len(nearest) == len(sources)
    assert sacrebleu.corpus_bleu(copy_source(sources), [references]).score < 2
    assert 1 < sacrebleu.corpus_bleu(nearest, [references]).score < 25
