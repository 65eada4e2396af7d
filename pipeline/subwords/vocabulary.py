"""The joint vocabulary: sentencepiece pieces, then the tree symbols of a parsing corpus.

Encoding then decoding gives the text back, whatever it holds, with two exceptions: U+2581, which
sentencepiece uses for the space, comes back as a space; and without byte fallback, characters
that learning never saw become unk_id and are lost.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pipeline.encoded import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from pipeline.files import read_json

UNTAGGED = "XX"  # as in corpora.trees: the symbol of a word that nothing else is known of
SPACE = "\u2581"
SPECIAL = frozenset({PAD_ID, BOS_ID, EOS_ID, UNK_ID})


class Vocabulary:
    """Ids [0, n_pieces) are pieces, [n_pieces, size) symbols."""

    def __init__(self, model: bytes, symbols: Sequence[str] = ()) -> None:
        """Raises RuntimeError where `model` is none of sentencepiece's."""
        import sentencepiece  # imported late: starting a step must not wait for it

        if not model:  # sentencepiece would take it, and have no pieces
            raise RuntimeError("an empty sentencepiece model")
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.n_pieces: int = self._processor.get_piece_size()
        self.symbols = list(symbols)
        self._ids = {symbol: self.n_pieces + i for i, symbol in enumerate(self.symbols)}

    @classmethod
    def load(cls, folder: str | Path) -> "Vocabulary":
        """Read subwords.model and, if it is there, symbols.json.

        Raises ValueError naming the file that is damaged.
        """
        model, symbols = Path(folder) / "subwords.model", Path(folder) / "symbols.json"
        known = read_json(symbols) if symbols.exists() else ()
        try:
            return cls(model.read_bytes(), known)
        except RuntimeError:  # all that sentencepiece says is where in its code
            raise ValueError(
                f"{model}: damaged, not a sentencepiece model; make or copy it again"
            ) from None

    @property
    def size(self) -> int:
        return self.n_pieces + len(self.symbols)

    @property
    def pieces(self) -> list[str]:
        """The pieces by their ids, special ones included."""
        return [self._processor.id_to_piece(index) for index in range(self.n_pieces)]

    def encode(self, text: str) -> list[int]:
        """Ids of the pieces of one line, without eos_id; [] for the empty line."""
        ids: list[int] = self._processor.encode(text)
        return ids

    def encode_lines(self, lines: Sequence[str], *, threads: int = 1) -> list[list[int]]:
        """As `encode`, for many lines at once."""
        ids: list[list[int]] = self._processor.encode(list(lines), num_threads=threads)
        return ids

    def encode_arrays(self, lines: Sequence[bytes], *, threads: int = 1) -> list[np.ndarray]:
        """For each line of UTF-8 an int32 array of its ids, eos_id at the end."""
        ids: list[np.ndarray] = self._processor.encode(
            list(lines), add_eos=True, out_type="numpy", num_threads=threads
        )
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the pieces before the first eos_id.

        Other special ids and symbols leave no trace. Neither U+2581 nor a line end comes out,
        whatever the ids: both become spaces, so that the result is one line.
        """
        pieces = []
        for index in ids:
            if index == EOS_ID:
                break
            if index not in SPECIAL and index < self.n_pieces:
                pieces.append(int(index))
        text: str = self._processor.decode(pieces)
        return text.replace(SPACE, " ").replace("\n", " ")

    def encode_symbols(self, symbols: Iterable[str], *, words: bool = False) -> list[int]:
        """Ids of tree symbols; unk_id for one that is not in the vocabulary.

        words: symbols other than brackets are words that stand for themselves; see `word_ids`.
        """
        if not words:
            return [self._ids.get(symbol, UNK_ID) for symbol in symbols]
        symbols = list(symbols)
        leaves = iter(self.word_ids([s for s in symbols if not s.startswith(("(", ")"))]))
        return [
            self._ids.get(symbol, UNK_ID) if symbol.startswith(("(", ")")) else next(leaves)
            for symbol in symbols
        ]

    def word_ids(self, words: Sequence[str]) -> list[int]:
        """For each word the id of its first piece, which its tree's symbol is too.

        Where that is unk_id (an unseen character, no byte fallback) it is the id of XX instead,
        since unk_id is never decoded.
        """
        first = [pieces[0] if pieces else UNK_ID for pieces in self._processor.encode(list(words))]
        return [self._ids.get(UNTAGGED, UNK_ID) if piece == UNK_ID else piece for piece in first]

    def decode_symbols(self, ids: Iterable[int], *, words: bool = False) -> list[str]:
        """The symbols before the first eos_id; ids that are no symbols become "".

        words: pieces stand for words, whose symbol is XX.
        """
        names = []
        for index in ids:
            if index == EOS_ID:
                break
            if self.n_pieces <= index < self.size:
                names.append(self.symbols[index - self.n_pieces])
            else:
                piece = words and index < self.n_pieces and index not in SPECIAL
                names.append(UNTAGGED if piece else "")
        return names
