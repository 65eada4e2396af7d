"""Laws of constrained decoding: whatever the model prefers, a whole tree over the words comes out;
and every tree of the treebanks is within reach."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpora.constraints import TreeConstraint
from pipeline.corpora.linearise import delinearise, linearise, symbol_inventory
from pipeline.corpora.trees import clean, leaves, parse_tree, read_trees

SHARED = Path(os.environ.get("REATTEND_SHARED_DATA", "../shared/data"))
N_PIECES, EOS = 7, 2
SYMBOLS = ["(NP", "(S", "(VP", ")NP", ")S", ")VP", "NN", "XX"]


def constraint(symbols: list[str] = SYMBOLS, **options) -> TreeConstraint:
    vocab_size = N_PIECES + len(symbols)
    return TreeConstraint(symbols, n_pieces=N_PIECES, eos_id=EOS, vocab_size=vocab_size, **options)


def decode(automaton, n_words, max_length, choose):
    """Tokens of each sentence, eos included, when `choose` picks among the allowed ones."""
    states = automaton.start(n_words, max_length)
    outputs = [[] for _ in n_words]
    for _ in range(int(np.max(max_length))):
        allowed_NV = automaton.allowed(states)
        assert allowed_NV.any(axis=1).all()
        tokens = choose(allowed_NV)
        for output, token in zip(outputs, tokens, strict=True):
            if not output or output[-1] != EOS:
                output.append(int(token))
        states = automaton.advance(states, tokens)
    return outputs


def names(tokens, symbols=SYMBOLS):
    assert tokens[-1] == EOS
    return [symbols[token - N_PIECES] for token in tokens[:-1]]


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.tuples(st.integers(1, 12), st.integers(3, 60)), min_size=1, max_size=6),
    love_of_brackets=st.sampled_from([-3.0, 0.0, 3.0, 50.0]),
    max_opens=st.integers(1, 20),
)
def test_random_weights_give_whole_trees_over_exactly_the_words(
    seed, sizes, love_of_brackets, max_opens
):
    generator = np.random.default_rng(seed)
    n_words = np.array([words for words, _ in sizes])
    max_length = np.array([words + extra for words, extra in sizes])
    bias = np.array([love_of_brackets if name[0] == "(" else 0.0 for name in SYMBOLS])
    bias = np.concatenate([np.zeros(N_PIECES), bias])

    def choose(allowed_NV):
        scores = generator.normal(size=allowed_NV.shape) + bias
        return np.where(allowed_NV, scores, -np.inf).argmax(axis=1)

    outputs = decode(constraint(max_opens=max_opens), n_words, max_length, choose)
    for tokens, n, limit in zip(outputs, n_words, max_length, strict=True):
        assert len(tokens) <= limit
        words = [f"w{index}" for index in range(n)]
        tree, repairs = delinearise(names(tokens), words, tags="keep")
        assert repairs == Counter()
        assert leaves(tree) == words
        assert linearise(tree, tags="keep") == names(tokens)
        runs = "".join("(" if name[0] == "(" else " " for name in names(tokens)).split()
        assert max(map(len, runs)) <= max_opens


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    sentences=st.lists(
        st.tuples(st.lists(st.integers(3, N_PIECES - 1), max_size=9), st.integers(3, 40)),
        min_size=1,
        max_size=6,
    ),
)
def test_words_that_stand_for_themselves_come_in_their_order(seed, sentences):
    """tags "words": the token of the next word, which is no symbol, or a bracket; nothing else."""
    generator = np.random.default_rng(seed)
    leaves_of = [tokens for tokens, _ in sentences]
    n_words = np.array([len(tokens) for tokens in leaves_of])
    max_length = np.array([len(tokens) + extra for tokens, extra in sentences])

    def choose(allowed_NV):
        scores = generator.normal(size=allowed_NV.shape)
        return np.where(allowed_NV, scores, -np.inf).argmax(axis=1)

    outputs = decode(constraint(leaves=leaves_of), n_words, max_length, choose)
    for tokens, words, limit in zip(outputs, leaves_of, max_length, strict=True):
        assert len(tokens) <= limit
        assert [token for token in tokens[:-1] if token < N_PIECES] == words
        symbols = ["XX" if token < N_PIECES else SYMBOLS[token - N_PIECES] for token in tokens[:-1]]
        assert symbols.count("XX") == len(words)
        assert "NN" not in symbols
        if words:
            _, repairs = delinearise(symbols, ["w"] * len(words), tags="words")
            assert repairs == Counter()


def test_words_stay_with_their_sentence_when_hypotheses_are_reordered():
    automaton = constraint(leaves=[[3, 4], [5]])
    s, close_s = (N_PIECES + SYMBOLS.index(name) for name in ("(S", ")S"))
    states = automaton.start(np.array([2, 1]), np.array([9, 9]))
    states = automaton.advance(states, np.array([s, s]))
    states = automaton.advance(automaton.select(states, np.array([1, 0])), np.array([5, 3]))
    first, second = automaton.allowed(states)
    assert np.flatnonzero(first).tolist() == [close_s]
    assert np.flatnonzero(second[:N_PIECES]).tolist() == [4]


@st.composite
def cleaned_trees(draw):
    """Trees as clean() leaves them, over the labels of SYMBOLS, no run of brackets beyond 16."""

    def build(depth: int) -> str:
        label = draw(st.sampled_from(["NP", "S", "VP"]))
        n_children = draw(st.integers(1, 3))
        inner = [
            build(depth + 1)
            if depth < 8 and draw(st.booleans())
            else f"({draw(st.sampled_from(['NN', 'XX']))} w)"
            for _ in range(n_children)
        ]
        return f"({label} {' '.join(inner)})"

    return parse_tree(build(0))


def accepts(automaton, symbols, names, n_words, max_length):
    """Whether every token of a linearised tree, and eos after it, is allowed in its place."""
    states = automaton.start(np.array([n_words]), np.array([max_length]))
    for token in [*(N_PIECES + symbols[name] for name in names), EOS]:
        if not automaton.allowed(states)[0, token]:
            return False
        states = automaton.advance(states, np.array([token]))
    return True


@settings(deadline=None, max_examples=60)
@given(tree=cleaned_trees(), spare=st.integers(0, 3))
def test_every_tree_that_fits_is_within_reach(tree, spare):
    symbols = {name: index for index, name in enumerate(SYMBOLS)}
    line = linearise(tree, tags="keep")
    n_words = len(leaves(tree))
    assert accepts(constraint(), symbols, line, n_words, len(line) + 1 + spare)
    shorter = len(line)  # one token short of the tree and its eos
    if shorter >= n_words + 3:
        assert not accepts(constraint(), symbols, line, n_words, shorter)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["(S", ")S"], "no words"),
        (["NN"], "a word outside"),
        (["(S", "NN", ")S"], "too few words"),
        (["(S", "NN", "NN", "NN", ")S"], "too many words"),
        (["(S", "(NP", "NN", ")VP", "NN", ")S"], "another label closes"),
        (["(S", "(NP", ")NP", "NN", "NN", ")S"], "an empty constituent"),
        (["(S", "NN", "NN"], "open at the end"),
        (["(S", "NN", "NN", ")S", ")S"], "a stray bracket"),
        (["(S", "NN", "NN", ")S", "(S"], "a second tree"),
    ],
)
def test_no_damaged_sequence_passes(names, why):
    symbols = {name: index for index, name in enumerate(SYMBOLS)}
    assert not accepts(constraint(), symbols, names, 2, 40), why
    assert accepts(constraint(), symbols, ["(S", "(NP", "NN", ")NP", "NN", ")S"], 2, 40)


def test_selected_rows_go_on_by_themselves():
    """Reordering hypotheses between steps, as beam search does, carries each one's brackets."""
    automaton = constraint()
    states = automaton.start(np.array([2, 2]), np.array([30, 30]))
    np_, s, nn = (N_PIECES + SYMBOLS.index(name) for name in ("(NP", "(S", "NN"))
    states = automaton.advance(states, np.array([np_, s]))
    states = automaton.select(states, np.array([1, 0, 1]))
    for tokens in ([nn, nn, nn], [nn, nn, nn]):
        states = automaton.advance(states, np.array(tokens))
    close_np, close_s = (N_PIECES + SYMBOLS.index(name) for name in (")NP", ")S"))
    only = [np.flatnonzero(row).tolist() for row in automaton.allowed(states)]
    assert only == [[close_s], [close_np], [close_s]]


