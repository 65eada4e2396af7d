# What the rules look up: the checked configuration, paths, and which runs stand behind a table.
import json
import os
import re
import shlex
import sys
import time
from pathlib import Path

from snakemake.resources import Resources
from snakemake.settings.types import DeploymentMethod

# The code lies where this file does, wherever Snakemake was started (-s, -d, module:).
CODE = Path(workflow.current_basedir.get_path_or_uri(secret_free=False)).parents[1]
if ":" in str(CODE):
    sys.exit(f"Python finds no module below a path with a colon; move the code: {CODE}")


def prefix():
    """What every rule's shell begins with.

    Jobs run the interpreter that runs Snakemake, whether or not its environment is activated; with
    --sdm conda that of the rule's environment, though another may stand before it in PATH.
    """
    python = shlex.quote(str(Path(sys.executable).parent)) + ":"
    settings = workflow.deployment_settings
    if settings and DeploymentMethod.CONDA in settings.deployment_method:
        python = '"${CONDA_PREFIX:+$CONDA_PREFIX/bin:}"'  # unset while one is made
    show_error = shlex.quote(str(CODE / "workflow" / "show_error.sh"))
    return (
        f"set -euo pipefail; export PATH={python}$PATH"
        f" PYTHONPATH={shlex.quote(str(CODE))}${{PYTHONPATH:+:$PYTHONPATH}}; . {show_error}; "
    )


shell.prefix(prefix().replace("{", "{{").replace("}", "}}"))  # format() undoes it
sys.path.insert(0, str(CODE))

from pipeline.config.command_line import settings_of
from pipeline.config.corpus import (
    CorpusConfig,
    RawCorpus,
    Sides,
    SubwordCorpus,
    TextCorpus,
)
from pipeline.config.loading import ConfigError, config_folder, load_project
from pipeline.machine import Machine, gpus_here, impossible
from pipeline.progress import leave_stdout, print_in_any_encoding, warn, warnings_since

print_in_any_encoding()


def wrong_data_root(folder):
    if isinstance(folder, str) and not Path(folder).expanduser().is_dir():
        return [f"data_root must be a folder: {folder}"]
    return []


CONFIG = config_folder()
try:
    # config.yaml is read here, not by `configfile:`, so that its errors have a line.
    PROJECT = load_project(
        CONFIG, {**config, **settings_of(workflow.config_settings.config_args)}
    )
except ConfigError as error:
    # The user's mistake, not the workflow's: no trace of these lines.
    given = {**config, **settings_of(workflow.config_settings.config_args)}
    sys.exit("\n".join([str(error), *wrong_data_root(given.get("data_root"))]))

STARTED = time.time()
SCALE = PROJECT.scale.name
R = f"results/{SCALE}"


def refuse_wrong_folders():
    """Before the DAG looks into them; on a cluster the data need not be where jobs run."""
    if found := re.search(r"\{\s*(\d\w*|n)\s*\}", os.getcwd()):
        sys.exit(
            f"Snakemake can't look for its locks below a name with {found[0]}; start it in "
            f"another folder: {os.getcwd()}"
        )
    if wrong := wrong_data_root(PROJECT.config.data_root):
        sys.exit(wrong[0])
    below = "corpora runs checkpoints search tables figures logs benchmarks".split()
    for folder in (Path("results"), Path(R), *(Path(R, name) for name in below)):
        if folder.exists() and not folder.is_dir():
            sys.exit(
                f"results go into a folder of this name; move the file away: {folder}"
            )


def wrong_tables():
    """Refuse what tables would stumble over after all trainings: the paper's figures, and devices.
    Returns the experiments that rows name and that are not there, with what is said of each.
    """
    from pipeline.evaluation.cost import load_devices
    from pipeline.results.published import (
        load_published,
        load_published_layers,
        rows_without_experiment,
    )

    try:
        load_devices(CONFIG / "devices.yaml")
        load_published_layers(CONFIG / "paper" / "table1.yaml")
        tables = {
            table: load_published(CONFIG / "paper" / f"{table}.yaml")
            for table in ("table2", "table3", "table4")
        }
        return rows_without_experiment(tables, PROJECT.tables_of)
    except ValueError as error:
        sys.exit(str(error))


if workflow.is_main_process:
    refuse_wrong_folders()
NOT_THERE = wrong_tables()
if workflow.is_main_process:
    for said in NOT_THERE.values():
        warn(said)

