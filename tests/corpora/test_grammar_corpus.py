"""Splits of the grammar corpora: sizes, determinism, what held-out text shares with training."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpora.grammar import generate_pairs, generate_trees
from pipeline.corpora.grammar.nouns import NOUNS
from pipeline.corpora.grammar.verbs import VERBS
from pipeline.corpora.trees import leaves, parse_tree, tagged_leaves

SIZES = {"train": 6000, "dev": 300, "test": 300}
seeds = st.integers(0, 2**31)


@pytest.fixture(scope="module")
def trees() -> dict[str, list[str]]:
    return generate_trees(sizes=SIZES, seed=11)


@pytest.fixture(scope="module")
def pairs() -> dict[str, list[tuple[str, str]]]:
    return generate_pairs(target_language="de", sizes=SIZES, seed=11)


@given(seed=seeds, train=st.integers(0, 40), dev=st.integers(1, 20))
@settings(max_examples=15, deadline=None)
def test_sizes_are_what_was_asked_for_and_no_sentence_repeats(seed, train, dev):
    made = generate_trees(sizes={"train": train, "dev": dev, "test": 5}, seed=seed)
    assert {split: len(lines) for split, lines in made.items()} == {
        "train": train,
        "dev": dev,
        "test": 5,
    }
    lines = [line for split in made.values() for line in split]
    assert len(set(lines)) == len(lines)


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_more_training_text_extends_it_and_leaves_held_out_sets_alone(seed):
    small = generate_trees(sizes={"train": 20, "dev": 10, "test": 10}, seed=seed)
    large = generate_trees(sizes={"train": 60, "dev": 10, "test": 10}, seed=seed)
    assert large["train"][:20] == small["train"]
    assert (large["dev"], large["test"]) == (small["dev"], small["test"])


@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_another_seed_gives_other_sentences(seed):
    first = generate_trees(sizes={"test": 50}, seed=seed)["test"]
    second = generate_trees(sizes={"test": 50}, seed=seed + 1)["test"]
    assert len(set(first) & set(second)) < 10


def test_all_corpora_have_the_same_english(pairs, trees):
    french = generate_pairs(target_language="fr", sizes=SIZES, seed=11)
    assert [en for en, _ in pairs["test"]] == [en for en, _ in french["test"]]
    words = leaves(parse_tree(trees["test"][0]))
    assert _joined(words) == _joined(pairs["test"][0][0].split())


def test_neither_hash_order_nor_process_changes_a_corpus(tmp_path):
    code = (
        "import sys; from pipeline.corpora.grammar import generate_pairs as g\n"
        "for lang in ('de', 'fr'):\n"
        "    made = g(target_language=lang, sizes={'train': 80, 'dev': 20, 'test': 20}, seed=5)\n"
        "    sys.stdout.buffer.write(repr(made).encode())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "77")
    }
    assert len(outputs) == 1


def test_no_held_out_sentence_shares_template_and_content_words_with_training(trees):
    train = {_template_and_content(line) for line in trees["train"]}
    held_out = [_template_and_content(line) for line in trees["dev"] + trees["test"]]
    assert len(train) > 0.9 * SIZES["train"]  # the keys tell sentences apart
    assert not train & set(held_out)
    assert len(set(held_out)) == len(held_out)


def test_held_out_sets_probe_nested_relative_clauses_that_are_rare_in_training(trees):
    shares = {
        split: sum(_relative_depth(parse_tree(line)) >= 2 for line in lines) / len(lines)
        for split, lines in trees.items()
    }
    assert 0.02 <= shares["train"] <= 0.04
    assert 0.06 <= shares["dev"] <= 0.15
    assert 0.06 <= shares["test"] <= 0.15


def test_lengths_suit_a_small_model(pairs):
    for split, mean_at_most in (("train", 11), ("dev", 14), ("test", 14)):
        for side in (0, 1):
            lengths = [len(pair[side].split()) for pair in pairs[split]]
            assert 7 <= sum(lengths) / len(lengths) <= mean_at_most
            assert max(lengths) <= 45


def test_a_source_sentence_has_one_translation(pairs):
    for language in ("de", "fr"):
        made = generate_pairs(target_language=language, sizes={"train": 6000}, seed=2)["train"]
        assert len({en for en, _ in made}) == len(made)


@pytest.mark.parametrize(
    ("language", "sizes", "key"),
    [("es", {"dev": 1}, "target_language"), ("de", {"valid": 1}, "valid")],
)
def test_what_is_not_known_is_refused_by_name(language, sizes, key):
    with pytest.raises(ValueError, match=key):
        generate_pairs(target_language=language, sizes=sizes, seed=1)


# Text back to lemmas, by the tables of forms alone


def _lemmas() -> dict[str, str]:
    lemmas = {"am": "be", "is": "be", "are": "be", "was": "be", "were": "be"}
    for rows in NOUNS.values():
        for noun in rows:
            lemmas[noun.en_plural.lower()] = noun.lemma.lower()
    for rows in VERBS.values():
        for verb in rows:
            lemmas.update(dict.fromkeys(verb.en, verb.en[0]))
    return lemmas


LEMMAS = _lemmas()
CONTENT_TAG = re.compile(r"NN|JJ|VB|RB")
FUNCTION_WORDS = {"be", "do", "does", "did", "not", "want", "wants", "wanted", "many"}


def _template_and_content(line: str) -> tuple[str, tuple[str, ...]]:
    tree = parse_tree(line)
    words = []
    for word, tag in tagged_leaves(tree):
        lemma = LEMMAS.get(word.lower(), word.lower())
        if CONTENT_TAG.match(tag) and lemma not in FUNCTION_WORDS:
            words.append(lemma)
    return _shape(tree), tuple(sorted(words))


def _shape(node) -> str:
    if isinstance(node, str):
        return ""
    label = re.sub(r"^(NN|VB).*", r"\1", node.label)
    return f"({label}{''.join(map(_shape, node.children))})"


def _relative_depth(node) -> int:
    if isinstance(node, str):
        return 0
    below = max(map(_relative_depth, node.children), default=0)
    is_relative = node.label == "NP" and any(
        not isinstance(child, str) and child.label == "SBAR" for child in node.children
    )
    return below + is_relative


def _joined(words: list[str]) -> str:
    return "".join(words)


def test_the_depth_of_a_known_tree():
    line = "(NP (NP (DT the) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBZ sleeps)))))"
    assert _relative_depth(parse_tree(line)) == 1
    assert Counter(_template_and_content(line)[1]) == Counter(["man", "sleep"])
