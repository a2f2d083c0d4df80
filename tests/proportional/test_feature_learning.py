"""Features, gradients and velocities in the proportional limit: identities, closed forms, known numbers, networks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

import finitewidth as fw
from feature_laws import (
    PHI,
    TARGETS,
    anticipation,
    anticipation_by_path,
    apart,
    fitted_order,
    mean,
    shaped,
    shifted_tanh,
    smallest,
)
from finitewidth import ArgumentError, DomainError, ShapeError
from finitewidth.gaussian.root import covariance_root
from finitewidth.networks.shaped.bends import KinkedBends
from finitewidth.proportional.features import path
from finitewidth.proportional.features.backward import BackwardDraws, backward
from finitewidth.proportional.features.coefficients import coefficients
from finitewidth.proportional.features.forward import forward
from finitewidth.proportional.features.velocities import VelocityDraws, velocities

LINEAR = fw.ShapedMLP(fw.shaped.shaped_relu(0.0, 0.0))

# Of the reference setting: means with errors of 40,000 paths of another program, and of 9000 networks.
KNOWN = {
    "R": {(0, 0): (-0.1421, 0.0022), (0, 1): (-0.0808, 0.0016), (1, 0): (-0.0773, 0.0015), (1, 1): (-0.0974, 0.0017)},
    "velocity": {(0, 0): (0.2806, 0.0086), (1, 1): (0.1469, 0.0068)},
    "K": {(0, 0): (0.1566, 0.0031)},
    "S": {(0, 0): (0.843, 0.011)},
}


@pytest.fixture(scope="module")
def law():
    """The reference setting, kept at every step."""
    return fw.feature_learning_sde(shaped(), PHI, 0.2, targets=TARGETS, paths=4096, steps=20, seed=1)


def test_identities_of_every_path(law):
    r"""$Q^{\alpha\alpha} = f^\alpha$ (Euler), the sum rule $S_T^{\alpha\beta} = \dot f^\alpha$, and $\dot f = \overline\Theta\delta$."""
    for a in range(2):
        np.testing.assert_allclose(law.Q[:, :, a, a], law.f[:, a, None] * np.ones(21), atol=1e-9)
    np.testing.assert_allclose(law.S[:, -1], law.f_dot[:, :, None] * np.ones(2), atol=1e-8)
    np.testing.assert_allclose(law.f_dot, np.einsum("pab,pb->pa", law.NTK, TARGETS - law.f), atol=1e-9)
    np.testing.assert_array_equal(law.G[:, -1], 1.0)
    np.testing.assert_allclose(law.velocity, law.K + law.R @ law.C.swapaxes(-1, -2), atol=1e-12)
    np.testing.assert_allclose(law.dPhi, law.dPhi.swapaxes(-1, -2), atol=1e-12)


def test_matrices_stay_positive_and_no_path_is_lost(law):
    for field in (law.Phi, law.G, law.K, law.velocity):
        assert np.isfinite(field).all()
        assert (np.linalg.eigvalsh(field).min(axis=-1) > -1e-10 * np.trace(field, axis1=-2, axis2=-1) - 1e-300).all()
    assert not law.stopped.any()
    coarse = fw.feature_learning_sde(shaped(3.0), PHI, 4.0, targets=TARGETS, paths=1024, steps=20)
    assert np.isfinite(coarse.velocity).all()
    assert (np.linalg.eigvalsh(coarse.G)[..., 0] > -1e-10 * np.trace(coarse.G, axis1=-2, axis2=-1)).all()


@pytest.mark.parametrize(("field", "entry"), [(name, entry) for name, known in KNOWN.items() for entry in known])
def test_means_of_the_reference_setting(law, field, entry):
    exact, error = KNOWN[field][entry]
    assert abs(apart(getattr(law, field)[:, -1, *entry], exact, error)) < 4.5


def test_gradients_drift_away_from_the_outputs(law):
    """Lecture 19 has no drift of Q: then both would be zero; networks of width 400 have -0.2036(84) and -0.1130(70)."""
    f, moved = law.f, law.Q[:, 0, 0, 1] - law.f[:, 0]
    assert abs(apart(moved * f[:, 0], -0.2036, 0.0084)) < 4.5
    assert abs(apart(moved * f[:, 1], -0.1130, 0.0070)) < 4.5
    assert apart(moved * f[:, 0], 0.0) < -10
    assert abs(apart(law.G[:, 0, 0, 1], 0.7223, 0.0059)) < 4.5
    assert abs(apart(law.G[:, 0, 0, 0], 1.0)) < 4.5
    assert abs(apart(law.NTK[:, 0, 1], 0.3183, 0.0029)) < 4.5


def test_velocities_follow_the_increments_of_the_backward_pass(law):
    """The anticipating term: with fresh increments the two would have nothing in common."""
    alike, error = anticipation(law)
    assert alike > 15 * error


@jax.jit
def passes(of, T, drawn):
    """All three passes of two inputs from given normals, side by side: covariances, the backward pass, velocities."""
    steps = drawn["Phi"].shape[1]

    def path(drawn):
        Phi, taken = forward(of, jnp.asarray(PHI), drawn["Phi"], T / steps)
        f = covariance_root(Phi[-1]) @ drawn["f"]
        back = backward(of, Phi, f[:, None], BackwardDraws(drawn["bends"], drawn["G"]), taken)
        anew = VelocityDraws(drawn["S"], drawn["C"], drawn["K"])
        return Phi, back, velocities(of, Phi, back, jnp.asarray(TARGETS) - f, anew, taken)

    return jax.vmap(path)(drawn)


def normals(random, paths, steps):
    """Of `passes`."""
    shapes = {"Phi": (2, 2), "bends": (5, 2), "G": (2, 2), "S": (4,), "C": (2, 2), "K": (2, 2)}
    drawn = {name: random.normal(size=(paths, steps, *shape)) for name, shape in shapes.items()}
    return drawn | {"f": random.normal(size=(paths, 2))}


def by_euler(paths, omega, delta, T, chi_squared):
    """S and C without noise of their own, by Euler's scheme from the left, for shaped ReLU and two inputs."""
    S, C, dt = np.zeros((2, 2)), np.zeros((2, 2)), T / len(omega)
    for P, G, Q, o in zip(*paths, omega, strict=False):
        s = np.sqrt(np.diag(P))
        rho, x = P[0, 1] / s.prod(), P / s
        sign = 2 / np.pi * np.arcsin(rho)
        mixed = np.outer(x[:, 0], x[:, 1])
        bracket = mixed + mixed.T - rho * (x @ x.T)
        Psi = sign * P + 2 / np.pi / np.sqrt(1 - rho**2) * bracket  # two different signs
        t = np.zeros(
            (2, 2, 2)
        )  # of (alpha, gamma, delta): Psi^{alpha delta; gamma delta} - Psi^{gamma delta; gamma delta}
        for a, g in ((0, 1), (1, 0)):
            t[a, g] = chi_squared * np.where(np.arange(2) == a, P[g] - Psi[g], Psi[g] - P[g])
        E = (S - C @ Q) @ np.linalg.inv(G)
        e = chi_squared * (1 - sign) * np.array([[[0, 1], [-1, 0]], [[0, -1], [1, 0]]])  # of (gamma, alpha, beta)
        Xi = o - np.einsum("bgb->gb", o)  # of (alpha, gamma, beta)
        brought = (P * delta) @ G / T + np.einsum("ag,gb,gab->ab", E, G, e)
        S, C = (
            S + brought * dt + np.einsum("ag,agb->ab", C, Xi),
            C + dt * (E @ Q.T + np.einsum("ag,agd->ad", C, t)) @ np.linalg.inv(P),
        )
    return S, C