RUNS = {
    f"{experiment}-seed{seed}": (experiment, seed)
    for experiment in PROJECT.experiments
    for seed in PROJECT.seeds_of(experiment)
}
SEARCHED = {
    f"{training.name}-seed{PROJECT.seeds_of(search.experiment)[0]}": training
    for search in PROJECT.searches.values()
    for training in search.trainings
}
GENERATED, FETCHED, SELF_TRAINED = (
    [c.name for c in PROJECT.corpora.values() if c.source.kind == kind]
    for kind in ("grammar", "files", "self_training")
)
TABLES = ("table1", "table2", "table3", "table4")


def machine_of_profile():
    """What the profile, or --set-resources, gives the rule `train`."""
    given = workflow.resource_settings.overwrite_resources.get("train", {})
    given = Resources.from_mapping(given).items()
    plain = {name: r.raw if r.is_evaluable() else r.value for name, r in given}
    try:
        return Machine.of(plain)
    except ValueError as error:
        sys.exit(f"error: {error}")


MACHINE = machine_of_profile()
# A job on a cluster reads these lines too; its retries are the main process's.
RETRIES = MACHINE.retries if workflow.is_main_process else 0
if workflow.is_main_process and MACHINE.gpu_type is None and (found := gpus_here()):
    if "accelerators" not in workflow.global_resources:
        workflow.register_resource("accelerators", found)


pathvars:
    results=R,
    logs=f"{R}/logs",
    benchmarks=f"{R}/benchmarks",
    average=f"{R}/runs/{{run}}/average{{n_average}}",


wildcard_constraints:
    corpus="|".join(PROJECT.corpora),
    run="|".join(RUNS),
    split="train|dev|test",
    n_average=r"\d+",
    table="|".join(TABLES),


def section(value):
    """A section of the configuration as a rule's parameter: JSON, which Snakemake can compare."""
    return json.dumps(value.model_dump(mode="json"), sort_keys=True)


def corpus_section(part):
    """An input function: the keys of a corpus file that `part` of it has, and a step needs."""
    return lambda wildcards: section_of(PROJECT.corpora[wildcards.corpus], part)


def section_of(config, part):
    data = config.model_dump(mode="json", include=part.model_fields.keys())
    return json.dumps(data, sort_keys=True)


def experiment(wildcards):
    """That of a run, or the training of a search."""
    run = wildcards.run
    return SEARCHED[run] if run in SEARCHED else PROJECT.experiments[RUNS[run][0]]


def corpus(wildcards):
    return PROJECT.corpora[PROJECT.scale.tasks[experiment(wildcards).task]]


def seed_of(wildcards):
    return int(wildcards.run.rpartition("-seed")[2])


def same_training(run):
    """What names a training: runs that agree in it share one folder of checkpoints."""
    found = SEARCHED[run] if run in SEARCHED else PROJECT.experiments[RUNS[run][0]]
    return (
        PROJECT.scale.tasks[found.task],
        section(found.model),
        section(found.training),
        run.rpartition("-seed")[2],
    )


FIRST_OF = {same_training(run): run for run in reversed([*RUNS, *SEARCHED])}


def twin(wildcards):
    """The manifest of an earlier run that is the same training, which this one waits for."""
    first = FIRST_OF[same_training(wildcards.run)]
    folder = "search" if first in SEARCHED else "runs"
    return [] if first == wildcards.run else f"{R}/{folder}/{first}/train.json"


def corpus_path(path):
    """An input function: `path` below the folder of the corpus that a run trains on."""
    return lambda wildcards: f"{R}/corpora/{corpus(wildcards).name}/{path}".format(
        **wildcards
    )


def experiment_file(wildcards):
    """Tracked as a corpus file is."""
    if wildcards.run not in SEARCHED:
        return ancient(config_file(f"experiments/{experiment(wildcards).name}.yaml"))
    search = experiment(wildcards).name.removeprefix("search_").rpartition("_")[0]
    return ancient(config_file(f"searches/{search}.yaml"))


def text_of(side):
    """An input function: text of a split of a run's corpus, side 0 the source, 1 the target."""
    return lambda wildcards: (
        f"{R}/corpora/{corpus(wildcards).name}/text/{wildcards.split}"
        f".{corpus(wildcards).languages[side]}"
    )


def without_suffix(wildcards, output):
    return os.path.splitext(output[0])[0]


def folder_of_output(wildcards, output):
    return os.path.dirname(output[0])


def corpora_of_input(wildcards, input):
    """Folder of all corpora, from the text folders of each."""
    return os.path.dirname(os.path.dirname(input.texts[0]))


