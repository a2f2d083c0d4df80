"""Every table of a page shows numbers of the JSON of the same report, each to the digits that it shows."""

import json
import re

import numpy as np
import pytest

from a_page import tables_of

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def agrees(cell, value):
    """A number as it is shown, `0.4213(12)`, `3.1e-05`, `12.5%`, is that number rounded; `None` is `any`."""
    if value is None:
        return cell == "any"
    if isinstance(value, str):
        return cell == value
    digits = NUMBER.search(cell)[0]
    decimals = len(digits.partition(".")[2])
    power = int(found[1]) if (found := re.search(r"e([-+]\d+)", cell)) else -2 if "%" in cell else 0
    return abs(float(digits) * 10.0**power - value) <= 0.500001 * 10.0 ** (power - decimals)


def check(table, heads, columns):
    """All heads, all rows, all cells; a column that is `None` holds no number of the data."""
    assert table[0] == heads
    for head, cells, values in zip(heads, zip(*table[1:], strict=True), columns, strict=True):
        if values is not None:
            assert len(cells) == len(values), head
            assert all(agrees(cell, value) for cell, value in zip(cells, values, strict=True)), (head, cells, values)


def first_input(columns):
    return np.asarray(columns)[:, 0].tolist()


def test_a_network(made):
    """Criticality, layers, training, agreement."""
    data, tables = json.loads(made.to_json()), tables_of(made.to_html())
    criticality, layers, training, largest, farthest = tables
    points = data["criticality"]["critical_points"]
    check(
        criticality,
        ["C_b", "C_W", "K*", "kernels near K*", ""],
        [*([point[name] for point in points] for name in ("C_b", "C_W", "K_star", "stability")), None],
    )
    of = data["layers"]
    measured = {name: first_input(of["measured"][name]["mean"]) for name in ("G", "V", "relative_fluctuation")}
    theory = {name: first_input(of[name]) for name in ("K", "G", "V", "relative_fluctuation")}
    check(
        layers,
        ["layer", "K", "kernel G", "measured", "V", "measured", "V/(nK²)", "measured"],
        [
            of["layer"],
            theory["K"],
            *(side[name] for name in ("G", "V", "relative_fluctuation") for side in (theory, measured)),
        ],
    )
    of = data["training"]
    check(
        training,
        ["layer", "Θ", "variance/Θ²", "share of\nbiases", "of\nweights", "rate of\nbiases", "of\nweights"],
        [
            range(1, 4),
            of["Theta"],
            of["relative_fluctuation"],
            *(of[of_layers][name] for of_layers in ("share", "rates") for name in ("bias", "weight")),
        ],
    )
    lines = {
        name: [line for line in data["agreement"]["summary"] if line["quantity"] == name] for name in ("G", "G1", "V")
    }
    check(
        largest,
        ["quantity", "entries", "cannot tell", "largest deviation", "would show"],
        [list(lines)]
        + [
            [gather(line[key] for line in of) for of in lines.values()]
            for key, gather in (("entries", sum), ("cannot_tell", sum), ("largest", max))
        ]
        + [None],
    )
    worst = data["agreement"]["worst"]
    assert farthest[0] == ["farthest entry", "layer", "theory", "measured", "deviation"]
    for cell, name in zip(farthest[1], ("component", "layer", "theory", "measured", "deviation"), strict=True):
        assert agrees(cell, worst[name]), name


def test_a_transformer(made_up_transformer):
    """Tokens by depth, their fates, and those for other gammas and temperatures."""
    data, tables = json.loads(made_up_transformer.to_json()), tables_of(made_up_transformer.to_html())
    fates, by_depth, advice = tables
    of = data["by_depth"]
    assert by_depth[0] == ["block", "mean square norm", "5 % to 95 %", "mean correlation", "5 % to 95 %"]
    blocks = np.asarray(of["depth_to_width"]) * data["config"]["width"]
    every = np.transpose(
        [blocks, *(np.asarray(of[name])[level] for name in ("norm", "correlation") for level in (1, 0, 2))]
    )
    shown = [[end for cell in row for end in cell.split(" to ")] for row in by_depth[1:]]
    depths = [[all(map(agrees, row, values)) for values in every].index(True) for row in shown]
    assert (depths[0], depths[-1]) == (0, len(blocks) - 1)
    assert depths == sorted(set(depths))
    both = [data["fates"][name] for name in ("limit", "networks")]
    check(
        fates,
        ["share of networks that", "explode", "vanish", "collapse"],
        [["in the limit", f"{data['meta']['networks']} networks"]]
        + [[fate[name] for fate in both] for name in ("explosion", "vanishing", "collapse")],
    )
    of = data["advice"]
    check(
        advice,
        ["gamma", *(f"tau0 = {tau0:g}" for tau0 in of["temperatures"])],
        [of["gammas"], *([max(row[i].values()) for row in of["fates"]] for i in range(len(of["temperatures"])))],
    )
    marked = [(row[0], head) for row in advice[1:] for head, cell in zip(advice[0], row, strict=True) if "→" in cell]
    gamma, tau0 = of["recommended"]
    assert marked == [(f"{gamma:g}", f"tau0 = {tau0:g}")]


@pytest.mark.parametrize(
    ("cell", "value", "same"),
    [
        ("0.4213(12)", 0.42134, True),
        ("0.4213(12)", 0.42141, False),
        ("3.1e-05", 3.14e-5, True),
        ("3.1e-05", 3.2e-5, False),
        ("12.5%", 0.1249, True),
        ("12.5%", 0.1241, False),
        ("1.30 std. errors", 1.304, True),
        ("-0.50", 0.5, False),
        ("any", None, True),
    ],
)
def test_digits_that_are_shown(cell, value, same):
    assert agrees(cell, value) is same
