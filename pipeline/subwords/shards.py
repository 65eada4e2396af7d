"""Runs of lines of a text, the unit of parallel work."""

from pathlib import Path

from pipeline.files import READ_BYTES


def shard_starts(path: Path, *, lines_per_shard: int) -> tuple[list[int], int]:
    """Byte offset where each run of lines begins, and the number of lines of the file.

    A last line without "\\n" counts as a line. An empty file has one run of no lines.
    """
    starts, n_lines, position = [0], 0, 0
    block = b""
    with open(path, "rb") as stream:
        while block := stream.read(READ_BYTES):
            found, at = block.count(b"\n"), 0
            while found and (left := lines_per_shard - n_lines % lines_per_shard) <= found:
                for _ in range(left):
                    at = block.index(b"\n", at) + 1
                n_lines, found = n_lines + left, found - left
                starts.append(position + at)
            n_lines, position, ended = n_lines + found, position + len(block), block[-1:] == b"\n"
    if position and not ended:
        n_lines += 1
    if len(starts) > 1 and starts[-1] == position:
        starts.pop()
    return starts, n_lines
