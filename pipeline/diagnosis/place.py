"""Where results go: the project's folder, its disk, the terminal's encoding, and Slurm."""

from __future__ import annotations

import fcntl
import locale as locales
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.diagnosis.finding import Finding, first_line

if TYPE_CHECKING:
    from pipeline.config.loading import Project

CODE = Path(__file__).resolve().parents[2]
GIB = 1 << 30
RESERVE_BYTES = GIB // 2  # beside what is planned: logs, figures, files that are being written
FEW_FILES = 20_000  # inodes: the demo makes some thousand files
SLURM_SECONDS = 10.0
BLOCK = 1 << 16


def configured(scale: str | None) -> Project:
    """The configuration that Snakemake would read here. Raises ValueError where it is wrong."""
    from pipeline.config.loading import load_project

    return load_project("config", {"scale": scale} if scale else {})


def project() -> list[Finding]:
    """Whether results can be written and locked here, and Snakemake finds the workflow."""
    here = Path.cwd()
    results = here / "results"
    place = results if results.is_dir() else here
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(bytes(BLOCK))
            file.flush()
            os.fsync(file.fileno())
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                text = f"its file system locks no files, which trainings need: {error.strerror}"
                fix = "place results on another disk, by a link `results` to a folder there"
                return [Finding("folder", "error", f"{place}: {text}", fix)]
    except OSError as error:
        fix = "make it writable, or place results elsewhere by a link `results`"
        return [Finding("folder", "error", f"{place}: can't be written: {error.strerror}", fix)]
    if not (here / "Snakefile").is_file():
        if not (CODE / "Snakefile").is_file():
            fix = "take a clone of the project; translate, parse, export and score need none"
            return [Finding("folder", "error", f"no Snakefile here: {here}", fix)]
        fix = f"cd {shlex.quote(str(CODE))}"
        return [Finding("folder", "warning", f"no Snakefile here: {here}", fix)]
    if not (here / "profiles" / "default" / "config.yaml").is_file():
        text = "the link `profiles` to workflow/profiles is missing: Snakemake finds no settings"
        fix = "ln -s workflow/profiles profiles"
        return [Finding("folder", "warning", text, fix)]
    return [Finding("folder", "ok", f"{here}, can be written and locked")]


def disk(scale: str | None) -> list[Finding]:
    """Whether what a scale still has to write fits; what lies in its results counts as written."""
    try:
        import pipeline.config.loading  # noqa: F401
        from pipeline.results.planning import download_bytes, plan_project
    except ImportError as error:
        words = f"to start with; what a scale writes is not told: {first_line(error)}"
        return judged_disk(Path("results"), need=RESERVE_BYTES, words=words)
    try:
        project = configured(scale)
    except ValueError as error:
        fix = "mend it; Snakemake stops at it too"
        return [Finding("config", "error", first_line(error), fix)]
    plans, corpora = plan_project(project, results=Path("results"))
    sizes = [corpus.text_bytes + corpus.encoded_bytes for corpus in corpora]
    sizes += [plan.checkpoint_bytes + plan.model_bytes for plan in plans]
    planned = sum(sizes) + download_bytes([project.corpora[corpus.name] for corpus in corpora])
    results = Path("results") / project.scale.name
    left = max(0, planned - bytes_below(results))
    spare = RESERVE_BYTES / GIB
    words = f"{left / GIB:.1f} that {project.scale.name} still writes, and {spare:.1f} to spare"
    return judged_disk(results, need=left + RESERVE_BYTES, words=words)


def judged_disk(results: Path, *, need: float, words: str) -> list[Finding]:
    """need: bytes that must be free where results go, which `words` explain."""
    place = results.absolute()
    while not place.exists():
        place = place.parent
    room = os.statvfs(place)
    free, files = room.f_bavail * room.f_frsize, room.f_favail
    text = f"{free / GIB:.1f} GiB free for results/, {need / GIB:.1f} needed: {words}"
    if free < need:
        fix = "make room (python -m pipeline checkpoints), or make results/ a link to another disk"
        return [Finding("disk", "error", text, fix)]
    if room.f_files > 0 and files < FEW_FILES:
        text = f"only {files:,} more files fit on the disk of results/: {place}"
        return [Finding("disk", "error", text, "remove files, or make results/ a link elsewhere")]
    return [Finding("disk", "ok", text), *_temporary_files()]


def _temporary_files() -> list[Finding]:
    """Only said where a shell's or Python's small files would not fit."""
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError as error:  # no folder that can be written
        return [Finding("disk", "error", first_line(error), "make room in /tmp, or set TMPDIR")]
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if free >= RESERVE_BYTES:
        return []
    text = f"{free / GIB:.2f} GiB free for temporary files: {folder}"
    return [Finding("disk", "warning", text, "make room there, or set TMPDIR to another folder")]


def bytes_below(folder: Path) -> int:
    """What a folder's files take; nothing where it is absent."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            file = os.path.join(path, name)
            try:
                total += os.lstat(file).st_size
            except FileNotFoundError:  # a run is at work
                continue
    return total


def locale() -> list[Finding]:
    """Texts and tables are UTF-8 on every machine; a terminal may show less."""
    spoken = {
        "terminal": sys.stdout.encoding or "unknown",
        "files' names": sys.getfilesystemencoding(),
        "locale": locales.getpreferredencoding(False),
    }
    chosen = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG")
    others = {
        name: encoding
        for name, encoding in spoken.items()
        if encoding.lower().replace("-", "").replace("_", "") != "utf8"
    }
    if others:
        said = ", ".join(f"{name} {encoding}" for name, encoding in others.items())
        text = f"not UTF-8: {said}; what these lack of tables and texts is not shown as written"
        fix = "export LC_ALL=C.UTF-8"
        if "PYTHONIOENCODING" in os.environ:
            fix += "; unset PYTHONIOENCODING"
        return [Finding("locale", "warning", text, fix)]
    return [Finding("locale", "ok", f"UTF-8 ({chosen or 'no locale set'})")]


def slurm() -> list[Finding]:
    """Whether a cluster answers; without one everything runs on this machine."""
    if shutil.which("sinfo") is None:
        return [Finding("Slurm", "ok", "not on this machine")]
    from pipeline import slurm as cluster

    kinds = cluster.partitions(seconds=SLURM_SECONDS)
    if kinds is None:
        text = "sinfo is here, and no cluster answers it: --workflow-profile slurm can't be used"
        fix = "ask `sinfo` yourself; on this machine alone plain `snakemake` serves"
        return [Finding("Slurm", "warning", text, fix)]
    names = list(dict.fromkeys(kind.partition for kind in kinds))
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    gpus = sum(kind.nodes * sum(kind.gpus.values()) for kind in kinds)
    inside = os.environ.get(cluster.JOB_ID)
    text = f"partitions {shown}; {gpus} GPUs" + (f"; inside job {inside}" if inside else "")
    return [Finding("Slurm", "ok", text)]
