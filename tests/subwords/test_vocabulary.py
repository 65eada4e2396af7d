"""Text survives the vocabulary, whatever it holds; what can't is stated and tested."""

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.corpus import Subwords
from pipeline.encoded import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from pipeline.subwords.learn import learn, sample
from pipeline.subwords.vocabulary import Vocabulary

LINES = [
    "Der schnelle braune Fuchs springt über den faulen Hund.",
    "The quick brown fox jumps over the lazy dog.",
    "Zwei  Leerzeichen, ein\u00a0geschütztes, caf\u00e9 und cafe\u0301.",
    "Die Donaudampfschifffahrt beginnt um 12.30 Uhr (morgen).",
] * 5
SYMBOLS = [")NP", ")S", "(NP", "(S", "XX"]
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\n"), max_size=40)


def subwords(**changes):
    return Subwords(
        **{"model_type": "bpe", "vocab_size": 400, "max_sentences": 1000, "seed": 1} | changes
    )


def model(lines=LINES, *, n_pieces=400, **changes):
    return learn(lines, n_pieces=n_pieces, subwords=subwords(**changes), corpus="toy")


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary(model(), SYMBOLS)


@given(TEXT)
def test_encode_then_decode_is_the_identity(vocabulary, text):
    assert vocabulary.decode(vocabulary.encode(text)) == text.replace("\u2581", " ")


@pytest.mark.parametrize(
    "text",
    [" leading", "trailing ", "two  spaces", "\ttab\t", "a\u00a0b", "cafe\u0301 caf\u00e9 ﬁ Å",
     "\r", "a\u2028b\u0085c", "\x00",
     "unseen: 漢字 🙂", "<unk> <s> </s> @@ ⁇ ▅ <0x41>", "", " ", "  ",
     "\ufeffx", "a\u200bb"],
)  # fmt: skip
def test_what_normalisation_would_fold_survives(vocabulary, text):
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert UNK_ID not in vocabulary.encode(text)


def test_the_one_character_that_does_not_survive(vocabulary):
    assert vocabulary.decode(vocabulary.encode("a\u2581b")) == "a b"


@given(st.lists(st.integers(0, 404), max_size=20))
def test_any_ids_decode_to_one_clean_line(vocabulary, ids):
    text = vocabulary.decode(ids)
    for mark in ("\n", "\u2581", "<unk>", "\u2047", "<s>", "</s>", "<pad>"):
        assert mark not in text


def test_special_ids_and_where_decoding_stops(vocabulary):
    ids = vocabulary.encode("the dog")
    assert vocabulary.decode([BOS_ID, *ids, EOS_ID, *ids]) == "the dog"
    assert vocabulary.decode([PAD_ID, UNK_ID, 401]) == ""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model())
    assert [processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id()] == [
        PAD_ID, BOS_ID, EOS_ID, UNK_ID,
    ]  # fmt: skip


@given(st.lists(TEXT, max_size=6))
def test_batches_are_single_lines_together(vocabulary, lines):
    single = [vocabulary.encode(line) for line in lines]
    assert vocabulary.encode_lines(lines, threads=2) == single
    arrays = vocabulary.encode_arrays([line.encode() for line in lines], threads=2)
    assert [array.tolist() for array in arrays] == [[*ids, EOS_ID] for ids in single]


def test_symbols_follow_the_pieces(vocabulary):
    ids = vocabulary.encode_symbols(SYMBOLS)
    assert ids == list(range(400, 405))
    assert vocabulary.decode_symbols([*ids, EOS_ID, 400]) == SYMBOLS
    assert (vocabulary.size, vocabulary.n_pieces) == (405, 400)
    assert vocabulary.encode_symbols(["(NEW"]) == [UNK_ID]
    assert vocabulary.decode_symbols([5, UNK_ID, 402]) == ["", "", "(NP"]


@given(st.lists(TEXT.filter(lambda text: text and not set(text) & set(" ()")), max_size=6))
def test_words_of_a_tree_are_the_first_pieces_of_the_source(vocabulary, words):
    """tags "words": each word's symbol is the piece that it begins with in its sentence."""
    symbols = ["(S", *words, ")S"]
    ids = vocabulary.encode_symbols(symbols, words=True)
    source = vocabulary.encode(" ".join(words))
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(vocabulary.encode(word)))
    assert starts.pop() == len(source)
    assert ids == [403, *(source[start] for start in starts), 401]
    assert vocabulary.decode_symbols(ids, words=True) == ["(S", *["XX"] * len(words), ")S"]
    assert vocabulary.decode_symbols([PAD_ID, UNK_ID, 900, 403], words=True) == ["", "", "", "(S"]
    assert vocabulary.encode_symbols(["(NEW"], words=True) == [UNK_ID]


