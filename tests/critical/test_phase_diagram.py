"""The phase diagram: figure 5.1, agreement with the flow, and every label."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import DomainError, ShapeError
from finitewidth.activations import ACTIVATIONS
from finitewidth.critical import Phase, fixed_points, phase_diagram, single_input_flow
from finitewidth.critical.one_input.single_input import flow_of_one_input


@pytest.fixture(scope="module")
def tanh():
    return phase_diagram("tanh", np.linspace(0, 0.3, 7), np.linspace(0.25, 3.0, 12))


def test_critical_lines(tanh):
    r"""PDLT (5.71)-(5.72), figure 5.1: the lines $\chi_\perp^\star = 1$ and $\chi_\parallel^\star = 1$, meeting at $(1, 0)$."""
    points = {0.25: ((1.3940, 0.0081), (2.0033, -0.0976)), 1.0: ((2.1533, 0.1510), (5.5006, -1.1689))}
    for K, expected in points.items():
        for line, (C_W, C_b) in zip((tanh.perp_line, tanh.parallel_line), expected, strict=True):
            log_K = np.log(line.K)
            np.testing.assert_allclose(np.interp(np.log(K), log_K, line.C_W), C_W, atol=3e-4)
            np.testing.assert_allclose(np.interp(np.log(K), log_K, line.C_b), C_b, atol=3e-4)
    for line in (tanh.perp_line, tanh.parallel_line):
        np.testing.assert_allclose([line.C_W[0], line.C_b[0]], [1, 0], atol=1e-7)


def test_agrees_with_single_points(tanh):
    """PDLT (5.7)-(5.11): the same fixed points as one at a time."""
    for i, j in [(0, 2), (0, 3), (0, 11), (3, 5), (6, 0)]:
        expected = fixed_points("tanh", tanh.C_b[i], tanh.C_W[j])
        found = tanh.fixed_points[i, j]
        np.testing.assert_allclose(found[~np.isnan(found)], [p.K_star for p in expected], rtol=1e-12)
        flags = tanh.stable[i, j][~np.isnan(found)]
        assert flags.tolist() == [p.stability == "stable" for p in expected]


def test_the_flow_arrives(tanh):
    """PDLT (5.4), (5.9): iterating the kernel from K1 ends where the diagram says, at the predicted rate."""
    for i, j in [(1, 4), (3, 5), (6, 10), (0, 8)]:
        flow = single_input_flow("tanh", 1.0, 200, tanh.C_b[i], tanh.C_W[j])
        np.testing.assert_allclose(flow.K[-1], tanh.K_star[i, j], rtol=1e-10)
        gap = np.abs(np.asarray(flow.K)[[10, 12]] - tanh.K_star[i, j])
        np.testing.assert_allclose(2 / np.log(gap[0] / gap[1]), tanh.depth_parallel[i, j], rtol=1e-2)


def test_phases_of_tanh(tanh):
    """PDLT (5.55)-(5.56): ordered below the solid line, chaotic above it, critical at (0, 1)."""
    critical = tanh.phase == Phase.CRITICAL
    assert np.argwhere(critical).tolist() == [[0, 3]]
    assert np.isinf(tanh.depth_perp[critical]).all()
    assert (tanh.phase[0, :3] == Phase.VANISHING).all()
    on_line = np.interp(tanh.C_W, tanh.perp_line.C_W, tanh.perp_line.C_b)
    above = tanh.C_b[:, None] > on_line + 1e-6
    generic = ~critical & (tanh.K_star > 0)
    assert (tanh.phase[generic & above] == Phase.ORDERED).all()
    assert (tanh.phase[generic & ~above] == Phase.CHAOTIC).all()
    assert {Phase.ORDERED, Phase.CHAOTIC} <= set(tanh.phase.ravel())


def test_phases_of_relu():
    r"""PDLT (5.67)-(5.68), (5.116): $C_W = 2$ divides; the line itself is critical or semi-critical."""
    diagram = phase_diagram("relu", [0.0, 0.1], [1.0, 2.0, 3.0])
    assert diagram.phase.tolist() == [["vanishing", "critical", "exploding"], ["ordered", "semi-critical", "exploding"]]
    np.testing.assert_allclose(diagram.K_star, [[0, 1, np.inf], [0.2, np.inf, np.inf]], rtol=1e-12)
    np.testing.assert_allclose(diagram.chi_perp[0, :2], [0.5, 1.0])


def test_the_start_decides(verdict):
    """PDLT (5.102): at SWISH's critical setting kernels below stop at the half-stable point, those above fall further."""
    point = verdict("swish").point
    reached = [phase_diagram("swish", [point.C_b], [point.C_W], K1).K_star.item() for K1 in (1.0, 14.4, 30.0)]
    np.testing.assert_allclose(reached, [point.K_star, 14.59310499, 14.59310499], rtol=1e-8)


def test_the_kernel_cannot_overshoot():
    r"""PDLT (5.50): $Kg'/g \ge -\frac12$, so $\chi_\parallel \ge -\frac12$ at every fixed point, however fast g falls."""
    diagram = phase_diagram(lambda z: 3 * jnp.exp(-(z**2)), [0.0, 0.2], [0.01, 0.5, 20.0, 5000.0])
    assert (diagram.chi_parallel > -0.5).all()
    assert diagram.chi_parallel[0, -1] < -0.49
    assert diagram.stable[..., 0].all()


def bump(z):
    return z**2 * jnp.exp(-(z**2))


