"""Section 6.1: beam search with the length penalty of GNMT.

The length |y| of a hypothesis counts its end of sentence, as lengths do everywhere here. Its score
is log P(y | x) / ((5 + |y|) / 6)^alpha. At each step the beam_size best extensions of a sentence's
open hypotheses are looked at: those that are an end of sentence finish, and the beam_size best
others go on. At the longest allowed length only the end of sentence may follow. Equal scores are
ordered by hypothesis, then by token id.

When search stops. Let an open hypothesis have log-probability p after t tokens, and let L be the
longest allowed length. Whatever follows adds log-probabilities <= 0 and ends at some length n with
t < n <= L, and the penalty ((5 + n) / 6)^alpha grows with n for alpha >= 0; p <= 0 divided by a
greater number is greater. So the score it can still reach is at most p / ((5 + L) / 6)^alpha. Once
the n_best-th finished hypothesis has at least that for the best open p, no open one can displace
it (of equal scores the one that finished first stays): the result is final.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pipeline.encoded import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from pipeline.inference.cache import Cache
from pipeline.inference.candidates import Stand, best_tokens, sort_keys
from pipeline.inference.network import Network

NEVER_IDS = (PAD_ID, BOS_ID, UNK_ID)

# S sentences, B open hypotheses of each, C candidates, F finished ones kept, Y vocabulary


@dataclass(frozen=True)
class Hypothesis:
    """tokens: ids without eos; log_prob: with eos; score: log_prob / length penalty."""

    tokens: list[int]
    log_prob: float
    score: float


class Constraint(Protocol):
    """Which tokens may follow, for many hypotheses at once; states are the constraint's own.

    word_columns: the tokens that stand for words where a word stands as itself; `word` then tells
    the one that may follow, -1 where none may. Which word comes next is known beforehand, so it
    follows with the probability that any does.
    """

    word_columns: range | None

    def word(self, states: Any) -> np.ndarray: ...

    def start(self, n_words: np.ndarray, max_length: np.ndarray) -> Any: ...

    def allowed(self, states: Any) -> np.ndarray: ...

    def select(self, states: Any, rows: np.ndarray) -> Any: ...

    def advance(self, states: Any, tokens: np.ndarray) -> Any: ...


def penalty(length: Tensor | int, alpha: float) -> Tensor | float:
    """GNMT's length penalty, ((5 + |y|) / 6)^alpha."""
    return ((5.0 + length) / 6.0) ** alpha


