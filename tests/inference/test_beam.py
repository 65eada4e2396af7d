"""Beam search against all sequences there are, against itself written plainly, and in batches."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpora.constraints import TreeConstraint
from pipeline.encoded import BOS_ID, EOS_ID
from pipeline.inference.beam import NEVER_IDS, beam_search, penalty
from pipeline.inference.network import Network

WORDS = (4, 5, 6)  # all that a hypothesis of the toy vocabulary can hold
few = settings(max_examples=30, deadline=None)
toy = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)


def source_of(words):
    return torch.tensor([*words, EOS_ID])


@pytest.fixture(scope="module")
def toys(make_model):
    models = [make_model(seed, vocab_size=7, spread=4.0) for seed in range(4)]
    return [(model, Network(model)) for model in models]


def all_sequences(model, source, longest):
    """Every sequence of at most `longest` tokens (eos counted) with its log-probability."""
    found = []
    for length in range(longest):
        sequences = list(itertools.product(WORDS, repeat=length))
        shifted = torch.tensor([[BOS_ID, *words] for words in sequences])
        logits = model.logits(model(source.expand(len(sequences), -1), shifted)).double()
        log_probs = logits.log_softmax(-1).view(len(sequences), length + 1, -1)
        targets = torch.tensor([[*words, EOS_ID] for words in sequences])
        values = log_probs.gather(2, targets[:, :, None]).sum(dim=(1, 2)).tolist()
        found += zip(values, map(list, sequences), strict=True)
    return found


@few
@given(st.integers(0, 3), toy, st.integers(0, 2), st.floats(0.0, 2.0), st.integers(1, 5))
def test_wide_beam_equals_exhaustive_search(toys, model, words, extra, alpha, n_best):
    model, network = toys[model]
    source = source_of(words)
    longest = len(source) + extra
    everything = sorted(
        ((p / penalty(len(t) + 1, alpha), p, t) for p, t in all_sequences(model, source, longest)),
        reverse=True,
    )[:n_best]
    (found,) = beam_search(
        network,
        [source],
        beam_size=3 ** (longest + 1),
        length_penalty=alpha,
        max_extra_tokens=extra,
        n_best=n_best,
    )
    assert [h.score for h in found] == pytest.approx([s for s, _, _ in everything], abs=1e-4)
    assert found[0].log_prob == pytest.approx(everything[0][1], abs=1e-4)
    gap = everything[0][0] - everything[1][0] if n_best > 1 else 0.0
    if gap > 1e-4:
        assert found[0].tokens == everything[0][2]


def plain_search(model, source, *, beam_size, alpha, longest):
    """The search as its description says it: no cache, no tensors kept, never stops early."""
    beams, finished = [(0.0, [])], []
    for length in range(1, longest + 1):
        shifted = torch.tensor([[BOS_ID, *tokens] for _, tokens in beams])
        states = model(source.expand(len(beams), -1), shifted)
        last = model.logits(states.view(len(beams), length, -1)[:, -1]).double().log_softmax(-1)
        allowed = [EOS_ID] if length == longest else range(last.size(1))
        extended = sorted(
            (-(p + last[row, token].item()), row, token)
            for row, (p, _) in enumerate(beams)
            for token in allowed
            if token not in NEVER_IDS
        )[: 2 * beam_size]
        for rank, (negative, row, token) in enumerate(extended):
            if token == EOS_ID and rank < beam_size:
                finished.append((-negative / penalty(length, alpha), beams[row][1]))
        beams = [
            (-negative, [*beams[row][1], token])
            for negative, row, token in extended
            if token != EOS_ID
        ][:beam_size]
    return max(finished, key=lambda pair: pair[0])


@few
@given(st.integers(0, 3), toy, st.integers(0, 3), st.floats(0.0, 2.0), st.integers(2, 5))
def test_equals_plain_search_that_never_stops_early(toys, model, words, extra, alpha, beam_size):
    model, network = toys[model]
    source = source_of(words)
    score, _ = plain_search(
        model, source, beam_size=beam_size, alpha=alpha, longest=len(source) + extra
    )
    ((found,),) = beam_search(
        network, [source], beam_size=beam_size, length_penalty=alpha, max_extra_tokens=extra
    )
    assert found.score == pytest.approx(score, abs=1e-4)


@few
@given(st.lists(st.lists(st.integers(260, 279), min_size=0, max_size=9), min_size=2, max_size=8))
def test_batch_equals_one_at_a_time_in_any_order(network, reverser, forced, sentences):
    sources = [source_of(words) for words in sentences]
    how = {"beam_size": 3, "length_penalty": 0.6, "max_extra_tokens": 4, "n_best": 2}
    alone = [beam_search(network, [source], **how)[0] for source in sources]
    together = beam_search(network, sources, **how)
    backwards = beam_search(network, sources[::-1], **how)[::-1]
    for one, two, three, source in zip(alone, together, backwards, sources, strict=True):
        scores = [h.score for h in one]
        assert scores == sorted(scores, reverse=True)
        assert [h.score for h in two] == pytest.approx(scores, abs=1e-4)
        assert [h.score for h in three] == pytest.approx(scores, abs=1e-4)
        for h in one:
            assert len(h.tokens) + 1 <= len(source) + 4
            assert not set(h.tokens) & {*NEVER_IDS, EOS_ID}
            assert h.log_prob == pytest.approx(forced(reverser, source, h.tokens), abs=1e-4)
            assert h.score == pytest.approx(h.log_prob / penalty(len(h.tokens) + 1, 0.6), abs=1e-5)


def test_it_translates(network):
    """The trained toy does what it learnt: a check that the tests above search something real."""
    generator = np.random.default_rng(0)
    sentences = [generator.integers(260, 280, n).tolist() for n in generator.integers(1, 8, 50)]
    found = beam_search(
        network, [source_of(s) for s in sentences], beam_size=4, length_penalty=0.6,
        max_extra_tokens=50,
    )  # fmt: skip
    right = sum(h[0].tokens == s[::-1] for h, s in zip(found, sentences, strict=True))
    assert right >= 8, right  # of 50; by chance none


@few
@given(st.integers(0, 3), st.lists(toy, min_size=1, max_size=4), st.floats(0.0, 2.0))
def test_beam_of_one_is_greedy(toys, model, sentences, alpha):
    model, network = toys[model]
    sources = [source_of(words) for words in sentences]
    found = beam_search(network, sources, beam_size=1, length_penalty=alpha, max_extra_tokens=5)
    for (hypothesis,), source in zip(found, sources, strict=True):
        tokens = []
        while len(tokens) + 1 < len(source) + 5:
            logits = model.logits(model(source[None], torch.tensor([[BOS_ID, *tokens]])))[-1]
            logits[list(NEVER_IDS)] = -torch.inf
            if logits.argmax() == EOS_ID:
                break
            tokens.append(int(logits.argmax()))
        assert hypothesis.tokens == tokens


def test_equal_scores_go_to_the_earlier_id(make_model):
    model = make_model(0, vocab_size=9)
    model.embedding.weight.zero_()  # every token is as probable as any other
    (found,) = beam_search(
        Network(model), [source_of([4, 5])], beam_size=5, length_penalty=0.0, max_extra_tokens=0,
        n_best=5,
    )  # fmt: skip
    assert [h.tokens for h in found] == [[], [4], [4, 4], [4, 5], [4, 6]]


def test_penalty_is_that_of_gnmt():
    assert penalty(7, 0.6) == pytest.approx(2.0**0.6)
    assert penalty(1, 0.6) == 1.0


class OnlyOnce:
    """Each word at most once, and as many words as the source has."""

    word_columns = None

    def start(self, n_words, max_length):
        return np.zeros((len(n_words), 300), dtype=bool), n_words

    def allowed(self, states):
        used, left = states
        allowed = ~used & (left > 0)[:, None]
        allowed[:, EOS_ID] = left == 0
        return allowed

    def select(self, states, rows):
        return tuple(x[rows] for x in states)

    def advance(self, states, tokens):
        used, left = states[0].copy(), states[1]
        used[np.arange(len(tokens)), tokens] = True
        return used, left - 1


def test_constraint_holds_for_every_hypothesis(network):
    sentences = [[4, 4, 4, 4], [5], [6, 7, 6, 7, 6]]
    found = beam_search(
        network, [source_of(s) for s in sentences], beam_size=4, length_penalty=0.6,
        max_extra_tokens=3, n_best=4, constraint=OnlyOnce(), n_words=[len(s) for s in sentences],
    )  # fmt: skip
    for hypotheses, words in zip(found, sentences, strict=True):
        assert hypotheses
        for hypothesis in hypotheses:
            assert len(set(hypothesis.tokens)) == len(hypothesis.tokens) == len(words)


PIECES = (4, 5, 6, 7)
SYMBOLS = ("(N", "(S", ")N", ")S", "XX")  # ids 8 to 12


def all_trees(constraint, longest):
    """Every sequence that the constraint lets through, eos last."""
    going = [([], constraint.start(np.array([2]), np.array([longest])))]
    while going:
        tokens, states = going.pop()
        for token in np.flatnonzero(constraint.allowed(states)[0]).tolist():
            if token == EOS_ID:
                yield [*tokens, token]
            else:
                going.append(([*tokens, token], constraint.advance(states, np.array([token]))))


@pytest.mark.parametrize("seed", range(4))
def test_a_known_word_follows_with_the_probability_of_any_word(make_model, seed):
    """Against all trees there are over two words: a word's identity costs nothing."""
    model = make_model(seed, vocab_size=13, spread=4.0)
    constraint = TreeConstraint(
        SYMBOLS, n_pieces=8, eos_id=EOS_ID, vocab_size=13, leaves=[[6, 4]], word_columns=range(4, 8)
    )
    source, expected = source_of([6, 4]), []
    for tokens in all_trees(constraint, longest=9):
        logits = model.logits(model(source[None], torch.tensor([[BOS_ID, *tokens[:-1]]]))).double()
        shares = logits.softmax(-1)
        shares[:, list(PIECES)] = shares[:, list(PIECES)].sum(dim=1, keepdim=True)
        chosen = shares[torch.arange(len(tokens)), torch.tensor(tokens)]
        expected.append((chosen.log().sum().item(), tokens[:-1]))
    assert len(expected) > 20
    (found,) = beam_search(
        Network(model), [source], beam_size=200, length_penalty=0.0, max_extra_tokens=6, n_best=20,
        constraint=constraint, n_words=[2],
    )  # fmt: skip
    best = sorted(expected, reverse=True)[:20]
    assert [h.tokens for h in found] == [tokens for _, tokens in best]
    assert [h.log_prob for h in found] == pytest.approx([p for p, _ in best], abs=1e-4)


def test_forced_lengths(network):
    found = beam_search(
        network, [source_of([4, 5]), source_of([6])], beam_size=2, length_penalty=0.6,
        max_extra_tokens=6, min_lengths=[9, 4],
    )  # fmt: skip
    assert len(found[0][0].tokens) + 1 == 9
    assert len(found[1][0].tokens) + 1 >= 4


def test_broken_model_is_named(make_model):
    model = make_model(0, vocab_size=9)
    model.embedding.weight.fill_(torch.nan)
    with pytest.raises(ValueError, match="NaN"):
        beam_search(
            Network(model), [source_of([4])], beam_size=2, length_penalty=0.6, max_extra_tokens=2
        )


@pytest.mark.parametrize("n_best", [0, 3])
def test_n_best_needs_a_beam_as_wide(network, n_best):
    with pytest.raises(ValueError, match="n_best"):
        beam_search(
            network, [source_of([4])], beam_size=2, length_penalty=0.6, max_extra_tokens=2,
            n_best=n_best,
        )  # fmt: skip