def test_velocities_along_given_increments():
    """Up to three quarters of the depth and at a large chi, where the anticipating term weighs most, path by path against Euler's scheme.

    Of S beside its diagonal, what its cross part brings is 5 %, the whole term 13 %; schemes differ by 0.3 %."""
    T, steps, random = 1.0, 400, np.random.default_rng(0)
    drawn = normals(random, 16, steps)
    for name in ("S", "C", "K"):
        drawn[name] = 0 * drawn[name]
    Phi, back, found = jax.tree.map(np.asarray, passes(coefficients(shaped(2.0), True), T, drawn))
    f, at = back.Q[:, -1, :, 0], 3 * steps // 4
    expected = [
        by_euler([field[i, :at] for field in (Phi, back.G, back.Q)], back.layers.omega[i], TARGETS - f[i], T, 4.0)
        for i in range(16)
    ]
    S, C = (np.array(field) for field in zip(*expected, strict=True))
    beside = np.array([[False, True], [True, False]])
    for one, other, within in ((found.S[:, at][:, beside], S[:, beside], 0.01), (found.C[:, at], C, 0.02)):
        assert np.sqrt(np.mean((one - other) ** 2) / np.mean(other**2)) < within


def test_the_limit_against_networks(law):
    nets = fw.simulate(shaped().at(200, 40), PHI, 1200, 2, through="features", targets=TARGETS)
    compared = fw.compare(law, nets)
    assert compared.verdict == "agree", compared.worst
    assert len(compared.rows) > 50
    p, where = smallest(law, nets)
    assert p > 1e-4, where


