r"""The tangent kernel's corrections from networks of which a single layer is narrow: nothing but Gaussian processes.

To order $1/n$ every hidden layer adds its own share, so let layer $s$ have $n$ neurons and all others infinitely many. Given
its signals $h_{j;\alpha} = \sigma(z_{j;\alpha})$ all that follows is a Gaussian process in $h$ of kernel $\mathcal K(\widehat G)$,
$\widehat G_{\alpha\beta} = C_b + \frac{C_W}n\sum_jh_{j;\alpha}h_{j;\beta}$, and all that came before has the frozen tangent kernel
$\Theta^{(s)}$:

$$E[\widehat H_{12}\,|\,h] = \Theta_{\rm after}(\widehat G)_{12} + \Theta^{(s)}_{12}\sum_j\sigma'_{j;1}\sigma'_{j;2}\,
  \frac{\partial^2\mathcal K_{12}}{\partial h_{j;1}\partial h_{j;2}} .$$

The neurons of layer $s$ are independent, so its average to order $1/n$ needs no theory of fluctuating layers: no vertex, no
$D$ and no $F$ goes into $H^{\{1\}}$ here.
"""

import numpy as np
import pytest

from finitewidth import MLP, flow
from gaussian_series import INDEX, number, reweighted_grid, substitute, times, variables

DEPTH = 5
WIDTHS = (2, 400, 300, 500, 350, 450)
C_B = (0.3, 0.1, 0.2, 0.05, 0.1)
C_W = {"tanh": (1.1, 1.7, 1.4, 1.3, 1.6), "expm1": (0.3, 0.2, 0.25, 0.3, 0.2)}
RATE_B, RATE_W = (0.5, 0.7, 0.2, 0.9, 0.4), (1.1, 0.6, 1.4, 0.8, 1.2)
X = np.array([[1.0, 0.4], [-0.3, 0.9]])

PAIRS = ((0, 0), (0, 1), (1, 1))
PAIR = np.array([[0, 1], [1, 2]])
BOTH = PAIR[0, 1]