def iterated(K, C_b, C_W, layers=300):
    r"""The kernel of the bump, from $\langle z^4e^{-2z^2}\rangle_K = 3K^2(1+4K)^{-5/2}$."""
    for _ in range(layers):
        K = C_b + C_W * 3 * K**2 / (1 + 4 * K) ** 2.5
    return K


@pytest.mark.parametrize("K1", [0.085, 0.095, 2.0, 30.0, 45.0, 100.0, 1e4, 3e7])
def test_a_falling_map_is_iterated(K1):
    """PDLT (5.4): one step from a large kernel passes over two fixed points, and the kernel vanishes; a little less, and it
    does not."""
    diagram = phase_diagram(bump, [0.0], [8.0], K1)
    end = iterated(K1, 0.0, 8.0)
    np.testing.assert_allclose(diagram.K_star.item(), end, rtol=1e-10, atol=1e-12)
    assert diagram.phase.item() == ("vanishing" if end < 1e-12 else "chaotic")
    np.testing.assert_allclose(diagram.fixed_points[0, 0], [0, 0.08963027, 0.30241677], atol=5e-9)


def test_a_kernel_of_exactly_zero():
    """PDLT (5.4): where nothing passes the activation any more, the next kernel is zero, and stays zero."""
    diagram = phase_diagram(lambda z: jax.nn.relu(z - 1), [0.0, 0.1], [2.0], 1e-3)
    assert diagram.phase[:, 0].tolist() == ["vanishing", "ordered"]
    np.testing.assert_allclose(
        diagram.K_star[:, 0], [0.0, fixed_points(lambda z: jax.nn.relu(z - 1), 0.1, 2.0)[0].K_star]
    )


def test_where_the_jump_ends():
    """PDLT (5.4): the threshold itself, between kernels that jump the unstable point and those that do not."""
    unstable = phase_diagram(bump, [0.0], [8.0]).fixed_points[0, 0, 1]
    low, high = 1.0, 100.0
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if 24 * middle**2 / (1 + 4 * middle) ** 2.5 > unstable else (low, middle)
    phases = [phase_diagram(bump, [0.0], [8.0], low * factor).phase.item() for factor in (0.999, 1.001)]
    assert phases == ["chaotic", "vanishing"]


def test_a_grid_of_falling_maps():
    """PDLT (5.4): a whole grid against iteration."""
    C_b, C_W = np.array([0.0, 0.003, 0.01, 0.1]), np.linspace(1.0, 60.0, 24)
    for K1 in (0.2, 60.0):
        diagram = phase_diagram(bump, C_b, C_W, K1)
        ends = iterated(np.full((4, 24), K1), C_b[:, None], C_W, layers=5000)
        np.testing.assert_allclose(diagram.K_star, ends, rtol=1e-6, atol=1e-12)


def test_no_kernel_oscillates_for_ever():
    r"""PDLT (5.50): $Kg'/g \ge -\frac12$, so no two kernels map into each other: a thousand layers settle, whatever C_W."""
    for C_W in (8.0, 50.0, 1e3, 1e6):
        ends = iterated(np.geomspace(1e-3, 1e5, 40), 0.01, C_W, layers=1000)
        after = iterated(ends, 0.01, C_W, layers=1)
        np.testing.assert_allclose(after, ends, rtol=1e-9)


@pytest.mark.parametrize(("K1", "phase"), [(1e-300, "vanishing"), (1e20, "vanishing"), (1e30, "unresolved")])
def test_extreme_starts(K1, phase):
    """PDLT (5.4): kernels outside the table start there, as long as averages can be believed."""
    assert phase_diagram(lambda z: jnp.tanh(z), [0.0], [0.5], K1).phase.item() == phase


def test_unresolved():
    """PDLT (5.7): kernels beyond what quadrature can do are not called exploding; nearer ones are found."""
    diagram = phase_diagram(lambda z: jnp.sin(30 * z), [0.0], [1000.0, 1e5])
    assert diagram.phase[0].tolist() == [Phase.CHAOTIC, Phase.UNRESOLVED]
    np.testing.assert_allclose(diagram.K_star[0], [500, np.nan], rtol=1e-12)


def test_large_grid_is_consistent():
    """PDLT (5.7): every fixed point of a 60 x 60 grid satisfies its equation."""
    C_b, C_W = np.linspace(0, 0.5, 60), np.linspace(0, 3.5, 60)
    diagram = phase_diagram("gelu", C_b, C_W)
    K = diagram.fixed_points
    b, w, _ = np.nonzero(K > 0)
    at = jnp.asarray(K[K > 0])
    layer = jax.vmap(lambda K, bias, weight: flow_of_one_input(ACTIVATIONS["gelu"], K, 2, bias, weight).K[1])
    after = layer(at, jnp.asarray(C_b[b]), jnp.asarray(C_W[w]))
    np.testing.assert_allclose(after, at, rtol=1e-12)
    assert len(at) > 1500


@pytest.mark.parametrize(
    ("C_b", "C_W", "error", "named"),
    [
        ([-0.1], [1.0], DomainError, "C_b"),
        ([0.1], [[1.0]], ShapeError, "C_W"),
        ([], [1.0], ShapeError, "C_b"),
        ([0.1], [np.inf], DomainError, "C_W"),
    ],
)
def test_bad_axes(C_b, C_W, error, named):
    """Each names the argument."""
    with pytest.raises(error) as caught:
        phase_diagram("tanh", C_b, C_W)
    assert caught.value.argument == named
