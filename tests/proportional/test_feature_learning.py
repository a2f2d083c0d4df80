"""Features, gradients and velocities in the proportional limit: identities, closed forms, known numbers, networks."""

import numpy as np
import pytest

import finitewidth as fw
from feature_laws import PHI, TARGETS, anticipation, apart, mean, shaped, shifted_tanh, smallest
from finitewidth import ArgumentError, DomainError, ShapeError

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


def test_what_explodes_is_held_and_told():
    """Inputs so large that shaped exponentials explode."""
    block = fw.ShapedMLP(fw.shaped.shaped_smooth(lambda x: 2 * x / (1 + np.e ** (-2 * x)), a=0.3))
    with pytest.warns(fw.ValidityWarning, match="left the range"):
        law = fw.feature_learning_sde(block, 30 * PHI, 1.0, paths=8, steps=10, save=1)
    assert law.stopped.all()
    assert np.isfinite(law.Phi).all()


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
def test_the_scheme_is_of_weak_order_one():
    """Bias of the mean logarithm of velocities against 64 steps: at least halved as steps are, within errors."""
    found = {}
    for steps in (8, 16, 64):
        law = fw.feature_learning_sde(shaped(), PHI, 1.0, targets=TARGETS, paths=8192, steps=steps, save=1, seed=steps)
        found[steps] = mean(np.log(law.velocity[:, -1, 0, 0]))
    coarse, fine = (found[steps][0] - found[64][0] for steps in (8, 16))
    error = np.hypot(found[16][1], found[64][1])
    assert abs(fine) < abs(coarse) * (1 / 16 - 1 / 64) / (1 / 8 - 1 / 64) + 4.5 * error
