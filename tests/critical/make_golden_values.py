"""Where the numbers of this folder's tests come from: `python tests/criticality/make_golden_values.py` prints them.

Nothing of the library is used: one-dimensional integrals of the definitions in PDLT chapter 5, by mpmath, to twenty digits.
Derivatives in the kernel are Hermite polynomials under the integral, so no activation is differentiated more than once.
The numbers of `test_tangent_single_input` come from `flow/make_golden_values.py`.
"""

import mpmath
from mpmath import mpf

mpmath.mp.dps = 25

HERMITE = {
    0: lambda u: 1,
    2: lambda u: u**2 - 1,
    4: lambda u: u**4 - 6 * u**2 + 3,
    6: lambda u: u**6 - 15 * u**4 + 45 * u**2 - 15,
}
KERNELS = ["0.1", "0.5", "1", "2", "3", "5", "10", "20"]
STARTS = {"swish": (14, 15), "gelu": (3.4, 3.7)}  # between which the critical kernel lies
OTHERS = {"swish": (14.5, 14.7), "gelu": (3.0, 3.1)}  # and the other fixed point


def logistic(z):
    return 1 / (1 + mpmath.exp(-z))


FUNCTIONS = {
    "tanh": (mpmath.tanh, lambda z: mpmath.sech(z) ** 2),
    "sigmoid": (logistic, lambda z: logistic(z) * logistic(-z)),
    "softplus": (lambda z: mpmath.log1p(mpmath.exp(z)), logistic),
    "swish": (lambda z: z * logistic(z), lambda z: logistic(z) * (1 + z * logistic(-z))),
    "gelu": (lambda z: z * mpmath.ncdf(z), lambda z: mpmath.ncdf(z) + z * mpmath.npdf(z)),
    "centered_softplus": (lambda z: mpmath.log1p(mpmath.exp(z)) - mpmath.log(2), logistic),
}


def average(function, K, derivative=0):
    r"""$\partial_K^k\langle F\rangle_K = (2K)^{-k}\langle F\,He_{2k}(z/\sqrt K)\rangle_K$."""
    root, hermite = mpmath.sqrt(K), HERMITE[2 * derivative]

    def integrand(u):
        return function(root * u) * hermite(u) * mpmath.npdf(u)

    return mpmath.quad(integrand, [-13, -8, -5, -3, -1.5, 0, 1.5, 3, 5, 8, 13]) / (2 * K) ** derivative


def g(name, K, derivative=0):
    return average(lambda z: FUNCTIONS[name][0](z) ** 2, K, derivative)


def s(name, K, derivative=0):
    return average(lambda z: FUNCTIONS[name][1](z) ** 2, K, derivative)


def half_stable(name):
    """The setting at which both susceptibilities are one at a finite kernel, PDLT (5.55)-(5.56), and what follows from it."""
    K = mpmath.findroot(lambda k: g(name, k, 1) - s(name, k), STARTS[name], solver="anderson", tol=1e-22)
    C_W = 1 / s(name, K)
    C_b = K - C_W * g(name, K)
    curvature = C_W * g(name, K, 2) / 2
    V = C_W**2 * (average(lambda z: FUNCTIONS[name][0](z) ** 4, K) - g(name, K) ** 2)
    perp = C_W * s(name, K, 1)
    other = mpmath.findroot(lambda k: C_b + C_W * g(name, k) - k, OTHERS[name], solver="anderson", tol=1e-20)
    return {
        "K_star": K,
        "C_b": C_b,
        "C_W": C_W,
        "a1_tilde": curvature,
        "nu": V / K**2,
        "p_perp": perp / curvature,
        "V of layer 2": V,
        "cubic coefficient": C_W * g(name, K, 3) / 6,
        "slope of chi_perp": perp,
        "other fixed point": other,
        "its chi_parallel": C_W * g(name, other, 1),
        "its chi_perp": C_W * s(name, other),
    }


def main():
    """Print every table."""
    for name in STARTS:
        print(name)
        for what, value in half_stable(name).items():
            print(f"    {what}: {mpmath.nstr(value, 15)}")
    print("ratios of chi_perp to chi_parallel at K =", *KERNELS)
    for name in FUNCTIONS:
        print(f"    {name}:", *(f"{float(s(name, mpf(K)) / g(name, mpf(K), 1)):.6f}" for K in KERNELS))


if __name__ == "__main__":
    main()
