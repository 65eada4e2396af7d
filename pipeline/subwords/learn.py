"""Learn the joint vocabulary of a corpus with sentencepiece (section 5.1)."""

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pipeline.config.corpus import Subwords
from pipeline.encoded import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from pipeline.files import count_lines, iter_byte_lines

RESERVED = (
    "\u2585".encode()
)  # sentencepiece skips learning lines that hold it; encoding them is fine
THREADS = 4  # stored in the model file, so a fixed number keeps the file the same everywhere
TOO_LARGE = re.compile(r"Vocabulary size too high .*?<= (\d+)")
TOO_SMALL = re.compile(r"Vocabulary size is smaller than required_chars\. \d+ vs (\d+)")


def learn(lines: Iterable[str], *, n_pieces: int, subwords: Subwords, corpus: str) -> bytes:
    """Return a sentencepiece model of `n_pieces` pieces, the four special ones included.

    Text is taken as it is: no normalisation, every space kept. A space is put before each line
    and taken off when decoding, so that a word is the same piece at the start of a line as inside.
    Raises ValueError naming corpus and key where the text does not support `n_pieces`.
    """
    import sentencepiece  # imported late: starting a step must not wait for it

    model = io.BytesIO()
    with _explained(n_pieces=n_pieces, subwords=subwords, corpus=corpus):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type=subwords.model_type,
            vocab_size=n_pieces,
            character_coverage=subwords.character_coverage,
            byte_fallback=subwords.byte_fallback,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=True,
            max_sentence_length=subwords.max_bytes,
            pad_id=PAD_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            unk_id=UNK_ID,
            unk_surface="",
            num_threads=THREADS,
            minloglevel=2,
        )
    return model.getvalue()


def sample(paths: list[Path], *, subwords: Subwords, counts: dict[str, int]) -> Iterator[str]:
    """Yield at most `max_sentences` lines, the same line numbers from each of `paths`.

    Which ones is decided by the seed alone. Lines that sentencepiece would skip without a word
    are left out; `counts` then says how many lines there are, were drawn, and were left out.
    """
    n_lines = count_lines(paths[0])
    wanted = min(n_lines, max(1, subwords.max_sentences // len(paths)))
    drawn = np.ones(n_lines, dtype=bool)
    if wanted < n_lines:
        rng = np.random.default_rng(subwords.seed)
        drawn[:] = False
        drawn[rng.choice(n_lines, wanted, replace=False, shuffle=False)] = True
    counts.update(lines=n_lines * len(paths), drawn=wanted * len(paths), too_long=0, reserved=0)
    for path in paths:
        for line, take in zip(iter_byte_lines(path), drawn.tobytes(), strict=True):
            if not take:
                continue
            if len(line) > subwords.max_bytes:
                counts["too_long"] += 1
            elif RESERVED in line:
                counts["reserved"] += 1
            else:
                yield line.decode("utf-8")


@contextmanager
def _explained(*, n_pieces: int, subwords: Subwords, corpus: str) -> Iterator[None]:
    """Turn sentencepiece's messages about the vocabulary's size into ones that name the key."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        symbols = subwords.vocab_size - n_pieces
        key = f"config/corpora/{corpus}.yaml, subwords.vocab_size"
        if large := TOO_LARGE.search(str(error)):
            raise ValueError(
                f"{key}: {subwords.vocab_size} is more than the text of {corpus} supports; "
                f"the largest possible is {int(large[1]) + symbols}"
            ) from None
        if small := TOO_SMALL.search(str(error)):
            raise ValueError(
                f"{key}: {subwords.vocab_size} is less than the characters of {corpus} need; the "
                f"smallest possible is {int(small[1]) + symbols}, or lower "
                "subwords.character_coverage"
            ) from None
        if "sentences_.empty()" in str(error):
            raise ValueError(f"{corpus}: no training line to learn subwords from") from None
        raise
