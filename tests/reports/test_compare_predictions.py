"""Predictions laid over trained networks that were made up, so that every deviation is known."""

import json

import equinox as eqx
import matplotlib as mpl
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import ArgumentError, DomainError
from finitewidth.results import Ensemble, LearningProblem, Measurement, Prediction, Training, Trajectory

mpl.use("Agg")

RANDOM = np.random.default_rng(1)
X_TRAIN, Y_TRAIN, X_TEST = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(4, 2)), RANDOM.normal(size=(2, 3))
NET = fw.MLP("relu", (3, 32, 2), C_W=2.0)
DATA = NET, X_TRAIN, Y_TRAIN, X_TEST
ERROR = 0.01


@pytest.fixture(scope="module")
def theory():
    return fw.predict(*DATA, "gradient_descent", rate=0.05, steps=6, record=[2, 4])


@pytest.fixture(scope="module")
def end():
    return fw.predict(*DATA)


def networks(theory, shift=0.0, net=NET, problem=None, training=None, keep=slice(None)):
    """Networks that do what theory says, but for a shift of their first mean in standard errors."""
    way = theory.trajectory

    def measurement(values):
        return Measurement(np.array(values[keep]), np.full(np.shape(values[keep]), ERROR))

    mean = measurement(way.mean)
    mean.mean[-1, 0, 1] += shift * ERROR
    covariance, loss = measurement(way.covariance), measurement(way.loss)
    path = Trajectory(mean, whole_covariance=covariance, times=way.times[keep], loss=loss)
    return Prediction(
        mean[-1],
        whole_covariance=covariance[-1],
        trajectory=path,
        problem=problem or theory.problem,
        training=training or theory.training,
        net=net,
        ensemble=Ensemble(50, 0, "dense"),
    )


def test_every_moment_and_every_independent_entry(theory):
    """Four moments of a loss, four means and ten covariances of two outputs on two inputs."""
    found = fw.compare(theory, networks(theory))
    assert len(found) == 4 * (1 + 4 + 10)
    assert all(row.deviation == 0 for row in found)
    assert found.verdict == "agree"
    row = next(row for row in found if row.component == "covariance(0,1;1,0)" and row.time == pytest.approx(0.2))
    assert row.theory == theory.trajectory.covariance[2, 0, 1, 1, 0]
    assert row.standard_error == ERROR


def test_deviations_are_in_standard_errors(theory):
    found = fw.compare(theory, networks(theory, shift=-6.0))
    assert found.worst.component == "mean(0,1)"
    assert found.worst.deviation == pytest.approx(-6.0, rel=1e-10)
    assert found.worst.time == pytest.approx(0.3)
    assert found.verdict == "disagree"
    assert "Theory and networks disagree: the largest of 60 deviations is 6.00" in str(found)
    saved = json.loads(json.dumps(found.to_dict()))
    assert saved["verdict"] == "disagree"
    assert len(saved["rows"]) == 60


def test_what_cannot_tell_is_named(theory):
    """Covariances that a few networks decide, at one moment and at all: agreement is claimed of the others alone."""

    def behind(count, moments):
        found = networks(theory)
        counts = np.full(found.trajectory.whole_covariance.mean.shape, 50.0)
        counts[moments] = count
        place = lambda p: p.trajectory.whole_covariance.effective_networks  # noqa: E731
        return fw.compare(theory, eqx.tree_at(place, found, counts, is_leaf=lambda leaf: leaf is None))

    assert (behind(10, [2]).verdict, behind(10, [2]).silent) == ("agree", "")
    some, most = behind(9, [1, 2]), behind(9, slice(None))
    assert (some.verdict, some.silent) == ("agree where they can tell", "covariance at times 0.1, 0.2")
    assert "they cannot for covariance at times 0.1, 0.2." in some.sentence
    assert most.verdict == "cannot tell"


