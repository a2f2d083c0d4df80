"""The sentences of a report, the same in a terminal and on a page."""

from typing import Any

import numpy as np


def _same(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.8g}" if low == high else f"{low:.6g} to {high:.6g}"


def _widths(widths: list[int]) -> str:
    """`64, 512 × 31, 1`: repeated widths counted."""
    edges = np.flatnonzero(np.diff(widths)) + 1
    runs = np.split(np.asarray(widths), edges)
    return ", ".join(f"{run[0]} × {len(run)}" if len(run) > 1 else f"{run[0]}" for run in runs)


def network_line(data: dict[str, Any]) -> str:
    """What the network is."""
    net = data["network"]
    return (
        f"{net['activation']} MLP of {net['depth']} layer{'s' if net['depth'] > 1 else ''}, widths {_widths(net['widths'])}; "
        f"C_b = {_same(net['C_b'])}, C_W = {_same(net['C_W'])}; {net['parameters']:,} parameters"
    )


def is_recommended(point: dict[str, Any], verdict: dict[str, Any]) -> bool:
    """Whether a critical point is the one to initialise at."""
    recommended = verdict["recommended"]
    return recommended is not None and all(recommended[name] == value for name, value in point.items())


def advice(data: dict[str, Any]) -> str:
    """The verdict on the activation, and what to initialise with."""
    verdict, name = data["criticality"], data["network"]["activation"]
    text = f"{name} is in the class “{verdict['class']}”: {verdict['reason']}. "
    point = verdict["recommended"]
    if point is None:
        return text + "It cannot be tuned to criticality: signals or their differences grow or die with depth."
    if verdict["tuned"]:
        text += "This network is initialised at the recommended point. "
    else:
        text += f"This network is not critical: C_b = {point['C_b']:.8g}, C_W = {point['C_W']:.8g} would be. "
    if point["K_star"]:
        text += f"Normalise inputs to mean square {point['mean_square']:.5g}, so that the kernel starts at K*."
    return text.rstrip()


def validity_line(data: dict[str, Any]) -> str:
    """What depth over width means for this network."""
    validity = data["validity"]
    spread = validity["relative_spread"]
    size = f"{100 * spread:.2g} % of" if spread < 1 else f"{spread:.2g} times"
    return f"The kernel's standard deviation between networks is {size} its mean: {validity['meaning']}."


def agreement(data: dict[str, Any]) -> str:
    """How theory fares, and what to expect of it."""
    found = data["agreement"]
    uncertain = [line for line in found["summary"] if line["expected_largest"] > 0]
    if not uncertain:
        return "Nothing fluctuates in a network of one layer."
    fluctuation = data["validity"]["relative_fluctuation"]
    share = f"up to about {100 * fluctuation:.2g} %" if fluctuation < 1 else "more than the whole"
    return (
        f"{data['meta']['networks']} networks. Theory leaves out the next order in 1/n, here {share} of V and of the "
        "shift of K: more networks would resolve it, wider ones shrink it."
    )


def settings_line(data: dict[str, Any]) -> str:
    """What made the report."""
    about = data["meta"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return f"Inputs: {about['inputs']}. Method {about['method']}, seed {about['seed']}. {versions}."
