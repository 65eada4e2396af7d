# What the inputs of rules look up: files of other places, and whether outputs are still whole.
import hashlib

from pipeline.completeness import missing
from pipeline.corpora.watched import changed, given_files


def input_path(folder, name):
    """A file or folder of another place than the working directory, as an input may be written.

    Snakemake takes braces in any input for wildcards, so a folder with some is reached by a link.
    """
    if folder == Path.cwd():
        return name
    if "{" in str(folder):
        digest = hashlib.sha256(bytes(folder)).hexdigest()
        link = Path(".snakemake", "links", digest[:12])
        if not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(folder)
        folder = link
    return str(folder / name)


def environment(name):
    """A file of envs/, for `conda:`, which formats the path."""
    path = str(CODE / "envs" / f"{name}.yaml")
    return path.replace("{", "{{").replace("}", "}}")


def code(*names):
    """Modules of the package, or all of a folder's, as inputs of a cheap step: an edit reruns it."""
    paths = [CODE / "pipeline" / name for name in names]
    files = [sorted(p.glob("*.py")) if p.is_dir() else [p] for p in paths]
    found = [str(file.relative_to(CODE)) for group in files for file in group]
    return [input_path(CODE, name) for name in found]


def config_file(name):
    return input_path(CONFIG.absolute().parent, f"{CONFIG.name}/{name}")


def whole(*outputs):
    """An input function without inputs: a job is run again where files of its outputs are gone.

    Snakemake asks only whether a folder exists. It expands inputs before it decides which jobs run.
    """

    def look(wildcards):
        for output in outputs if workflow.is_main_process else ():
            path = Path(R, output.format(**wildcards))
            if path.exists() and missing(path):
                workflow.dag.forcefiles.add(str(path))
        return []

    return look


def given(wildcards):
    """Files of a corpus that the user gave: their digests (changed_files), not their times, say
    what runs again."""
    if not PROJECT.config.data_root:
        return []
    root = Path(PROJECT.config.data_root).expanduser().absolute()
    places = given_files(PROJECT.corpora[wildcards.corpus].source, root)
    names = sorted(
        {str(place.relative_to(root)) for place in places if place.is_file()}
    )
    return [ancient(input_path(root, name)) for name in names if "{" not in name]


def changed_files(wildcards):
    """An input function without inputs, as of `whole`: raw files that are not what they were."""
    folder = Path(R, "corpora", wildcards.corpus)
    if workflow.is_main_process and (folder / "files.json").exists():
        if changed(folder / "files.json", keep=not workflow.dryrun):
            workflow.dag.forcefiles.add(str(folder / "sources.json"))
    return []


def corpus_file(wildcards):
    """Tracked by its resolved values (params), not by its time: a comment reruns nothing."""
    return ancient(config_file(f"corpora/{wildcards.corpus}.yaml"))