def test_one_input_without_training():
    r"""$E\,\overline\Theta = \Phi_0$ and the closed second moment; $G$ at depth zero is log-normal of log-variance 2T."""
    T = 0.3
    law = fw.feature_learning_sde(shaped(), [[1.0]], T, paths=8000, steps=16, save=1)
    assert law.S is None
    assert law.velocity is None
    assert abs(apart(law.NTK[:, 0, 0], 1.0)) < 4.5
    assert abs(apart(law.NTK[:, 0, 0] ** 2, 1.5269)) < 4.5
    logs = np.log(law.G[:, 0, 0, 0])
    assert abs(apart(logs, -T)) < 4.5
    assert abs(apart((logs - logs.mean()) ** 2, 2 * T)) < 4.5


def test_linear_networks():
    r"""$Q = f\mathbf 1^{\mathsf T}$, $G$ of rank one at every depth, and the drift $-(m+1)K$ of two ranks that differ."""
    law = fw.feature_learning_sde(LINEAR, PHI, 0.2, targets=TARGETS, paths=2048, steps=20)
    np.testing.assert_allclose(law.Q, law.f[:, None, :, None] * np.ones((1, 21, 1, 2)), atol=1e-9)
    np.testing.assert_allclose(law.G, law.G[:, :, :1, :1] * np.ones((2, 2)), rtol=1e-9)
    np.testing.assert_allclose(law.S, law.S[:, :, :, :1] * np.ones(2), atol=1e-8)
    nets = fw.simulate(LINEAR.at(200, 40), PHI, 1200, 5, through="features", targets=TARGETS)
    p, where = smallest(law, nets)
    assert p > 1e-4, where


def test_inputs_that_are_not_trained_change_nothing():
    """In linear networks a second input, so small that it teaches nothing, takes directions from K and gives them to C: the
    velocities of the first input must not notice."""
    alone = fw.feature_learning_sde(LINEAR, [[1.0]], 1.0, targets=[1.0], paths=4096, steps=20, seed=3)
    beside = fw.feature_learning_sde(
        LINEAR, np.diag([1.0, 1e-8]), 1.0, targets=[1.0, 0.0], paths=4096, steps=20, seed=4
    )
    one, other = (np.log(law.velocity[:, -1, 0, 0]) for law in (alone, beside))
    assert abs(apart(one, *mean(other))) < 4.5


