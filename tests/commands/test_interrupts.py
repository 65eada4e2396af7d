"""Ctrl-C ends a command with 130, and what was translated is out; a reader who goes ends it too."""

import contextlib
import os
import pty
import signal
import subprocess
import sys

import pytest

COMMANDS = {
    "translate": ["translate", "MODEL"],
    "translate in two processes": ["translate", "MODEL", "--processes", "2"],
    "parse": ["parse", "PARSER"],
}
SAID = ("Traceback", "Fatal", "Error", "Exception")


@pytest.fixture(params=COMMANDS)
def command(request, toy_model_folder, parser, project_folder) -> list[str]:
    places = {"MODEL": str(toy_model_folder), "PARSER": str(parser)}
    words = [places.get(word, word) for word in COMMANDS[request.param]]
    return [sys.executable, "-m", "pipeline", *words]


@pytest.fixture
def start(project_folder):
    """Start a command in a group of its own, as a shell does; all of it is ended after the test."""
    started = []

    def run(command, **streams):
        given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(
            command, cwd=project_folder, start_new_session=True, **{**given, **streams}
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def quiet(text: str) -> bool:
    return not any(word in text for word in SAID)


def test_while_it_waits_for_the_next_line(command, start):
    process = start(command)
    process.stdin.write(b"the red fox\n\na dog\n")
    process.stdin.flush()
    lines = [process.stdout.readline() for _ in range(3)]
    assert lines[1] == b"\n"
    os.killpg(process.pid, signal.SIGINT)
    rest, err = process.communicate(timeout=400)
    assert process.returncode == 130
    assert rest == b""
    assert quiet(err.decode()), err.decode()


def test_at_work_in_a_pipe(command, start):
    """Thousands of lines wait; of those that are out none is cut off and none left out."""
    process = start(command)
    process.stdin.write(b"the red fox saw a big dog\n" * 2000)
    process.stdin.flush()
    first = process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    rest, err = process.communicate(timeout=400)
    assert process.returncode == 130
    assert quiet(err.decode()), err.decode()
    assert rest == b"" or rest.endswith(b"\n")
    assert rest.count(b"\n") < 1999
    assert set(rest.split(b"\n")[:-1]) <= {first.removesuffix(b"\n")}


def test_on_a_terminal(command, start):
    """By the key itself, which the terminal turns into a signal for the whole group."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *command],
        stdin=terminal, stdout=terminal, stderr=terminal, cwd=os.getcwd(),
    )  # fmt: skip
    os.close(terminal)
    os.write(controller, b"the red fox\n")
    seen = b""
    while seen.count(b"\n") < 2:  # its echo and its translation
        seen += os.read(controller, 4096)
    os.write(controller, b"\x03")
    with contextlib.suppress(OSError):  # the terminal's other side is closed
        while block := os.read(controller, 4096):
            seen += block
    assert process.wait(timeout=400) == 130
    assert quiet(seen.decode(errors="replace")), seen.decode(errors="replace")
    os.close(controller)


@pytest.mark.parametrize("waits", [True, False])
def test_a_reader_who_has_enough(command, waits, start):
    """As `| head -1`, while the writer goes on or has ended."""
    process = start(command)
    process.stdin.write(b"the red fox saw a big dog\n" * 3000)
    process.stdin.flush()
    if not waits:
        process.stdin.close()
    assert process.stdout.readline().endswith(b"\n")
    process.stdout.close()
    err = process.stderr.read().decode()
    assert process.wait(timeout=400) == 128 + signal.SIGPIPE
    assert quiet(err), err


def test_a_short_output_that_nobody_reads(start):
    """It would fail at Python's own end, after the command's."""
    process = start([sys.executable, "-m", "pipeline", "plan"])
    process.stdout.close()
    err = process.stderr.read().decode()
    assert process.wait(timeout=400) == 128 + signal.SIGPIPE
    assert err == ""


def test_an_output_without_space(start):
    with open("/dev/full", "wb") as full:
        process = start([sys.executable, "-m", "pipeline", "plan"], stdout=full)
        err = process.stderr.read().decode()
    assert process.wait(timeout=400) == 1
    assert err == "plan: No space left on device\n"


def test_no_standard_input(toy_model_folder, start):
    shell = f"exec {sys.executable} -m pipeline translate {toy_model_folder} <&-"
    process = start(["sh", "-c", shell])
    err = process.stderr.read().decode()
    assert process.wait(timeout=400) == 1
    assert err == "translate: standard input is closed; give a file, or text by a pipe\n"
