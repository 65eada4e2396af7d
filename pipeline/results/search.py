"""The table of a search: settings from the best on dev to the worst, and which is chosen."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pipeline.results.notes import at_commit, short
from pipeline.results.table import Column, Row, Section, Table, number

RANKED_BY = "bracket_f1_all_lines"  # unusable trees count as wrong: no setting gains by them
Manifest = Mapping[str, Any]


def search_table(
    *,
    name: str,
    title: str,
    experiment: str,
    settings: Sequence[tuple[str, Mapping[str, Any]]],
    scores: Sequence[Manifest],
    trains: Sequence[Manifest],
) -> Table:
    """One row a setting; equal scores keep the order of `settings`.

    settings: the name of each, and the values of what is varied; scores and trains: the manifest
    of each. Raises ValueError for a score of another split than dev: a test set chooses nothing.
    """
    for score in scores:
        if score["split"] != "dev":
            raise ValueError(
                f"a search looks at dev alone; this score is of {score['split']}: {score['run']}"
            )
    varied = list(settings[0][1])
    found = []
    for (setting, values), score, train in zip(settings, scores, trains, strict=True):
        brackets = score["scores"]
        found.append(
            {
                "setting": setting,
                **values,
                "dev_bracket_f1_all_lines": brackets[RANKED_BY]["score"],
                "dev_bracket_f1": brackets["bracket_f1"]["score"],
                "dev_perplexity": train["dev_perplexity"],
                "training_seconds": train["elapsed_seconds"],
            }
        )
    found.sort(key=lambda row: -row["dev_bracket_f1_all_lines"])
    rows = tuple(
        Row(
            (
                str(rank),
                *(str(row[key]) for key in varied),
                number(row["dev_bracket_f1_all_lines"], 2),
                number(row["dev_bracket_f1"], 2),
                number(row["dev_perplexity"], 3),
                number(row["training_seconds"], 0),
            ),
            ours=rank == 1,
        )
        for rank, row in enumerate(found, start=1)
    )
    headings = ("F1, all lines", "F1", "dev perplexity", "training seconds")
    best = ", ".join(f"{key} {found[0][key]}" for key in varied)
    first = scores[0]
    notes = (
        f"Chosen: {best}. Write it into config/experiments/{experiment}.yaml; nothing takes it "
        "over by itself.",
        f"Scale {first['scale']}; ranked by bracket_f1_all_lines on dev ({first['test_set']}, "
        f"{first['lines']:,} lines), seed {first['seed']}; no test set was decoded.",
        f"bracket_f1_all_lines: {first['scores'][RANKED_BY]['signature']}",
        f"bracket_f1: {first['scores']['bracket_f1']['signature']}",
        f"Last {first['n_average']} checkpoints averaged; {at_commit([short(first['commit'])])}.",
    )
    columns = (Column("rank"), *map(Column, varied), *map(Column, headings))
    return Table(
        name=f"search_{name}",
        title=title,
        columns=columns,
        sections=(Section(title, rows),),
        notes=notes,
        frame=pd.DataFrame(found),
    )