def test_directions_are_counted_not_inputs():
    """An input that is there twice is one input that learns twice as fast: what K and G lose goes by ranks."""
    alone = fw.feature_learning_sde(shaped(), [[1.0]], 2.0, targets=[1.0], paths=16384, steps=20, seed=3)
    twice = fw.feature_learning_sde(shaped(), np.ones((2, 2)), 2.0, targets=[1.0, 1.0], paths=8192, steps=20, seed=5)
    one, other = (np.log(law.K[:, -1, 0, -1] / (1 - law.f[:, 0]) ** 2) for law in (alone, twice))
    assert abs(apart(other - np.log(4), *mean(one))) < 4.5
    one, other = (np.log(law.G[:, 0, 0, -1]) for law in (alone, twice))
    assert abs(apart(other, *mean(one))) < 4.5


def test_shallow_networks_are_lazy():
    r"""$R \simeq T(\Phi_0\delta)(\tfrac12f + \tfrac1{\sqrt{12}}\zeta)^{\mathsf T}$ and
    $\mathcal V \simeq \tfrac T3(\Phi_0\delta)(\Phi_0\delta)^{\mathsf T}$."""
    T = 1e-3
    law = fw.feature_learning_sde(shaped(), PHI, T, targets=TARGETS, paths=2048, steps=20)
    pushed = (TARGETS - law.f) @ PHI
    along = np.einsum("pa,pb->pab", pushed, law.f) * T / 2
    R = law.R[:, -1]
    for a in range(2):
        slope = np.sum(R[:, a, a] * along[:, a, a]) / np.sum(along[:, a, a] ** 2)
        assert abs(slope - 1) < 0.1
        weighted = R[:, a, a] / pushed[:, a], law.f[:, a]  # the same ratio for every path, plus noise
        assert abs(np.corrcoef(*weighted)[0, 1] - np.sqrt(3) / 2) < 0.03
        assert abs(np.median(law.velocity[:, -1, a, a] / (T / 3 * pushed[:, a] ** 2)) - 1) < 0.05


@pytest.mark.measured
def test_several_outputs():
    """Two outputs trained alone are each the network of one output in law; of both, the tangent kernel has a block for each pair."""
    targets = np.array([[1.0, 0.2], [-0.5, 0.4]])
    law = fw.feature_learning_sde(shifted_tanh(), PHI, 0.2, targets=targets, paths=1200, steps=10)
    assert law.G.shape == (1200, 11, 4, 4)
    np.testing.assert_allclose(law.S[:, -1].reshape(-1, 2, 2, 2)[:, 0, 1], law.f_dot[:, :2], atol=1e-8)
    nets = fw.simulate(shifted_tanh().at(150, 30), PHI, 600, 3, through="features", targets=targets, save=10)
    p, where = smallest(law, nets)
    assert p > 1e-4, where


@pytest.mark.measured
def test_repeated_inputs_are_one_input():
    V0 = np.array([[1.0, 1.0, 0.3], [1.0, 1.0, 0.3], [0.3, 0.3, 0.8]])
    law = fw.feature_learning_sde(shaped(), V0, 0.2, targets=[1.0, 1.0, -0.5], paths=200, steps=10, save=10)
    np.testing.assert_allclose(law.S[:, :, 0], law.S[:, :, 1], atol=1e-5)
    np.testing.assert_allclose(law.velocity[:, :, 0, 0], law.velocity[:, :, 0, 1], atol=1e-5)
    assert np.isfinite(law.velocity).all()


def test_a_seed_means_the_same_paths(law, tmp_path):
    how = {"targets": TARGETS, "steps": 20, "seed": 1}
    fewer = fw.feature_learning_sde(shaped(), PHI, 0.2, paths=1025, checkpoint=tmp_path / "run", **how)
    np.testing.assert_allclose(fewer.velocity, law.velocity[:1025], rtol=1e-8, atol=1e-12)
    resumed = fw.feature_learning_sde(shaped(), PHI, 0.2, paths=1025, checkpoint=tmp_path / "run", **how)
    np.testing.assert_array_equal(resumed.S, fewer.S)