def test_no_word_stands_as_unknown_which_is_never_decoded():
    small = Vocabulary(model(n_pieces=120, byte_fallback=False), SYMBOLS)
    assert UNK_ID not in small.word_ids(["dog", "漢", "漢字", "", "\u00a0"])


def test_without_byte_fallback_unknown_characters_leave_no_mark():
    small = Vocabulary(model(n_pieces=120, byte_fallback=False))
    ids = small.encode("the 漢 dog")
    assert UNK_ID in ids
    assert small.decode(ids) == "the  dog"


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
@pytest.mark.parametrize("symbols", [0, 7])
def test_too_large_a_vocabulary_names_the_largest_possible(model_type, symbols):
    wanted = subwords(model_type=model_type, vocab_size=100_000 + symbols)

    def attempt(vocab_size):
        return learn(
            LINES,
            n_pieces=vocab_size - symbols,
            subwords=wanted.model_copy(update={"vocab_size": vocab_size}),
            corpus="toy",
        )

    with pytest.raises(
        ValueError,
        match=r"config/corpora/toy\.yaml, subwords\.vocab_size: 1000\d\d is more .* \d+$",
    ) as error:
        attempt(100_000 + symbols)
    largest = int(str(error.value).rsplit(" ", 1)[1])
    assert Vocabulary(attempt(largest)).n_pieces == largest - symbols
    with pytest.raises(ValueError, match=f"largest possible is {largest}"):
        attempt(largest + 1)


def test_too_small_a_vocabulary_names_the_smallest_possible():
    with pytest.raises(ValueError, match=r"vocab_size: 200 is less .* smallest possible is \d+"):
        model(n_pieces=200, vocab_size=200)


def test_no_text_at_all():
    with pytest.raises(ValueError, match="toy: no training line"):
        model([])


def test_learning_is_deterministic_and_drawn_by_the_seed(tmp_path):
    path = tmp_path / "train.en"
    path.write_text("".join(f"line {number}\n" for number in range(1000)))
    other = tmp_path / "train.de"
    other.write_text("".join(f"zeile {number}\n" for number in range(1000)))

    def drawn(**changes):
        counts = {}
        lines = list(sample([path, other], subwords=subwords(**changes), counts=counts))
        return lines, counts

    lines, counts = drawn(max_sentences=100)
    assert drawn(max_sentences=100)[0] == lines
    assert drawn(max_sentences=100, seed=2)[0] != lines
    assert [line.split()[1] for line in lines[:50]] == [line.split()[1] for line in lines[50:]]
    assert counts == {"lines": 2000, "drawn": 100, "too_long": 0, "reserved": 0}
    assert len(drawn(max_sentences=10_000)[0]) == 2000
    assert model() == model()


def test_lines_that_sentencepiece_would_skip_are_counted(tmp_path):
    path = tmp_path / "train.en"
    path.write_text(f"short\n{'x' * 100_000}\nwith \u2585\n{'ü' * 8192}\n{'ü' * 8193}\n")
    counts = {}
    lines = list(sample([path], subwords=subwords(), counts=counts))
    assert lines == ["short", "ü" * 8192]
    assert counts == {"lines": 5, "drawn": 5, "too_long": 2, "reserved": 1}
    Vocabulary(model([*lines, *LINES])).encode("x" * 100_000)


def test_pieces_that_hold_line_ends_do_no_harm():
    """They break sentencepiece's .vocab text file, which is never written or read here."""
    lines = [f"wort\r{end}wort\u2028ende\u0085x\x0b" for end in ("a", "b", "c")] * 50
    odd = Vocabulary(model(lines, n_pieces=286))
    pieces = [odd._processor.id_to_piece(index) for index in range(odd.n_pieces)]
    assert any(mark in piece for piece in pieces for mark in "\r\u2028\u0085")
    assert all(odd.decode(odd.encode(line)) == line for line in lines)


@pytest.mark.parametrize("name", ["subwords.model", "symbols.json"])
@pytest.mark.parametrize("data", [b"junk\n", b"", b"\xff[", "half"])
def test_a_damaged_file_is_named(tmp_path, name, data):
    (tmp_path / "subwords.model").write_bytes(model())
    (tmp_path / "symbols.json").write_text('["(S", ")S"]')
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2] if data == "half" else data)
    with pytest.raises(ValueError, match=f"{name}: damaged"):
        Vocabulary.load(tmp_path)
