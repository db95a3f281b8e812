"""What of a pod's output the server lacks is told exactly, or not at all; and a log is said as it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

from treadle_executors.kubernetes.last_lines import last_words, missing
from treadle_executors.single.echo import AT_BYTE, BEGINS, Echo

ONE = b'{"time":"1","text":"one"}\n'
TWO = b'{"time":"2","text":"two"}\n'
OUTPUT = BEGINS + ONE + b"a warning of the interpreter\n" + AT_BYTE + b"0\n" + TWO


@pytest.mark.parametrize(
    ("output", "has", "rest"),
    [
        (OUTPUT, 0, ONE + TWO),
        (OUTPUT, len(ONE), TWO),
        (OUTPUT, len(ONE) + 3, TWO[3:]),
        (OUTPUT, len(ONE + TWO), b""),
        (OUTPUT, 10_000, b""),
        (OUTPUT + TWO[:-5], len(ONE + TWO), b""),
        (BEGINS + AT_BYTE + b"100\n" + ONE + TWO, 100 + len(ONE), TWO),
        (BEGINS + AT_BYTE + b"100\n" + ONE + TWO, 40, b""),
        (BEGINS + ONE, 0, ONE),
        (BEGINS + ONE, 5, b""),
    ],
)
def test_what_the_server_lacks_is_found_by_its_byte(output: bytes, has: int, rest: bytes) -> None:
    assert missing(output, has) == rest


def test_last_words_are_those_that_are_not_the_log() -> None:
    assert last_words(OUTPUT) == "a warning of the interpreter"
    assert last_words(BEGINS + ONE) == ""


def test_a_log_is_said_in_whole_lines_while_it_grows_with_its_byte_once_that_is_known(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    known: list[int] = []
    log, said = tmp_path / "log", bytearray()

    def heard(what: bytes) -> bool:
        said.extend(os.read(reading, 65536))
        return bytes(said) == what

    echo = Echo(log, lambda: known[0] if known else None, writing)
    echo.start()
    log.write_bytes(ONE + TWO[:5])
    wait_until(lambda: heard(BEGINS + ONE))
    known.append(7)
    wait_until(lambda: heard(BEGINS + ONE + AT_BYTE + b"7\n"))
    log.write_bytes(ONE + TWO)
    echo.end()
    assert heard(BEGINS + ONE + AT_BYTE + b"7\n" + TWO)
    os.close(reading)
    os.close(writing)
