#!/usr/bin/env python3
"""Draws the table of a sweep with matplotlib: the rate of each property, with its interval.

    locklab study sweep kleppmann/k1
    python3 docs/redraw.py target/locklab/kleppmann-k1/sweep-*.csv chart.pdf lease resource

A second varied parameter makes a line of each of its values; the one with more values is the
horizontal axis. The columns are described in docs/formats.md. Needs pandas and matplotlib.
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
    if len(varied) not in (1, 2):
        sys.exit(f"this script draws one or two varied parameters, not {', '.join(varied) or 'none'}")
    x, *second = sorted(varied, key=lambda name: -data[name].nunique())
    properties = properties or ("lease", "resource")
    missing = set(properties) - set(data["property"])
    if missing:
        sys.exit(f"{table} has no {', '.join(sorted(missing))}")

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    lines = []
    for name in properties:
        of_property = data[data["property"] == name]
        if not second:
            lines.append((name, of_property))
        for value, line in of_property.groupby(second[0]) if second else ():
            lines.append((f"{name}, {second[0]} = {value}", line))
    looks = [(colour, marker, dashes) for _, _, dashes in LOOKS for colour, marker, _ in LOOKS]
    if len(lines) <= len(LOOKS):
        looks = LOOKS
    if len(lines) > len(looks):
        sys.exit(f"{len(lines)} lines are too many for one picture: choose one property")
    for (name, line), (colour, marker, dashes) in zip(lines, looks):
        line = line.sort_values(x)
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
