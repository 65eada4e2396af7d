"""What the first bytes of a file say it is, where it is not the UTF-8 text that it should be."""

import re

START_BYTES = 4096
COMPRESSED = {  # patterns of the first bytes: what it is, and the command that unpacks it
    rb"\x1f\x8b\x08": ("gzip", "gunzip"),
    rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)": ("bzip2", "bunzip2"),
    rb"\xfd7zXZ\x00": ("xz", "unxz"),
    rb"PK\x03\x04": ("zip", "unzip"),
    rb"(?:[\x22-\x28]\xb5/\xfd|[\x50-\x5f]\*M\x18)": ("zstd", "zstd -d"),
    rb"(?:\x04\x22M\x18|\x02\x21L\x18)": ("lz4", "lz4 -d"),
    rb"7z\xbc\xaf\x27\x1c": ("7-Zip", "7z x"),
    rb"Rar!\x1a\x07": ("RAR", "unrar x"),
    rb"LZIP[\x00\x01]": ("lzip", "lzip -d"),
    rb"\x1f\x9d": ("compress", "uncompress"),
    rb"\x89LZO\x00": ("lzop", "lzop -d"),
}
MARKS = {  # byte order marks; the longer ones first
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
CONVERT = "convert it: iconv -f {} -t UTF-8 FILE > NEW"


def refuse_other_encodings(start: bytes, *, name: str) -> None:
    """Raises ValueError that names what a text of these first bytes is instead, and the fix.

    start: START_BYTES of it, or all. What no first bytes tell, such as Latin-1, passes.
    """
    if found := _recognised(start):
        raise ValueError(f"{name}: {found}")


def guess(line: bytes) -> str:
    """What a line that is not UTF-8 may be in, with the command that converts the file."""
    high = sum(byte >= 0x80 for byte in line)
    letters = high + sum(byte < 0x80 and chr(byte).isalpha() for byte in line)
    try:
        line.decode("windows-1252")
    except UnicodeDecodeError:
        single = False
    else:
        single = 2 * high < letters
    if single:
        return "it reads as Latin-1 (Windows-1252); " + CONVERT.format("WINDOWS-1252")
    return "find out its encoding (file -i FILE may know) and " + CONVERT.format("ENCODING")


def _recognised(start: bytes) -> str | None:
    for pattern, (packer, command) in COMPRESSED.items():
        if re.match(pattern, start):
            return f"compressed by {packer}; unpack it first: {command}"
    for mark, encoding in MARKS.items():
        if start.startswith(mark):
            return f"{encoding}, not UTF-8; " + CONVERT.format(encoding)
    for encoding in ("UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE"):
        if _has_zeros_of(encoding, start):
            return f"{encoding} without a byte order mark, not UTF-8; " + CONVERT.format(encoding)
    return None


def _has_zeros_of(encoding: str, start: bytes) -> bool:
    """Whether zero bytes stand where Latin letters have them in an encoding of wide characters,
    in most characters, and nowhere else."""
    width, little = (4 if "32" in encoding else 2), encoding.endswith("LE")
    n = len(start) // width
    columns = [start[column : n * width : width].count(0) for column in range(width)]
    letter, *zeros = columns if little else columns[::-1]
    return n > 1 and 2 * min(zeros) > n and 10 * letter < n
