"""Where the numbers of this folder's tests come from: `python tests/flow/make_golden_values.py` prints them.

Nothing of the library is used: the printed recursions of `printed_flow`, in extended precision, on grids fine enough for
every digit. The first table is golden_values.txt itself; the others stand in `test_ntk` (and, for one input, in
`criticality/test_tangent_single_input`).
"""

import sys
from pathlib import Path

import numpy as np
from scipy.special import erf, ndtr

sys.path.insert(0, str(Path(__file__).parents[1]))

from printed_flow import REAL, Settings, even_grid, first_layer, next_layer, polar_grid

HEADER = (
    "# activation, layer, K (11, 12, 22), V (six components), G1 (11, 12, 22); widths 40, 30, 50, C_b = 0.1, C_W = 1.5; "
    "made by make_golden_values.py"
)
ROWS = [(name, layer) for name in ("tanh", "gelu", "relu") for layer in (2, 3, 4)]
ROWS += [(name, 4) for name in ("erf", "sin", "swish", "softplus", "sigmoid", "linear")]
WIDTHS = (3, 40, 30, 50)
KERNEL = np.array([[10, 3], [3, 5]], dtype=REAL) / 10

COMPONENTS = {
    "Theta": ("11", "12"),
    "V": ("1112", "1212", "1122"),
    "D": ("1112", "1211", "1212", "1122"),
    "F": ("1112", "1212", "1122", "1221"),
    "B": ("1112", "1212", "1122", "1221"),
    "A": ("1112", "1212", "1122"),
}  # in the order of the samples that the book prints: 1324 for B and F


def logistic(z):
    return 1 / (1 + np.exp(-z))


def gaussian(z):
    return np.exp(-(z**2) / 2) / np.sqrt(2 * REAL(np.pi))


def double(function):
    """SciPy's functions know no more than double precision."""
    return lambda z: function(z.astype(float)).astype(REAL)


FUNCTIONS = {
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "gelu": (lambda z: z * double(ndtr)(z), lambda z: double(ndtr)(z) + z * gaussian(z)),
    "erf": (double(erf), lambda z: 2 / np.sqrt(REAL(np.pi)) * np.exp(-(z**2))),
    "sin": (np.sin, np.cos),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(REAL)),
    "swish": (lambda z: z * logistic(z), lambda z: logistic(z) * (1 + z * logistic(-z))),
    "softplus": (lambda z: np.logaddexp(REAL(0), z), logistic),
    "sigmoid": (logistic, lambda z: logistic(z) * logistic(-z)),
    "linear": (lambda z: z, np.ones_like),
}


def layers(name, K, theta, settings):
    """All layers from the first, one more for each entry of `settings`."""
    found = [first_layer(K, theta)]
    for each in settings:
        grid = polar_grid if name == "relu" and len(K) == 2 else even_grid
        found.append(next_layer(found[-1], *FUNCTIONS[name], each, grid))
    return found


def golden_row(name, layer):
    """K, V and G1 of two inputs, unordered pairs."""
    settings = [Settings(REAL(1) / 10, 1.5, 0.0, 0.0, WIDTHS[s] / WIDTHS[s - 1]) for s in range(1, layer)]
    last = layers(name, KERNEL, np.zeros((2, 2)), settings)[-1]
    a, b = np.triu_indices(2)
    return [*last.K[a, b], *last.V[a, b][:, a, b][np.triu_indices(3)], *last.G1[a, b]]


def written(value, digits=10):
    """As in the table: no zero before the point and none at the end."""
    text = f"{float(value):.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text.replace("0.", ".", 1) if abs(value) < 1 else text


def golden_table():
    """The lines of golden_values.txt."""
    order = {name: i for i, name in enumerate(("tanh", "gelu", "erf", "sin", "relu", "swish", "softplus", "sigmoid"))}
    rows = sorted(ROWS, key=lambda row: (order.get(row[0], len(order)), row[1]))
    return [HEADER, *(" ".join([f"{name:8s}", str(n), *map(written, golden_row(name, n))]) for name, n in rows)]


def one_input(rates_of_biases):
    """Tanh at criticality from K = 1, twelve layers of one width."""
    settings = [Settings(0.0, 1.0, rate, 1.0, 1.0) for rate in rates_of_biases]
    return layers("tanh", np.ones((1, 1)), np.full((1, 1), 2.0), settings)


def two_inputs(name, C_W, layer):
    """Two inputs of overlap 1/2 and unit rates."""
    overlap = np.array([[1.0, 0.5], [0.5, 1.0]])
    settings = [Settings(0.0, C_W, 1.0, 1.0, 1.0)] * (layer - 1)
    last = layers(name, C_W * overlap, 1 + overlap, settings)[-1]
    return [
        getattr(last, field)[tuple(int(sample) - 1 for sample in samples)]
        for field, all_samples in COMPONENTS.items()
        for samples in all_samples
    ]


def off_critical():
    """Where tanh at C_b = 0.3, C_W = 1.5 with rates 0.7 and 1.2 settles: K, Theta, V, D, F, B, A."""
    settings = [Settings(REAL(3) / 10, 1.5, REAL(7) / 10, REAL(12) / 10, 1.0)] * 150
    last = layers("tanh", np.ones((1, 1)), np.ones((1, 1)), settings)[-1]
    return [getattr(last, field).item() for field in ("K", "Theta", "V", "D", "F", "B", "A")]


def main():
    """Print every table."""
    print("\n".join(golden_table()))
    uniform, falling = one_input([1.0] * 11), one_input([REAL(1) / layer for layer in range(2, 13)])
    print("\nONE_INPUT: K, Theta, V, D, F, B, A, G1, H1 at layers 2, 3, 5, 12")
    for layer in (2, 3, 5, 12):
        fields = ("K", "Theta", "V", "D", "F", "B", "A", "G1", "H1")
        print(layer, *(f"{float(getattr(uniform[layer - 1], field).item()):.10f}" for field in fields))
    print("\nbias rates 1/l: Theta, D, F, B, A at layers 3, 12")
    for layer in (3, 12):
        print(layer, *(f"{float(getattr(falling[layer - 1], f).item()):.10f}" for f in ("Theta", "D", "F", "B", "A")))
    print("\nTWO_INPUTS")
    for case in (("relu", 2.0, 2), ("relu", 2.0, 4), ("tanh", 1.0, 3), ("tanh", 1.0, 4)):
        print(*case, *(f"{float(value):.8f}" for value in two_inputs(*case)))
    print("\noff-critical fixed point:", *(f"{float(value):.8f}" for value in off_critical()))


if __name__ == "__main__":
    main()