def test_errors_of_theory_that_draws_first_outputs_count_too():
    P = fw.learning.smooth_labels(np.eye(2)[[0, 1, 1, 0]], 0.2)
    drawn = fw.predict(NET, X_TRAIN, P, X_TEST, "gradient_descent", loss="cross_entropy", rate=0.1, steps=3, samples=16)
    way = drawn.trajectory
    measured = eqx.tree_at(
        lambda p: (p.ensemble,), drawn, (Ensemble(16, 0, "dense"),), is_leaf=lambda leaf: leaf is None
    )
    row = next(row for row in fw.compare(drawn, measured) if row.component == "mean(0,0)" and row.time > 0)
    assert row.standard_error == pytest.approx(np.sqrt(2) * way.mean.standard_error[-1, 0, 0])


def test_the_end_of_theory_is_laid_over_the_last_moment(theory, end):
    found = fw.compare(end, networks(theory))
    assert {row.time for row in found} == {0.0, theory.times[-1]}
    newton = fw.predict(*DATA, "newton")
    assert len(fw.compare(newton, networks(theory))) == 2 * (4 + 10) + 1  # the loss of the first moment alone


def test_networks_that_have_not_learned_all(theory, end):
    """What is left to learn is told where theory is of the end, with advice where they disagree; not where theory knows the moment."""
    early = fw.compare(end, networks(theory))
    assert early.verdict == "disagree"
    left = f"at a loss of 0; the networks stopped at time 0.3 and a loss of {theory.loss[-1]:.3g}"
    assert left in early.sentence.replace(f"{end.loss[-1]:.3g};", "0;")
    assert early.sentence.endswith("Train them longer, or compare with `predict` until `time=0.3`.")
    almost = eqx.tree_at(lambda p: p.trajectory.times, networks(end), np.array([0.0, 1e4]))
    late = fw.compare(end, almost)
    assert late.verdict == "agree"
    assert "the networks stopped at time 1e+04" in late.sentence
    assert "Train them longer" not in late.sentence
    assert "stopped" not in fw.compare(theory, networks(theory)).sentence


def test_moments_in_common_only(theory):
    assert len(fw.compare(theory, networks(theory, keep=slice(0, 3, 2)))) == 30
    with pytest.raises(DomainError, match="moments in common"):
        fw.compare(theory, networks(theory, keep=slice(0, 1)))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"net": NET.replace(C_W=1.9)}, "C_W"),
        ({"problem": LearningProblem(Y_TRAIN, X_TRAIN + 1, X_TEST)}, "another x_train"),
        ({"problem": LearningProblem(Y_TRAIN + 1, X_TRAIN, X_TEST)}, "another y_train"),
        ({"problem": LearningProblem(Y_TRAIN, X_TRAIN, X_TEST + 1)}, "another x_test"),
        ({"training": Training("gradient_descent", "cross_entropy", 0.05, 6, 0.3)}, "trained on cross_entropy"),
        ({"training": Training("gradient_descent", "mse", 0.06, 6, 0.36)}, "another `rate`"),
        ({"training": Training("sgd", "mse", 0.05, 6, 0.3, ((0,),) * 6)}, "another `batches`"),
    ],
)
def test_other_networks_data_and_training_are_refused(theory, what, message):
    with pytest.raises(ArgumentError, match=message):
        fw.compare(theory, networks(theory, **what))


def test_sides_are_told_apart(theory):
    measured = networks(theory)
    for pair, message in (
        ((measured, measured), "`theory`: got trained networks"),
        ((theory, theory), "`measured`: got theory"),
        ((theory, 3), "`measured`: got int"),
        ((fw.predict(kernel=np.eye(6), y_train=Y_TRAIN), measured), "a prediction from kernels"),
    ):
        with pytest.raises(ArgumentError, match=message):
            fw.compare(*pair)


def test_plot(theory):
    """Lines of theory, bands of networks, points with error bars."""
    loss, outputs = fw.figures.training(theory, networks(theory))
    assert loss.get_yscale() == "log"
    np.testing.assert_allclose(loss.get_lines()[0].get_ydata(), theory.loss)
    np.testing.assert_allclose(outputs.get_lines()[1].get_ydata(), theory.trajectory.mean[:, 1, 0])
    assert len(loss.containers) == 1
    assert len(outputs.containers) == 2
    assert [text.get_text() for text in loss.get_legend().get_texts()] == ["theory", "50 networks"]
