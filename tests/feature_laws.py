"""What tests of laws of features share: the reference setting, Kolmogorov-Smirnov tests of all entries, standard errors."""

import math

import numpy as np
from scipy.stats import ks_2samp

import finitewidth as fw
from finitewidth.reports.comparison.feature_laws import entries

PHI = np.array([[1.0, 0.3], [0.3, 0.8]])
TARGETS = np.array([1.0, -0.5])


def shaped(chi=1.5):
    return fw.ShapedMLP(fw.shaped.shaped_relu(chi, -chi))


def shifted_tanh(t=0.4, a=0.6):
    import jax.numpy as jnp

    theta = math.atanh(t)
    return fw.ShapedMLP(fw.shaped.shaped_smooth(lambda x: jnp.tanh(x + theta), a=a))


def p_values(one, other):
    """Of every independent entry of every field, at the first, middle and last depth."""
    others = entries(other)
    found = {name: (values, others[name]) for name, values in entries(one).items()}
    return {name: ks_2samp(*pair).pvalue for name, pair in found.items() if np.ptp(np.concatenate(pair)) > 1e-9}


def smallest(one, other):
    """The smallest p, times how many there are: below 1e-4 in one run of ten thousand at most."""
    found = p_values(one, other)
    worst = min(found, key=found.get)
    return found[worst] * len(found), worst


def mean(values):
    """With its standard error."""
    return values.mean(), values.std() / math.sqrt(len(values))


def apart(values, exact, error=0.0):
    """From a number that may have an error of its own, in standard errors."""
    found, own = mean(values)
    return (found - exact) / math.hypot(own, error)


def anticipation_by_path(law):
    r"""How often the increments of $S^{21}$, without what the layer brings, have the sign of $C^{22}\,dQ^{21}$, the increments of the
    backward pass: the mean product of the two signs, path by path.

    Fields must be kept at every step."""
    kick = np.einsum("ptm,pm,ptm->pt", law.Phi[:, :, 1], law.rate * (law.targets - law.f), law.G[:, :, :, 0])
    brought = (kick[:, 1:] + kick[:, :-1]) / 2 / (law.Phi.shape[1] - 1)
    moved = np.diff(law.S[:, :, 1, 0]) - brought
    seen = law.C[:, :-1, 1, 1] * np.diff(law.Q[:, :, 1, 0])
    quarter = moved.shape[1] // 4
    return np.mean(np.sign(moved * seen)[:, quarter:-quarter], axis=1)


def anticipation(law):
    """Its mean, and its standard error: zero if the increments were drawn anew."""
    return mean(anticipation_by_path(law))


def fitted_order(logs, errors):
    """The power of the step by which errors fall, from their logarithms on steps that are halved again and again; its standard error."""
    halvings, weights = np.log(2) * np.arange(len(logs)), 1 / np.asarray(errors) ** 2
    x = halvings - np.average(halvings, weights=weights)
    return -np.sum(weights * x * logs) / np.sum(weights * x**2), 1 / math.sqrt(np.sum(weights * x**2))