def test_odd_activations_up_to_the_end():
    """Without curvature gradients of two inputs part by their Q alone, and $G$ is singular as $(T-t)^3$ at the end."""
    block, V0 = fw.ShapedMLP(fw.shaped.shaped_smooth("tanh", a=1.0)), np.array([[1.2, -0.4], [-0.4, 0.5]])
    law = fw.feature_learning_sde(block, V0, 0.4, targets=TARGETS, paths=2048, steps=40, save=2)
    np.testing.assert_allclose(law.S[:, -1], law.f_dot[:, :, None] * np.ones(2), atol=1e-5)
    nets = fw.simulate(block.at(100, 40), V0, 800, 2, through="features", targets=TARGETS, save=2)
    p, where = smallest(law, nets)
    assert p > 1e-4, where


def test_what_explodes_is_held_and_told():
    """Inputs so large that shaped exponentials explode."""
    block = fw.ShapedMLP(fw.shaped.shaped_smooth(lambda x: 2 * x / (1 + np.e ** (-2 * x)), a=0.3))
    with pytest.warns(fw.ValidityWarning, match="left the range"):
        law = fw.feature_learning_sde(block, 30 * PHI, 1.0, paths=8, steps=10, save=1)
    assert law.stopped.all()
    assert np.isfinite(law.Phi).all()
    some = fw.ShapedMLP(fw.shaped.shaped_smooth("softplus", a=0.7))
    with pytest.warns(fw.ValidityWarning, match="left the range"):
        law = fw.feature_learning_sde(some, 3 * PHI, 1.0, targets=TARGETS, paths=200, steps=20, save=2)
    assert 0 < law.stopped.mean() < 0.7
    assert np.isfinite(law.velocity).all()


def test_bad_input():
    with pytest.raises(ArgumentError, match="ShapedMLP"):
        fw.feature_learning_sde(fw.ShapedAttention(0.3), PHI, 0.2)
    with pytest.raises(ArgumentError, match="known for MLPs"):
        fw.feature_learning_sde(fw.ShapedResNet(0.3), PHI, 0.2, targets=TARGETS)
    with pytest.raises(DomainError, match="depth_to_width"):
        fw.feature_learning_sde(shaped(), PHI, 0.0)
    with pytest.raises(ShapeError, match="targets"):
        fw.feature_learning_sde(shaped(), PHI, 0.2, targets=[1.0])
    with pytest.raises(DomainError, match="norm zero"):
        fw.feature_learning_sde(shaped(), np.diag([1.0, 0.0]), 0.2)
    with pytest.raises(DomainError, match=r"steps.*memory"):
        fw.feature_learning_sde(shaped(), PHI, 1e9, paths=2)
    weak = fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0, exponent=0.25))
    with pytest.raises(ArgumentError, match="no random limit"):
        fw.feature_learning_sde(weak, PHI, 0.2)


# Large ensembles -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    """The reference setting at 80 steps, and networks of width 400 and depth 80."""
    how = {"targets": TARGETS, "save": 80}
    limit = fw.feature_learning_sde(shaped(), PHI, 0.2, paths=12_000, steps=80, seed=11, **how)
    return limit, fw.simulate(shaped().at(400, 80), PHI, 4000, 12, through="features", **how)


@pytest.mark.measured
def test_all_fields_of_wide_networks(many):
    """Some sixty entries at three depths: the smallest p of that many is below 1e-3 in six runs of a hundred, 1e-4 / 60 decides."""
    p, where = smallest(*many)
    assert p > 1e-4, where