@pytest.mark.parametrize("wrong", [")S", "(NP", "NN", "foreign", "eos"])
def test_a_token_that_was_not_allowed_ends_its_hypothesis_alone(wrong):
    """Beam search goes on with hypotheses of no probability where it has too few others."""
    automaton = constraint()
    states = automaton.start(np.array([1, 1]), np.array([30, 30]))
    ids = {name: N_PIECES + index for index, name in enumerate(SYMBOLS)}
    ids |= {"foreign": 0, "eos": EOS}
    for name in ("(S", "(NP", "NN"):
        states = automaton.advance(states, np.array([ids[name]] * 2))
    states = automaton.advance(states, np.array([ids[wrong], ids[")NP"]]))
    only = [np.flatnonzero(row).tolist() for row in automaton.allowed(states)]
    assert only == [[EOS], [ids[")S"]]]
    states = automaton.advance(states, np.array([ids["(S"], ids[")S"]]))
    assert [np.flatnonzero(row).tolist() for row in automaton.allowed(states)] == [[EOS], [EOS]]


def test_brackets_beyond_the_first_room_of_the_stack():
    automaton = constraint(max_opens=100)
    line = ["(S"] * 70 + ["NN"] + [")S"] * 70
    symbols = {name: index for index, name in enumerate(SYMBOLS)}
    assert accepts(automaton, symbols, line, 1, 142)


