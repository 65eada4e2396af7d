"""Scalars for TensorBoard, written without it: no import to wait for, no package to install.

A file is a chain of records: length, its checksum, data, its checksum. The data is the protocol
buffer `Event`, of which a few fields are used; their numbers stand beside them.
"""

import math
import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import write_all

POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), reflected


class EventFile:
    """Appends to a new file of `folder`; readers join the files of a folder.

    Events of steps above `step`, from which training goes on, are dropped by readers. A record that
    a kill cut off is ignored by them.
    """

    def __init__(self, folder: Path, *, step: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / name
        self.stream = self.path.open("xb", buffering=0)
        self._write(0, _bytes(3, b"brain.Event:2"))  # file_version
        if step:
            started = _varint(1 << 3) + _varint(1)  # SessionLog.status START
            self._write(step + 1, _bytes(7, started))  # session_log

    def close(self) -> None:
        self.stream.close()

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """One event with a scalar for each name."""
        summary = b"".join(  # Summary.value: tag, simple_value
            _bytes(1, _bytes(1, name.encode()) + b"\x15" + _float(value))
            for name, value in values.items()
        )
        self._write(step, _bytes(5, summary))

    def _write(self, step: int, what: bytes) -> None:
        # wall_time and step come first
        data = b"\x09" + struct.pack("<d", time.time()) + b"\x10" + _varint(step) + what
        length = struct.pack("<Q", len(data))
        record = length + masked_crc32c(length) + data + masked_crc32c(data)
        write_all(self.stream, record, path=self.path)


def masked_crc32c(data: bytes) -> bytes:
    """The checksum as records hold it: turned by 15 bits, plus a constant."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _table_entry(crc: int) -> int:
    for _ in range(8):
        crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc


def _float(value: float) -> bytes:
    """Four bytes; what they can't hold is infinite."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def _bytes(number: int, data: bytes) -> bytes:
    """A field of bytes: its number and wire type 2, length, data."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


TABLE = [_table_entry(byte) for byte in range(256)]