@pytest.mark.measured
@pytest.mark.parametrize("which", [0, 1], ids=["limit", "networks"])
def test_known_means_of_large_ensembles(many, which):
    law = many[which]
    for field, known in KNOWN.items():
        for entry, (exact, error) in known.items():
            assert abs(apart(getattr(law, field)[:, -1, *entry], exact, error)) < 4.5, (field, entry)
    assert abs(apart(law.S[:, 60, 0, 1], 0.577, 0.008)) < 4.5
    assert abs(apart(law.velocity[:, -1, 0, 1], 0.134, 0.006)) < 4.5
    f, moved = law.f, law.Q[:, 0, 0, 1] - law.f[:, 0]
    assert abs(apart(moved * f[:, 0], -0.2006, 0.0039)) < 4.5
    assert abs(apart(moved * f[:, 1], -0.1099, 0.0032)) < 4.5
    assert abs(apart(law.G[:, 0, 0, 1], 0.7261, 0.0028)) < 4.5
    assert abs(apart(law.NTK[:, 0, 1], 0.3162, 0.0013)) < 4.5


@pytest.mark.measured
@pytest.mark.parametrize("which", [0, 1], ids=["limit", "networks"])
def test_path_statistic_of_the_anticipating_term(many, which):
    """At three quarters of the depth: -0.0506(26) in the limit, -0.0531(50) in networks; -0.0712(26) without the term."""
    law = many[which]
    moved = law.C[:, 60, 1, 1] * (law.Q[:, 60, 1, 0] - law.Q[:, 0, 1, 0])
    values = np.tanh((law.S[:, 60, 1, 0] - law.S[:, 60, 1, 1]) * moved / 0.002)
    assert abs(apart(values, -0.0512, 0.0023)) < 4.5
    alike, error = anticipation(law)
    assert alike > 20 * error


def without_drift_of_Q(monkeypatch):
    """The backward pass as lecture 19 has it."""
    monkeypatch.setattr(path, "backward", lambda of, *rest: backward(StillQ(of.bends.chi_squared).within(of), *rest))


class StillQ(KinkedBends):
    """Bends whose values do not drift."""

    def value_drift(self, M, Phi):
        return 0 * super().value_drift(M, Phi)

    def within(self, of):
        return eqx.tree_at(lambda of: of.bends, of, self)


def without_anticipation(monkeypatch):
    r"""Velocities that see the next $Q$ and no $\Xi$."""

    def blind(of, Phi, back, *rest):
        seen = jnp.broadcast_to((back.Q[:-1] - back.Q[1:])[:, None], back.layers.omega.shape)
        return velocities(of, Phi, back._replace(layers=back.layers._replace(omega=seen)), *rest)

    monkeypatch.setattr(path, "velocities", blind)


def p_of_paths(limit, nets):
    """Of two statistics that couple fields, which single fields hardly notice: how gradients that moved follow the outputs, and how
    velocities follow gradients."""
    outputs = [(law.Q[:, 0, 0, 1] - law.f[:, 0]) * law.f[:, 0] for law in (limit, nets)]
    increments = [anticipation_by_path(law) for law in (limit, nets)]
    return {"Q with f": ks_2samp(*outputs).pvalue, "S with Q": ks_2samp(*increments).pvalue}


@pytest.mark.measured
@pytest.mark.parametrize(
    ("spoil", "by"), [(None, None), (without_drift_of_Q, "Q with f"), (without_anticipation, "S with Q")]
)
def test_networks_tell_what_is_missing(many, monkeypatch, spoil, by):
    """Kolmogorov-Smirnov tests of paths agree as the equations stand, and with one term less they do not."""
    limit, nets = many
    if spoil is not None:
        spoil(monkeypatch)
        jax.clear_caches()
        limit = fw.feature_learning_sde(shaped(), PHI, 0.2, paths=4000, steps=80, seed=13, targets=TARGETS, save=80)
        jax.clear_caches()
    found = p_of_paths(limit, nets)
    print(f"{by}: smallest p of fields {smallest(limit, nets)}, of paths {found}")
    assert all(p > 1e-4 for name, p in found.items() if name != by)
    if by is not None:
        assert found[by] < 1e-9


