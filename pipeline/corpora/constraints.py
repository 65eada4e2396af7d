"""Constrained decoding of trees: at each step, the tokens that can still end in a whole tree.

A push-down automaton over the symbols of `linearise`, for many hypotheses at once. What it lets
through is well-formed, stands over exactly the words of its sentence, has no constituent without
words, and ends (eos) within its length limit: when the rest of the limit is only just enough for
the words that are left and the brackets that are open, nothing can be opened any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Kinds of token; everything that is neither a tree symbol nor eos is foreign.
FOREIGN, OPEN, LEAF, CLOSE, END = range(5)
MAX_OPENS = 16  # the longest run of opening brackets in CRAFT and GUM is 8


@dataclass(frozen=True)
class States:
    """Where n hypotheses stand; every array has n rows. N hypotheses, D room for open brackets.

    words_left: words without a symbol yet. tokens_left: tokens of the limit not used, eos counted.
    depth: open brackets. opens: opening brackets since the last word or closing bracket.
    sentence: number of the sentence, as `start` counted them.
    stack_ND: for each open bracket, outermost first, the token that closes it.
    """

    words_left: np.ndarray
    tokens_left: np.ndarray
    depth: np.ndarray
    opens: np.ndarray
    sentence: np.ndarray
    stack_ND: np.ndarray

    def __len__(self) -> int:
        return len(self.depth)


class TreeConstraint:
    """The automaton for one vocabulary: word-pieces, then the tree symbols from id `n_pieces` on.

    max_opens bounds the run of brackets that open one after another, and with it every chain of
    constituents with one child. leaves: for each sentence the tokens that its words stand as, one
    a word (tags "words"); None: any symbol that is no bracket stands for any word.
    word_columns: with leaves, the tokens among which the probability of a word is spread. Raises
    ValueError if the symbols can't make a tree: an opening bracket whose closing one is missing,
    no bracket, or no symbol for words.
    """

    def __init__(
        self,
        symbols: Sequence[str],
        *,
        n_pieces: int,
        eos_id: int,
        vocab_size: int,
        max_opens: int = MAX_OPENS,
        leaves: Sequence[Sequence[int]] | None = None,
        word_columns: range | None = None,
    ) -> None:
        ids = {symbol: n_pieces + index for index, symbol in enumerate(symbols)}
        assert n_pieces + len(symbols) <= vocab_size
        assert 0 <= eos_id < n_pieces
        self.max_opens = max_opens
        self.eos_id = eos_id
        self._symbol_range = slice(n_pieces, n_pieces + len(symbols))
        self._kind_V = np.full(vocab_size, FOREIGN, dtype=np.int8)
        self._closing_V = np.zeros(vocab_size, dtype=np.int32)
        self._kind_V[eos_id] = END
        for symbol, token in ids.items():
            self._kind_V[token] = _kind(symbol)
            if _kind(symbol) == OPEN:
                closing = f"){symbol[1:]}"
                if closing not in ids:
                    raise ValueError(f"tree symbol {symbol!r} has no closing {closing!r}")
                self._closing_V[token] = ids[closing]
        for kind, what in ((OPEN, "opening bracket"), (LEAF, "symbol for words")):
            if not (self._kind_V == kind).any():
                raise ValueError(f"no {what} among the tree symbols: {list(symbols)[:5]}")
        self._leaf_SW: np.ndarray | None = None
        self.word_columns = word_columns if leaves is not None else None
        if leaves is not None:
            self._kind_V[self._kind_V == LEAF] = FOREIGN
            self._leaf_SW = np.zeros((len(leaves), max(map(len, leaves), default=0)), np.int64)
            for row, tokens in zip(self._leaf_SW, leaves, strict=True):
                row[len(row) - len(tokens) :] = tokens  # so that words_left counts from the end

    def start(self, n_words: np.ndarray, max_length: np.ndarray) -> States:
        """The states before the first token of n sentences.

        n_words [n]: their words; of 0 words only eos comes. max_length [n]: the most tokens that
        may come, eos counted. Raises ValueError if a limit is too small for the smallest tree,
        which has n_words + 3 tokens.
        """
        n_words = np.asarray(n_words, dtype=np.int32)
        max_length = np.asarray(max_length, dtype=np.int32)
        short = np.flatnonzero(max_length < np.where(n_words > 0, n_words + 3, 1))
        if len(short):
            row = short[0]
            raise ValueError(
                f"sentence {row}: a tree over {n_words[row]} words takes at least "
                f"{n_words[row] + 3} tokens, but the limit is {max_length[row]}; raise "
                "decoding.max_extra_tokens"
            )
        nothing = np.zeros(len(n_words), dtype=np.int32)
        room = np.zeros((len(n_words), 16), dtype=np.int32)
        return States(n_words, max_length, nothing, nothing, np.arange(len(n_words)), room)

    def allowed(self, states: States) -> np.ndarray:
        """bool [n, vocab_size]: tokens that may come next; at least one for each hypothesis."""
        can_NK = self._can(states)
        kind_K = self._kind_V[self._symbol_range]
        allowed_NV = np.zeros((len(states), len(self._kind_V)), dtype=bool)
        allowed_NV[:, self._symbol_range] = (can_NK[:, OPEN, None] & (kind_K == OPEN)) | (
            can_NK[:, LEAF, None] & (kind_K == LEAF)
        )
        rows = np.flatnonzero(can_NK[:, CLOSE])
        allowed_NV[rows, _innermost(states)[rows]] = True
        if self._leaf_SW is not None:
            rows = np.flatnonzero(can_NK[:, LEAF])
            allowed_NV[rows, self._next_word(states)[rows]] = True
        allowed_NV[:, self.eos_id] = can_NK[:, END]
        return allowed_NV

    def word(self, states: States) -> np.ndarray:
        """[n] the token of the word that may come next; -1 where none may. Only with leaves."""
        return np.where(self._can(states)[:, LEAF], self._next_word(states), -1)

    def advance(self, states: States, tokens: np.ndarray) -> States:
        """The states after each hypothesis took its token, tokens [n].

        A token that was not allowed ends its hypothesis: only eos may follow.
        """
        tokens = np.asarray(tokens)
        rows = np.arange(len(states))
        kind = self._kind_V[tokens]
        if self._leaf_SW is not None:
            kind = np.where(tokens == self._next_word(states), LEAF, kind)
        legal = self._can(states)[rows, kind]
        legal &= (kind != CLOSE) | (tokens == _innermost(states))
        opens = kind == OPEN
        depth = states.depth + opens - (kind == CLOSE)
        stack_ND = states.stack_ND
        if depth.max(initial=0) > stack_ND.shape[1]:
            stack_ND = np.pad(stack_ND, ((0, 0), (0, stack_ND.shape[1])))
        else:
            stack_ND = stack_ND.copy()
        pushed = np.flatnonzero(opens)
        stack_ND[pushed, states.depth[pushed]] = self._closing_V[tokens[pushed]]
        return States(
            words_left=np.where(legal, states.words_left - (kind == LEAF), 0),
            tokens_left=states.tokens_left - 1,
            depth=np.where(legal, depth, 0),
            opens=np.where(opens, states.opens + 1, 0),
            sentence=states.sentence,
            stack_ND=stack_ND,
        )

    def select(self, states: States, rows: np.ndarray) -> States:
        """The states of `rows`, in their order; a row may come several times or not at all."""
        return States(
            states.words_left[rows],
            states.tokens_left[rows],
            states.depth[rows],
            states.opens[rows],
            states.sentence[rows],
            states.stack_ND[rows],
        )

    def _next_word(self, states: States) -> np.ndarray:
        """[n] the token of the next word; -1 where none is left."""
        assert self._leaf_SW is not None
        if not self._leaf_SW.size:
            return np.full(len(states), -1)
        width = self._leaf_SW.shape[1]
        column = np.minimum(width - states.words_left, width - 1)
        return np.where(states.words_left > 0, self._leaf_SW[states.sentence, column], -1)

    def _can(self, states: States) -> np.ndarray:
        """bool [n, 5]: the kinds of token that may come next."""
        inside = states.depth > 0
        words = states.words_left > 0
        needed = states.words_left + states.depth + 1  # each word, each closing bracket, eos
        can = np.zeros((len(states), 5), dtype=bool)
        can[:, OPEN] = (
            words & (states.opens < self.max_opens) & (states.tokens_left >= needed + 2)
        ) | (words & ~inside)
        can[:, LEAF] = words & inside
        can[:, CLOSE] = inside & (states.opens == 0) & ((states.depth > 1) | ~words)
        can[:, END] = ~inside & ~words
        return can


def _innermost(states: States) -> np.ndarray:
    """[n] the token that closes the innermost open bracket; meaningless where none is open."""
    return states.stack_ND[np.arange(len(states)), np.maximum(states.depth - 1, 0)]


def _kind(symbol: str) -> int:
    if symbol in ("", "(", ")"):
        return FOREIGN
    return {"(": OPEN, ")": CLOSE}.get(symbol[0], LEAF)
