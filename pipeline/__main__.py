"""Commands for people: python -m pipeline translate | parse | score | tables | plan ...

The package installs the same as `reattend translate` and so on.
"""

from __future__ import annotations  # an older Python is told so by doctor

import argparse
import errno
import importlib
import signal
import sys
from pathlib import Path
from typing import NoReturn

from pipeline.progress import leave_stdout, print_in_any_encoding

COMMANDS = {
    "doctor": "what this machine is, and whether everything can run on it",
    "translate": "translate text with a trained model",
    "parse": "parse sentences with a trained parser",
    "export": "export a trained model to Hugging Face or CTranslate2",
    "score": "score anyone's translations or trees",
    "tables": "print the tables that were made",
    "plan": "what a scale costs, before it is run",
    "checkpoints": "list checkpoint folders, remove those that nothing needs",
    "rescue": "after a killed run: the state of things, and what to do next",
}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help lists the options)\n")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; its module is imported only then. Returns the exit code."""
    print_in_any_encoding()
    arguments = sys.argv[1:] if arguments is None else arguments
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items())
    program = "reattend" if Path(sys.argv[0]).stem == "reattend" else "python -m pipeline"
    parser = _Parser(
        prog=program,
        description="Commands of Reattend.",
        epilog=f"commands:\n{listing}\n\nEach explains itself: {program} COMMAND --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    name = parser.parse_args(arguments[:1]).command
    try:
        command = importlib.import_module(f"pipeline.commands.{name}")
        own = _Parser(prog=f"{program} {name}", description=COMMANDS[name])
        command.add_arguments(own)
        code = int(command.run(own.parse_args(arguments[1:])))
        sys.stdout.flush()  # here, so that a reader who has gone is met here too
        return code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        leave_stdout()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno == errno.ENOSPC:
            leave_stdout()
        what = error.strerror or error
        print(
            f"{name}: {error.filename}: {what}" if error.filename else f"{name}: {what}",
            file=sys.stderr,
        )
        return 1
    except ValueError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