@torch.inference_mode()
def beam_search(
    network: Network,
    sources: Sequence[Tensor],
    *,
    beam_size: int,
    length_penalty: float,
    max_extra_tokens: int,
    n_best: int = 1,
    min_lengths: Sequence[int] | None = None,
    max_lengths: Sequence[int] | None = None,
    constraint: Constraint | None = None,
    n_words: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each source, best first; fewer where fewer exist.

    sources: 1-d int64 ids with eos at the end. A hypothesis has at most len(source) +
    max_extra_tokens tokens, or max_lengths where given, and at least min_lengths; eos counts.
    With beam_size 1 search is greedy: the first end of sentence is the result.
    constraint, n_words: only tokens that it allows after each hypothesis are looked at; it is
    started with the words of each sentence.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best must be from 1 to beam_size {beam_size}: {n_best}")
    longest = [len(source) + max_extra_tokens for source in sources]
    longest = longest if max_lengths is None else list(max_lengths)
    if network.config.positions == "learned":
        longest = [min(length, network.config.max_positions) for length in longest]
    search = _Search(network, sources, longest, beam_size, length_penalty, n_best)
    search.forbid_end_before(min_lengths)
    if constraint is not None:
        search.constrain(constraint, np.asarray(n_words), np.asarray(longest))
    while search.step():
        pass
    return search.results()


class _Search:
    """State of one batch. Rows of the tensors are the sentences that still go on (`rows`)."""

    def __init__(
        self,
        network: Network,
        sources: Sequence[Tensor],
        longest: list[int],
        beam_size: int,
        alpha: float,
        n_best: int,
    ) -> None:
        n, device = len(sources), network.device
        self.network, self.beam_size, self.alpha, self.n_best = network, beam_size, alpha, n_best
        self.cache = Cache(network, sources)
        self.rows = torch.arange(n)
        self.longest_S = torch.tensor(longest, device=device)
        self.limit_S = penalty(self.longest_S.double(), alpha).float()
        self.shortest_S: Tensor | None = None
        self.first_limit = min(longest)
        self.constraint: Constraint | None = None
        self.states: Any = None
        self.tokens_SB = torch.full((n, 1), BOS_ID, device=device)
        self.parent_SB = torch.zeros(n, 1, dtype=torch.int64, device=device)
        self.log_prob_SB = torch.zeros(n, 1, device=device)
        self.length = 0  # tokens of the open hypotheses
        # finished: score, log_prob, and where the tokens are found: length, last hypothesis
        self.score_SF = torch.full((n, n_best), -torch.inf, device=device)
        self.log_prob_SF = torch.full((n, n_best), -torch.inf, device=device)
        self.place_SF2 = torch.zeros(n, n_best, 2, dtype=torch.int64, device=device)
        self.history: list[tuple[Tensor, Tensor, Tensor]] = []  # row of sentence, tokens, parent
        self.done: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    def forbid_end_before(self, min_lengths: Sequence[int] | None) -> None:
        if min_lengths is not None:
            self.shortest_S = torch.tensor(min_lengths, device=self.network.device)

    def constrain(self, constraint: Constraint, n_words: np.ndarray, longest: np.ndarray) -> None:
        self.constraint, self.states = constraint, constraint.start(n_words, longest)

    def step(self) -> bool:
        """Extend every open hypothesis by one token; False once no sentence goes on."""
        values_SC, parent_SC, token_SC = self._candidates()
        self.length += 1
        ends_SC = token_SC == EOS_ID
        self._finish(values_SC[:, : self.beam_size], parent_SC, ends_SC)
        # what goes on: the beam_size best that are no end, in their order
        order_SC = (ends_SC | values_SC.isneginf()).byte().argsort(dim=1, stable=True)
        order_SB = order_SC[:, : min(self.beam_size, values_SC.size(1))]
        self.log_prob_SB = values_SC.masked_fill(ends_SC, -torch.inf).gather(1, order_SB)
        self.parent_SB = parent_SC.gather(1, order_SB)
        self.tokens_SB = token_SC.gather(1, order_SB)
        row_of = torch.full((self._n_sentences,), -1)
        row_of[self.rows] = torch.arange(len(self.rows))
        self.history.append((row_of, self.tokens_SB, self.parent_SB))
        self._leave()
        return len(self.rows) > 0

    @property
    def _n_sentences(self) -> int:
        return len(self.history[0][0]) if self.history else len(self.rows)

    def _candidates(self) -> tuple[Tensor, Tensor, Tensor]:
        """The 2 beam_size best extensions, [S, C]: log-probability, parent, token."""
        sentences, beams = self.tokens_SB.shape
        self.n_parents = beams
        states = self.cache.step(self.tokens_SB, self.parent_SB)
        values, tokens = best_tokens(
            states,
            self.network.logits,
            2 * self.beam_size,
            mask=self._mask(),
            stand=self._stand(),
        )
        k = values.size(1)
        values_SC = (values.view(sentences, beams, k) + self.log_prob_SB[:, :, None]).flatten(1)
        order_SC = sort_keys(values_SC).topk(min(2 * self.beam_size, beams * k)).indices
        tokens_SC = tokens.view(sentences, -1).gather(1, order_SC)
        return values_SC.gather(1, order_SC), order_SC // k, tokens_SC

    def _stand(self) -> Stand | None:
        if self.constraint is None or self.constraint.word_columns is None:
            return None
        word_R = torch.from_numpy(self.constraint.word(self.states))
        return Stand(self.constraint.word_columns, word_R.to(self.tokens_SB.device))

    def _mask(self) -> Callable[[Tensor, int], None]:
        """What may not follow: see `best_tokens`."""
        length, beams = self.length + 1, self.tokens_SB.size(1)
        device = self.tokens_SB.device
        early = last = allowed = None
        if self.constraint is not None:
            allowed = torch.from_numpy(self.constraint.allowed(self.states)).to(device)
        if self.shortest_S is not None:
            early = (self.shortest_S > length).repeat_interleave(beams)
        if length >= self.first_limit:
            last = (self.longest_S <= length).repeat_interleave(beams)

        def mask(logits_RC: Tensor, start: int) -> None:
            if allowed is not None:
                here = allowed[:, start : start + logits_RC.size(1)]
                logits_RC.masked_fill_(~here, -torch.inf)
            if start == 0:
                logits_RC[:, list(NEVER_IDS)] = -torch.inf
                end = logits_RC[:, EOS_ID].clone()
                if early is not None:
                    logits_RC[:, EOS_ID].masked_fill_(early, -torch.inf)
            if last is not None:
                logits_RC.masked_fill_(last[:, None], -torch.inf)
                if start == 0:
                    logits_RC[:, EOS_ID] = torch.where(last, end, logits_RC[:, EOS_ID])

        return mask

    def _finish(self, values_SB: Tensor, parent_SC: Tensor, ends_SC: Tensor) -> None:
        """Let the ends of sentence among the beam_size best compete with those before them."""
        beams = values_SB.size(1)
        values_SB = values_SB.masked_fill(~ends_SC[:, :beams], -torch.inf)
        score_SB = values_SB / penalty(self.length, self.alpha)
        score = torch.cat([self.score_SF, score_SB], dim=1)
        log_prob = torch.cat([self.log_prob_SF, values_SB], dim=1)
        last_SB = parent_SC[:, :beams]
        place_SB2 = torch.stack([torch.full_like(last_SB, self.length), last_SB], dim=2)
        place = torch.cat([self.place_SF2, place_SB2], dim=1)
        self.score_SF, order = score.sort(dim=1, descending=True, stable=True)
        self.score_SF, order = self.score_SF[:, : self.n_best], order[:, : self.n_best]
        self.log_prob_SF = log_prob.gather(1, order)
        self.place_SF2 = place.gather(1, order[:, :, None].expand(-1, -1, 2))

    def _leave(self) -> None:
        """Take sentences out whose result is final, so that no work is done on them."""
        reach_S = self.log_prob_SB.amax(dim=1) / self.limit_S
        final_S = (self.score_SF[:, -1] >= reach_S) | (self.longest_S <= self.length)
        if self.beam_size == 1:
            final_S |= ~self.score_SF[:, 0].isneginf()
        final = final_S.cpu()
        stay = (~final).nonzero().squeeze(1)
        if len(stay) < len(final):
            ended = final.nonzero().squeeze(1)
            scores, log_probs, places = (
                x[ended.to(x.device)].cpu()
                for x in (self.score_SF, self.log_prob_SF, self.place_SF2)
            )
            for sentence, *found in zip(
                self.rows[ended].tolist(), scores, log_probs, places, strict=True
            ):
                self.done[sentence] = tuple(found)
            self._keep(stay)
        if self.constraint is not None:
            rows = stay[:, None].numpy() * self.n_parents + self.parent_SB.cpu().numpy()
            states = self.constraint.select(self.states, rows.ravel())
            self.states = self.constraint.advance(states, self.tokens_SB.cpu().numpy().ravel())

    def _keep(self, stay: Tensor) -> None:
        self.rows = self.rows[stay]
        stay = stay.to(self.network.device)
        self.cache.keep(stay)
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and name != "rows":
                setattr(self, name, value.index_select(0, stay))

    def results(self) -> list[list[Hypothesis]]:
        history = [(row, tokens.cpu(), parent.cpu()) for row, tokens, parent in self.history]
        results = []
        for sentence in range(self._n_sentences):
            scores, log_probs, places = (x.tolist() for x in self.done[sentence])
            found = [
                Hypothesis(_tokens(history, sentence, length - 1, last), log_prob, score)
                for score, log_prob, (length, last) in zip(scores, log_probs, places, strict=True)
                if score != float("-inf")
            ]
            if not found or any(h.score != h.score for h in found):
                raise ValueError(
                    "no hypothesis has a probability, since the model computes NaN or infinity; "
                    f"take another checkpoint: sentence {sentence} of the batch"
                )
            results.append(found)
        return results


def _tokens(
    history: list[tuple[Tensor, Tensor, Tensor]], sentence: int, length: int, last: int
) -> list[int]:
    """Follow the parents back from hypothesis `last` of `length` tokens."""
    tokens = []
    for row_of, step_tokens, step_parent in reversed(history[:length]):
        row = int(row_of[sentence])
        tokens.append(int(step_tokens[row, last]))
        last = int(step_parent[row, last])
    return tokens[::-1]