def evaluations(table):
    """Folders of the evaluations that a table shows: a run, an average and a split each.

    Table 3 decodes the dev set from the last checkpoint alone (section 6.2); the others decode the
    test set from the experiment's average.
    """
    found = []
    for run, (name, _) in RUNS.items():
        shown = PROJECT.experiments[name]
        if table in shown.tables:
            n_average, split = (
                (1, "dev") if table == "table3" else (shown.decoding.n_average, "test")
            )
            found.append(f"{R}/runs/{run}/average{n_average}/{split}")
    return found


def evaluations_of(experiment):
    """All evaluations of one experiment, over the tables that show it and its seeds."""
    found = {
        f
        for table in PROJECT.experiments[experiment].tables
        for f in evaluations(table)
    }
    return sorted(f for f in found if RUNS[Path(f).parents[1].name][0] == experiment)


def stage(experiment, file):
    """A file of each evaluation of an experiment."""
    return [f"{folder}/{file}" for folder in evaluations_of(experiment)]


def reasons():
    """Why rows of tables are blank, as JSON by experiment."""
    missing = {
        name: f"no such file: config/experiments/{name}.yaml" for name in NOT_THERE
    }
    return json.dumps({**missing, **PROJECT.left_out}, sort_keys=True)


def importance(wildcards):
    """Which runs go first: the first row of Table 2, the rest of it, then the other tables."""
    shown = experiment(wildcards)
    return 35 if shown.name == "ende_base" else 20 if "table2" in shown.tables else 0


def corpus_threads(wildcards):
    """Generated corpora are small: one thread, so that no job waits for several cores at once."""
    return 1 if wildcards.corpus in GENERATED else 4


def corpus_importance(wildcards):
    """Corpora in the order in which their runs are wanted, each before its runs."""
    tasks = [
        task for task, name in PROJECT.scale.tasks.items() if name == wildcards.corpus
    ]
    return 40 if "en-de" in tasks else 30 if "en-fr" in tasks else 10


def attention_model(wildcards):
    """Folder of the model whose attention is drawn: the first seed of the scale's experiment."""
    name = PROJECT.scale.attention.experiment
    n_average = PROJECT.experiments[name].decoding.n_average
    return f"{R}/runs/{name}-seed{PROJECT.seeds_of(name)[0]}/average{n_average}/model"


def trainings(folders):
    """train.json of the runs behind evaluations."""
    return sorted({f"{Path(folder).parents[1]}/train.json" for folder in folders})


def table_inputs(table):
    """Files that a table is made of, by name."""
    folders = evaluations(table)
    perplexities = (
        [f"{folder}/perplexity.json" for folder in folders] if table == "table3" else []
    )
    return {
        "runs": trainings(folders),
        "scores": [f"{folder}/scores.json" for folder in folders],
        "perplexities": perplexities,
    }


def figure_inputs():
    """Everything that tables 2 to 4 are made of, each file once, and attention maps."""
    found = {"runs": set(), "scores": set(), "perplexities": set()}
    for table in TABLES[1:]:
        for name, files in table_inputs(table).items():
            found[name].update(files)
    sentences = PROJECT.scale.attention.sentences if PROJECT.scale.attention else ()
    attention = [f"{R}/attention/{name}.json" for name in sentences]
    return {
        **{name: sorted(files) for name, files in found.items()},
        "attention": attention,
    }


def deliverables():
    """What plain `snakemake` makes: the `results` of config.yaml."""
    made = []
    for result in PROJECT.config.results:
        if result in TABLES:
            made += multiext(f"{R}/tables/{result}", ".md", ".csv", ".tex", ".html")
        elif result == "figures":
            made.append(f"{R}/figures")
        elif result == "report":
            made.append(f"{R}/report.html")
        else:
            made += stage(result, "scores.json")
    return made


def show_tables():
    """Print the tables that were made, and where they lie."""
    from pipeline.commands.tables import print_tables

    try:
        print_tables(Path(R) / "tables")
        sys.stdout.flush()
    except BrokenPipeError:  # `snakemake | head`: whoever read has enough
        leave_stdout()


def show_warnings():
    """All warnings of this run at its end, those of jobs from their logs."""
    found = [*NOT_THERE.values(), *warnings_since(STARTED, folder=Path(R) / "logs")]
    if found:
        lines = "".join(f"\n  {message}" for message in found)
        print(f"warnings of this run:{lines}", file=sys.stderr)


def refuse_impossible():
    """Before anything is queued: what no GPU, node or partition here can ever run."""
    if found := impossible(workflow.dag.needrun_jobs(), MACHINE):
        sys.exit("\n".join(f"error: {reason}" for reason in found))
