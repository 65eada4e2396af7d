"""What this machine is, and whether the tables can be made on it: one screen, nothing is changed.

The exit code is 1 where a line begins with `error`: a scale can't be run before that is mended.
A `warning` is about something slower or missing that nothing has to wait for.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict

from pipeline.diagnosis import graphics, hardware, place, software
from pipeline.diagnosis.finding import Finding, found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--scale", help="demo, lab, paper ... (default: config.yaml's)")
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Each line is printed as soon as it is known; 1 if any is an error."""
    told = []
    for finding in findings(args.scale):
        told.append(finding)
        if not args.json:
            for line in finding.lines():
                say(line)
    errors = sum(finding.state == "error" for finding in told)
    if args.json:
        data = {"can_run": errors == 0, "findings": [asdict(finding) for finding in told]}
        print(json.dumps(data, indent=2))
    elif errors:
        say(f"\n{errors} to mend before everything can run")
    else:
        say("\nEverything can run here")
    return 1 if errors else 0


def findings(scale: str | None) -> Iterator[Finding]:
    """In the order of what depends on what; slow ones, which import torch, in the middle."""
    chosen = scale_named(scale)
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("Python", software.python),
        ("packages", software.packages),
        ("processor", hardware.processor),
        ("cores", hardware.cores),
        ("products", lambda: hardware.products(chosen)),
        ("memory", lambda: hardware.memory(chosen)),
        ("GPUs", graphics.gpus),
        ("compiler", software.compiler),
        ("programs", software.tools),
        ("folder", place.project),
        ("disk", lambda: place.disk(scale)),
        ("locale", place.locale),
        ("Slurm", place.slurm),
    ]
    for subject, check in checks:
        yield from found(subject, check)


def scale_named(given: str | None) -> str:
    """The scale that is asked for, else config.yaml's; nothing where that can't be read, which
    the check of the disk says."""
    if given:
        return given
    try:
        return place.configured(None).scale.name
    except (ImportError, OSError, TypeError, ValueError):
        return ""


def say(text: str) -> None:
    """On stdout, whatever its encoding: what that lacks is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