FUNCTIONS = {"tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2), "expm1": (np.expm1, np.exp)}
FURTHER = {"tanh": 55, "expm1": 0}  # layers that are not looked at: the deep flow's test runs the same compiled program


def on_pairs(values):
    return np.stack([values[..., a] * values[..., b] for a, b in PAIRS])


class Layer:
    r"""One layer at infinite width: its kernels, what a single neuron does, and the map to the next layer."""

    def __init__(self, name, number_, K, theta):
        self.C_W, self.number, self.K, self.theta = C_W[name], number_, K, theta
        function, slope = FUNCTIONS[name]
        z, self.weights = reweighted_grid(K[PAIR])
        self.signals, self.slopes = function(z), slope(z)
        self.values, self.products_of_slopes = on_pairs(self.signals), on_pairs(self.slopes)
        self.mean_value, self.mean_slope = (
            self.weights @ each.T for each in (self.values, self.products_of_slopes)
        )  # series in the change of this layer's kernel, one for each pair

    def average(self, of):
        return self.weights[0] @ of

    def covariance(self, f, g):
        return self.average(f * g) - self.average(f) * self.average(g)

    def following(self):
        """The next layer's kernel and tangent kernel."""
        c_b, c_w, rate_b, rate_w = (each[self.number] for each in (C_B, self.C_W, RATE_B, RATE_W))
        values, slopes = self.mean_value[0], self.mean_slope[0]
        return c_b + c_w * values, rate_b + rate_w * values + c_w * slopes * self.theta


def infinitely_wide(name):
    overlap = on_pairs(X.T).sum(axis=1) / 2
    K, theta = C_B[0] + C_W[name][0] * overlap, RATE_B[0] + RATE_W[0] * overlap
    layers = [Layer(name, 1, K, theta)]
    while len(layers) < DEPTH:
        layers.append(Layer(name, len(layers) + 1, *layers[-1].following()))
    return layers


def after(layers, last):
    r"""Of the layers behind a narrow one up to `last`, as series in the change of the first metric: kernels on pairs,
    tangent kernel of their own parameters, and $\partial\mathcal K_{12}/\partial\widehat G_{12}$."""
    first = layers[0].number
    change = variables().T
    gain = RATE_W[first - 1] / layers[0].C_W[first - 1]
    theta = number(RATE_B[first - 1] + gain * (layers[0].K - C_B[first - 1])) + gain * change
    perp = number(np.ones(3))
    for layer in layers[: last - first]:
        averages = substitute(np.concatenate([layer.mean_value, layer.mean_slope], axis=1), change.T)
        values, slopes = np.split(averages, 2, axis=1)
        c_w, rate_b, rate_w = (each[layer.number] for each in (layer.C_W, RATE_B, RATE_W))
        theta = number(np.full(3, rate_b)) + rate_w * values + c_w * times(slopes, theta)
        perp = c_w * times(slopes, perp)
        change = c_w * (values - number(values[0]))
    return change, theta, perp


def gradient(series):
    return series[[INDEX[powers] for powers in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]]


def hessian(series):
    """Second derivatives in the three entries of the metric."""
    second = np.zeros((3, 3))
    for i, j in np.ndindex(3, 3):
        powers = tuple(np.bincount([i, j], minlength=3).tolist())
        second[i, j] = series[INDEX[powers]] * (2 if i == j else 1)
    return second


def share(layers, narrow, last):
    """What a narrow layer adds to each correction of the last one, times its width."""
    s, c = layers[narrow - 1], layers[0].C_W[narrow]
    kernel, theta, perp = after(layers[narrow:], last)
    noise = np.array([[c**2 * s.covariance(f, g) for g in s.values] for f in s.values])
    slope = s.products_of_slopes[BOTH]
    mean_slope, with_values = s.average(slope), np.array([c * s.covariance(slope, f) for f in s.values])
    own, mixed = s.theta[BOTH], [s.average(f * slope) for f in s.values]
    k, k12 = hessian(kernel[:, BOTH]), gradient(perp[:, BOTH])
    # d^2 K / dh_1 dh_2 beyond its leading term: through G_11 and G_22, which both signals enter twice.
    twice = 2 * k12[0] * mixed[0] + (4 * k[0, 2] + k12[1]) * mixed[1] + 2 * k12[2] * mixed[2]
    slopes_with_kernel = np.sum(hessian(perp[:, BOTH]) * noise) * mean_slope / 2 + k12 @ with_values
    H1 = np.sum(hessian(theta[:, BOTH]) * noise) / 2 + own * c * (slopes_with_kernel + c * twice)

    # To first order in the fluctuation of the metric, for one neuron of the narrow layer.
    metric = [c * gradient(kernel[:, pair]) @ s.values for pair in range(3)]
    tangent = []
    for pair, old in enumerate(s.theta):
        inherited = old * c * s.products_of_slopes[pair]
        through = gradient(theta[:, pair]) + s.average(inherited) * gradient(perp[:, pair])
        tangent.append(c * through @ s.values + inherited * perp[0, pair])
    tables = {
        name: np.array([[s.covariance(f, g) for g in second] for f in first])[PAIR][:, :, PAIR]
        for name, first, second in (("V", metric, metric), ("D", metric, tangent), ("A", tangent, tangent))
    }
    B, F = np.zeros((2,) * 4), np.zeros((2,) * 4)
    for one, three, two, four in np.ndindex(B.shape):
        left, right = PAIR[one, three], PAIR[two, four]
        product = np.prod(s.slopes[:, [one, two, three, four]], axis=1)
        B[one, three, two, four] = c**2 * perp[0, left] * perp[0, right] * s.average(product)
        B[one, three, two, four] *= s.theta[PAIR[one, two]] * s.theta[PAIR[three, four]]
        moved = [
            c * signal_moved(s, kernel, perp, *pair) * s.slopes[:, pair[1]] for pair in ((one, three), (two, four))
        ]
        F[one, three, two, four] = s.theta[PAIR[three, four]] * s.average(moved[0] * moved[1])
    return {"H1": H1, "G1": np.sum(k * noise) / 2, **tables, "B": B, "F": F}


def signal_moved(s, kernel, perp, fixed, moving):
    r"""$\frac n{C_W}\,\partial\mathcal K_{13}/\partial h_{j;3}$ for one neuron $j$, sample 1 `fixed` and sample 3 `moving`."""
    if fixed == moving:
        return gradient(kernel[:, PAIR[fixed, fixed]])[PAIR[fixed, fixed]] * s.signals[:, fixed]
    through_own_variance = gradient(kernel[:, BOTH])[PAIR[moving, moving]]
    return perp[0, BOTH] * s.signals[:, fixed] + 2 * through_own_variance * s.signals[:, moving]


@pytest.fixture(scope="module", params=FUNCTIONS)
def network(request):
    more = FURTHER[request.param]
    widths = (*WIDTHS, *[1000] * more)
    settings = zip(("C_b", "C_W", "lambda_b", "lambda_W"), (C_B, C_W[request.param], RATE_B, RATE_W), strict=True)
    net = MLP(request.param, widths, **{name: (*values, *values[-1:] * more) for name, values in settings})
    return infinitely_wide(request.param), flow(net, X, through="ntk")


@pytest.mark.parametrize("last", [2, 3, 4, 5])
def test_narrow_layers_add_up(network, last):
    """PDLT (9.3), (4.104), (4.119), (8.77), (8.79), (8.89), (8.97) for two distinct inputs, in units of the last width."""
    layers, theory = network
    shares = [share(layers, narrow, last) for narrow in range(1, last)]
    for name in shares[0]:
        expected = sum(WIDTHS[last - 1] / WIDTHS[i + 1] * each[name] for i, each in enumerate(shares))
        found = getattr(theory, name)[last - 1]
        found = found[0, 1] if name in ("H1", "G1") else found
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12, err_msg=name)
    assert last == 2 or abs(theory.H1[last - 1, 0, 1]) > 1e-2
