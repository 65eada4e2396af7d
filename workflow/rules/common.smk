# What the rules look up: the checked configuration, paths, and which runs stand behind a table.
import json
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# Jobs run the interpreter that runs Snakemake, whether or not its environment is activated.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)
sys.path.insert(0, workflow.basedir)

from pipeline.config.loading import ConfigError, load_project

try:
    PROJECT = load_project("config", config)
except ConfigError as error:
    raise WorkflowError(f"\n{error}") from None

SCALE = PROJECT.scale.name
R = f"results/{SCALE}"
RUNS = {
    f"{experiment}-seed{seed}": (experiment, seed)
    for experiment in PROJECT.experiments
    for seed in PROJECT.seeds_of(experiment)
}
GENERATED = [c.name for c in PROJECT.corpora.values() if c.source.kind == "grammar"]
FETCHED = [name for name in PROJECT.corpora if name not in GENERATED]
TABLES = ("table1", "table2", "table3", "table4")
AVERAGE = R + "/runs/{run}/average{n_average}"


wildcard_constraints:
    corpus="|".join(PROJECT.corpora),
    run="|".join(RUNS),
    split="train|dev|test",
    n_average=r"\d+",
    table="|".join(TABLES),


def code(*modules):
    """Files of the package as inputs of a cheap step: an edit runs it again."""
    return [f"pipeline/{module}" for module in modules]


def section(value):
    """A section of the configuration as a rule's parameter: JSON, which Snakemake can compare."""
    return json.dumps(value.model_dump(mode="json"), sort_keys=True)


def corpus_section(wildcards):
    return section(PROJECT.corpora[wildcards.corpus])


def experiment(wildcards):
    return PROJECT.experiments[RUNS[wildcards.run][0]]


def corpus(wildcards):
    return PROJECT.corpus_of(RUNS[wildcards.run][0])


def corpus_path(path):
    """An input function: `path` below the folder of the corpus that a run trains on."""
    return lambda wildcards: f"{R}/corpora/{corpus(wildcards).name}/{path}".format(
        **wildcards
    )


def experiment_file(wildcards):
    """Tracked by its resolved values (params), not by its time: a comment reruns nothing."""
    return ancient(f"config/experiments/{experiment(wildcards).name}.yaml")


def text_of(side):
    """An input function: text of a split of a run's corpus, side 0 the source, 1 the target."""
    return lambda wildcards: (
        f"{R}/corpora/{corpus(wildcards).name}/text/{wildcards.split}"
        f".{corpus(wildcards).languages[side]}"
    )


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
    tables = PROJECT.experiments[experiment].tables
    return sorted(
        {
            folder
            for table in tables
            for folder in evaluations(table)
            for seed in PROJECT.seeds_of(experiment)
            if f"/{experiment}-seed{seed}/" in folder
        }
    )


def stage(experiment, file):
    """A file of each evaluation of an experiment."""
    return [f"{folder}/{file}" for folder in evaluations_of(experiment)]


def reasons():
    """Why a row of a table is blank: tasks for which the scale names no corpus."""
    return "{}"


def trainings(folders):
    """train.json of the runs behind evaluations."""
    return sorted({f"{folder.split('/average')[0]}/train.json" for folder in folders})


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
    """Everything that tables 2 to 4 are made of, each file once."""
    found = {"runs": set(), "scores": set(), "perplexities": set()}
    for table in TABLES[1:]:
        for name, files in table_inputs(table).items():
            found[name].update(files)
    return {name: sorted(files) for name, files in found.items()}


def deliverables():
    """What plain `snakemake` makes: the `results` of config.yaml."""
    made = []
    for result in PROJECT.config.results:
        if result in TABLES:
            made.append(f"{R}/tables/{result}.md")
        elif result == "figures":
            made.append(f"{R}/figures/figures.json")
        elif result == "report":
            made.append(f"{R}/report.html")
        else:
            made += stage(result, "scores.json")
    return made


def show_tables():
    """Print the tables that were made, and where they lie."""
    from pipeline.commands.tables import print_tables

    print_tables(Path(R) / "tables")
