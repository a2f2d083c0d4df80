"""The words of a report, explained where they are used."""

from ..section import Details, Section, Words

_OF_MLPS = {
    "kernel": (
        "the mean square of a layer's signals (pre-activations) for one input, or the mean product for two. K is that of infinitely "
        "wide networks, G the average over networks of this width."
    ),
    "C_b, C_W": "variances at initialisation: C_b of a bias, C_W/(number of inputs of the neuron) of a weight.",
    "V": "how much the kernel varies between networks drawn alike: V/(nK²) is its variance relative to its square.",
    "chi_parallel, chi_perp": (
        "factors by which one layer multiplies a small change in the size of a signal, and the mean square of a gradient on its way "
        "back. Raised to the power of the depth, anything but one explodes or vanishes."
    ),
    "critical": "initialised so that both factors are one, or tend to one with depth.",
    "universality class": "how an activation behaves there; activations of one class have the same powers of depth.",
    "tangent kernel": "the sum of squared gradients, weighted by learning rates: how far a step of gradient descent moves an output.",
    "standard error": "of a measured mean. Deviations of a few of them are noise, the more so the more entries are looked at; (?) "
    "stands where a few rare networks decide a mean, and no error can be given.",
}
_OF_TRANSFORMERS = {
    "gamma": "the weight of a branch: each block makes sqrt(1 - gamma²) x + gamma branch(x) of its tokens x.",
    "tau0": "the temperature of attention: logits are divided by tau0 sqrt(n n_k), with n the width and n_k that of a key.",
    "limit": "what becomes of networks of great width and depth at this ratio of blocks to width.",
    "explode, vanish": "the mean square norm of the tokens more than doubles, or more than halves.",
    "collapse": "less than an eighth of the differences between tokens is left: they have become one.",
}


def about_words() -> Section:
    """Of a report on an MLP."""
    return _section(_OF_MLPS)


def about_words_of_transformers() -> Section:
    """Of a report on a Transformer."""
    return _section(_OF_TRANSFORMERS)


def _section(meanings: dict[str, str]) -> Section:
    explained = tuple(Words(f"{word}: {meaning}") for word, meaning in meanings.items())
    return Section("words", "Words used here", meanings, (Details("What they mean", explained),))
