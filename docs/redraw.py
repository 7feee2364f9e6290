#!/usr/bin/env python3
"""Draws the table of a sweep with matplotlib: the rate of each property, with its interval.

    locklab sweep kleppmann/k1
    python3 docs/redraw.py target/locklab/kleppmann-k1/sweep-*.csv chart.pdf lease resource

The columns are described in docs/formats.md. Needs pandas and matplotlib.
"""

import sys

import matplotlib

matplotlib.use("Agg")  # a file is drawn, no window opened
import matplotlib.pyplot as plt
import pandas as pd

FORMAT = 1
# The columns between "environment" and "property" are the parameters.
BEFORE, AFTER = "environment", "property"
# Okabe and Ito's colours, and markers that tell lines apart without them.
LOOKS = [("#0072b2", "o", "-"), ("#009e73", "s", "--"), ("#e69f00", "^", ":"), ("#cc79a7", "D", "-.")]


def main(table, picture, *properties):
    data = pd.read_csv(table)
    if (data["format"] > FORMAT).any():
        sys.exit(f"{table} has format {data['format'].max()}, and this script reads {FORMAT}")
    columns = list(data.columns)
    parameters = columns[columns.index(BEFORE) + 1 : columns.index(AFTER)]
    varied = [name for name in parameters if data[name].nunique() > 1]
    if len(varied) != 1:
        sys.exit(f"this script draws one varied parameter, not {varied or 'none'}")
    [x] = varied
    properties = properties or ("lease", "resource")
    missing = set(properties) - set(data["property"])
    if missing:
        sys.exit(f"{table} has no {', '.join(sorted(missing))}")

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, (colour, marker, dashes) in zip(properties, LOOKS):
        line = data[data["property"] == name].sort_values(x)
        below, above = line["rate"] - line["rate_low"], line["rate_high"] - line["rate"]
        axes.errorbar(
            line[x],
            100 * line["rate"],
            # Rounding may leave a bound a little on the wrong side.
            yerr=(100 * below.clip(lower=0), 100 * above.clip(lower=0)),
            label=name,
            color=colour,
            marker=marker,
            linestyle=dashes,
            capsize=3,
            markersize=5,
        )
    runs = data["runs"].iloc[0]
    axes.set_xlabel(x)
    axes.set_ylabel("violated runs (%)")
    axes.set_title(f"{data['scenario'].iloc[0]}, {runs} runs for each point")
    axes.legend()
    figure.savefig(picture)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