@pytest.mark.measured
def test_smooth_activation():
    """Shifted tanh: Q of one input is not conserved; means of another program with 16,000 paths."""
    limit = fw.feature_learning_sde(shifted_tanh(), PHI, 0.2, targets=TARGETS, paths=6000, steps=60, seed=1)
    assert abs(apart((limit.Q[:, 0, 0, 0] - limit.f[:, 0]) * limit.f[:, 0], -0.285, 0.006)) < 4.5
    assert abs(apart(limit.R[:, -1, 0, 0], -0.0916, 0.0018)) < 4.5
    assert abs(apart(limit.S[:, -1, 0, 0], 0.856, 0.014)) < 4.5
    nets = fw.simulate(shifted_tanh().at(300, 60), PHI, 1500, 2, through="features", targets=TARGETS)
    p, where = smallest(limit, nets)
    assert p > 1e-4, where


@pytest.mark.measured
def test_gradients_of_residual_networks():
    block = fw.ShapedResNet(0.7, 1.5, -1.5, hidden_ratio=2.0)
    limit = fw.feature_learning_sde(block, PHI, 0.3, paths=6000, steps=60, seed=1)
    nets = fw.simulate(block.at(200, 60), PHI, 2000, 2, through="features")
    p, where = smallest(limit, nets)
    assert p > 1e-4, where


@pytest.mark.measured
def test_order_of_the_scheme():
    r"""The same noise on steps twice as long, three times. On each grid the sum rule $S_T = \dot f$ and
    $\dot f = \overline\Theta\delta$ hold to rounding, so that no order shows there; against the tangent kernel of the finer grid, $S_T$ of
    a path is of strong order one half, and mean logarithms are of weak order one. The orders are printed: `pytest -s`."""
    of, T, drawn, found = coefficients(shaped(), True), 0.5, normals(np.random.default_rng(0), 4096, 64), {}
    for steps in (64, 32, 16, 8):
        Phi, back, v = jax.tree.map(np.asarray, passes(of, T, drawn))
        product = np.einsum("ptab,ptab,pb->pta", Phi, back.G, TARGETS - back.Q[:, -1, :, 0])
        f_dot = (product.sum(axis=1) - (product[:, 0] + product[:, -1]) / 2) / steps
        np.testing.assert_allclose(v.S[:, -1], f_dot[:, :, None] * np.ones(2), atol=1e-7)
        velocity = v.K[:, -1] + v.C[:, -1] @ Phi[:, -1] @ v.C[:, -1].swapaxes(1, 2)
        positive = {"velocity": velocity[:, 0, 0], "K": v.K[:, -1, 0, 0], "G": back.G[:, 0, 0, 0]}
        logs = {name: np.log(values) for name, values in positive.items()}
        found[steps] = logs | {"S": v.S[:, -1, 0, 1], "f_dot": f_dot[:, 0]}
        for name in drawn.keys() - {"f"}:
            drawn[name] = (drawn[name][:, ::2] + drawn[name][:, 1::2]) / np.sqrt(2)
    pairs = [(found[steps], found[2 * steps]) for steps in (8, 16, 32)]
    for name in ("velocity", "K", "G"):
        bias, error = np.transpose([mean(coarse[name] - fine[name]) for coarse, fine in pairs])
        order, spread = fitted_order(np.log(bias), error / bias)
        print(f"mean log {name}: biases {bias.round(4)}, weak order {order:.2f} +- {spread:.2f}")
        assert abs(order - 1) < 0.1 + 4.5 * spread
        assert spread < 0.1
    missed = [mean(np.log(np.abs(coarse["S"] - fine["f_dot"]))) for coarse, fine in pairs]
    order, spread = fitted_order(*np.transpose(missed))
    print(f"sum rule against the finer path: strong order {order:.2f} +- {spread:.2f}")
    assert abs(order - 0.5) < 0.1 + 4.5 * spread
