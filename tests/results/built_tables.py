"""Tables of the made-up runs, and how to look into them."""

from pipeline.evaluation.cost import load_devices
from pipeline.results.costs import Rates
from pipeline.results.published import load_published
from pipeline.results.runs import gather_runs, read_manifests
from pipeline.results.tables import build_table
from pipeline.steps import table2, table3, table4

STEPS = {"table2": table2, "table3": table3, "table4": table4}


def build(demo, paths, name, **options):
    published = load_published(paths.paper / f"{name}.yaml")
    runs = gather_runs(
        trains=read_manifests(demo.trains),
        scores=read_manifests(demo.scores),
        perplexities=read_manifests(demo.perplexities),
        scale="demo",
        split=published.split,
        n_average=published.n_average,
    )
    rates = Rates(load_devices(paths.root / "config" / "devices.yaml"))
    return build_table(published, runs, rates=rates, **options)


def row(frame, experiment):
    found = frame[frame["experiment"] == experiment]
    assert len(found) == 1
    return found.iloc[0]


def cells_of(built, label, heading):
    place = [column.heading for column in built.columns].index(heading)
    rows = [row for section in built.sections for row in section.rows]
    return [row.cells[place] for row in rows if label in row.cells]