def test_a_sentence_without_words_ends_at_once():
    automaton = constraint()
    states = automaton.start(np.array([0]), np.array([1]))
    assert np.flatnonzero(automaton.allowed(states)[0]).tolist() == [EOS]


def test_a_limit_below_the_smallest_tree_is_refused_by_name():
    with pytest.raises(ValueError, match=r"sentence 1.*at least 8 tokens.*limit is 7"):
        constraint().start(np.array([1, 5]), np.array([4, 7]))


@pytest.mark.parametrize(
    ("symbols", "message"),
    [(["(S", "XX"], "no closing"), (["XX"], "opening bracket"), (["(S", ")S"], "for words")],
)
def test_symbols_that_cannot_make_a_tree_are_refused(symbols, message):
    with pytest.raises(ValueError, match=message):
        constraint(symbols)


def test_unknown_labels_of_dev_stay_within_reach():
    train = [parse_tree("(S (NP (NN a)) (VP (VBZ b)))")]
    symbols = symbol_inventory(train, tags="keep")
    dev = parse_tree("(S (WHNP (WP a)) (VP (VBZ b)))")
    line = linearise(dev, tags="keep", known=frozenset(symbols))
    ids = {name: index for index, name in enumerate(symbols)}
    assert accepts(constraint(symbols), ids, line, 2, len(line) + 1)


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize("name", ["craft", "gum"])
def test_every_tree_of_the_treebanks_is_within_reach(name, split):
    """At the tightest limit that can hold it, with the symbols of the training split."""
    file = SHARED / f"trees/{name}/{name}.{split}.mrg"
    if not file.exists():
        pytest.skip(f"the shared treebanks are not there: {file}")
    train = file.with_name(f"{name}.train.mrg")
    symbols = symbol_inventory(map(clean, read_trees(train)), tags="keep")
    automaton = constraint(symbols)
    ids = {symbol: N_PIECES + index for index, symbol in enumerate(symbols)}
    known = frozenset(symbols)
    lines = [
        np.array([*(ids[s] for s in linearise(clean(tree), tags="keep", known=known)), EOS])
        for tree in read_trees(file)
    ]
    lines.sort(key=len)
    closers = {ids[symbol] for symbol in symbols if symbol[0] in "()"} | {EOS}
    for begin in range(0, len(lines), 2000):
        batch = lines[begin : begin + 2000]
        lengths = np.array([len(line) for line in batch])
        n_words = lengths - np.array([np.isin(line, list(closers)).sum() for line in batch])
        tokens_NT = np.full((len(batch), lengths.max()), EOS)
        for row, line in enumerate(batch):
            tokens_NT[row, : len(line)] = line
        states = automaton.start(n_words, lengths)
        for tokens in tokens_NT.T:
            assert automaton.allowed(states)[np.arange(len(batch)), tokens].all()
            states = automaton.advance(states, tokens)
