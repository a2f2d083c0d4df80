"""`train`: what it reports is what its networks do, whatever the chunks, and what cannot be trained is refused by name."""

import sys

import jax
import numpy as np
import pytest
from jax.random import fold_in

import finitewidth as fw
from drawn_networks import as_parameters
from finitewidth._errors import ArgumentError, BlowUpError, DomainError, ShapeError, UnknownNameError, ValidityWarning
from finitewidth.ensembles.forward_backward import draw
from finitewidth.ensembles.gaussian_matrix import DenseGaussian
from finitewidth.learning.training.outcome import measured_covariance
from finitewidth.learning.training.plan import fewer_features
from finitewidth.realised.parameters import apply
from finitewidth.runs.checkpoint import Checkpoint

RANDOM = np.random.default_rng(0)
X, Y, SEEN = RANDOM.normal(size=(3, 3)), RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(2, 3))
P = np.exp(Y) / np.exp(Y).sum(axis=1, keepdims=True)
NET = fw.MLP("tanh", (3, 10, 10, 10, 2), C_b=0.1, C_W=1.5, lambda_b=0.5, lambda_W=(1.0, 0.8, 1.2, 0.9))
HOW = {"networks": 3, "steps": 6, "record": [2]}


def train(**how):
    return fw.train(NET, X, Y, SEEN, **(HOW | how))


@pytest.fixture(scope="module")
def trained():
    return {method: train(method=method) for method in ("dense", "lazy")}


@pytest.mark.parametrize(("loss", "batch"), [("mse", None), ("cross_entropy", [[0, 2], [1]] * 3)])
def test_what_dense_networks_do_step_by_step(loss, batch):
    """Loss, mean and covariance of three networks, each trained by `gradient_step`."""
    y = {"mse": Y, "cross_entropy": P}[loss]
    found = fw.train(NET, X, y, SEEN, rate=0.1, loss=loss, batch=batch, seed=4, **HOW)
    outputs, losses = [], []
    for number in range(3):
        params = as_parameters(draw(NET, fold_in(jax.random.key(4), number), DenseGaussian))
        for step in range(7):
            z = apply(NET, params, X)[-1]
            losses.append(fw.learning.LOSSES[loss](z, y))
            if step in (0, 2, 6):
                outputs.append(apply(NET, params, SEEN)[-1])
            if step < 6:
                params = fw.gradient_step(NET, params, X, y, 0.1, loss=loss, batch=batch and batch[step])
    outputs, losses = np.reshape(outputs, (3, 3, 2, 2)), np.reshape(losses, (3, 7))
    np.testing.assert_allclose(found.loss.mean, losses.mean(axis=0), rtol=1e-11)
    np.testing.assert_allclose(found.loss.standard_error, losses.std(axis=0, ddof=1) / np.sqrt(3), rtol=1e-10)
    np.testing.assert_allclose(found.trajectory.loss.mean, losses.mean(axis=0)[[0, 2, 6]], rtol=1e-11)
    np.testing.assert_allclose(found.trajectory.mean.mean, outputs.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.mean.standard_error, outputs[:, -1].std(axis=0, ddof=1) / np.sqrt(3), rtol=1e-10)
    covariance = np.cov(outputs[:, -1].reshape(3, 4).T).reshape(2, 2, 2, 2).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(found.covariance.mean, covariance, atol=1e-12)
    np.testing.assert_allclose(found.variance.mean, outputs[:, -1].var(axis=0, ddof=1), atol=1e-12)


def test_the_standard_error_of_a_covariance():
    """That of the mean of products: over many Gaussian ensembles it is as large as the spread of the covariances they give."""
    draws = RANDOM.normal(size=(500, 40, 1, 2, 1)) @ [[1.0]]
    draws[:, :, :, 1] += 0.5 * draws[:, :, :, 0]
    found = [measured_covariance(outputs) for outputs in draws]
    means = np.stack([each.mean[0, :, :, 0, 0] for each in found])
    np.testing.assert_allclose(means.mean(axis=0), [[1.0, 0.5], [0.5, 1.25]], atol=4 * 1.8 / np.sqrt(500 * 40))
    claimed = np.mean([each.standard_error[0, :, :, 0, 0] ** 2 for each in found], axis=0) ** 0.5
    np.testing.assert_allclose(claimed, means.std(axis=0), rtol=0.12)


@pytest.mark.parametrize("method", ["dense", "lazy"])
def test_fields(trained, method):
    found = trained[method]
    assert found.loss.mean.shape == (7,)
    assert found.mean.mean.shape == (2, 2)
    assert found.covariance.mean.shape == found.covariance.standard_error.shape == (2, 2, 2, 2)
    assert found.trajectory.mean.mean.shape == (3, 2, 2)
    rate = 1 / np.linalg.eigvalsh(fw.frozen_ntk(NET, X))[-1]
    assert found.training.rate == pytest.approx(rate, rel=1e-12)
    np.testing.assert_allclose(found.times, rate * np.asarray([0, 2, 6]))
    assert found.ensemble == fw.results.Ensemble(3, 0, method)
    assert found.training.algorithm == "gradient_descent"
    assert found.loss.mean[-1] < found.loss.mean[0]
    np.testing.assert_array_equal(found.mean.mean, found.trajectory.mean.mean[-1])
    assert "3 networks" in repr(found)


def test_lazy_weights_say_how_they_fared(trained):
    assert trained["dense"].lazy_weights is None
    fared = trained["lazy"].lazy_weights
    assert 0 < fared.worst_overlap < 1e-14
    assert fared.directions == 20  # all there are, from both sides: 21 and 18 vectors of 10 numbers were asked


@pytest.mark.parametrize("method", ["dense", "lazy"])
def test_neither_chunks_nor_interruptions_change_a_result(trained, method, tmp_path, monkeypatch):
    """Killed after the first network, and continued: bit for bit the same."""
    save, saved = Checkpoint.save, []

    def save_once(self, step, state):
        save(self, step, state)
        saved.append(step)
        if len(saved) == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "save", save_once)
        patched.setattr(sys.modules["finitewidth.learning.training.train"], "lane_size", lambda *_: 1)
        alone = train(method=method)
        with pytest.raises(KeyboardInterrupt):
            train(method=method, checkpoint=tmp_path / "run.npz", chunk_size=1)
        resumed = train(method=method, checkpoint=tmp_path / "run.npz", chunk_size=2)
    assert saved == [1, 3]
    jax.tree.map(np.testing.assert_array_equal, resumed, alone)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-13), alone, trained[method])
    with pytest.raises(ArgumentError, match="another network"):
        train(method=method, checkpoint=tmp_path / "run.npz", seed=1)


@pytest.mark.parametrize("method", ["dense", "lazy"])
def test_test_inputs_that_were_trained_on_agree_with_the_loss(method):
    found = fw.train(NET, X, Y, X, networks=2, steps=4, method=method, record=range(5))
    of_means = np.sum((found.trajectory.mean.mean - Y) ** 2, axis=(1, 2)) / 2
    of_spread = np.sum(found.trajectory.variance.mean, axis=(1, 2)) / 4  # unbiased, of two networks
    np.testing.assert_allclose(of_means + of_spread, found.loss.mean, rtol=1e-12)


@pytest.mark.parametrize("method", ["dense", "lazy"])
def test_theory_is_laid_over_trained_networks(trained, method):
    """Only that of the same steps of the same network; after steps that both have kept."""
    found = trained[method]
    rate = found.training.rate
    theory = fw.predict(NET, X, Y, SEEN, "gradient_descent", rate=rate, steps=6, record=[2, 4])
    compared = fw.compare(theory, found)
    assert {row.time for row in compared.rows} == {0.0, 2 * rate, 6 * rate}
    assert {row.quantity for row in compared.rows} == {"loss", "mean", "covariance"}
    np.testing.assert_allclose(
        [row.measured for row in compared.rows if row.quantity == "loss"], found.loss.mean[[0, 2, 6]]
    )
    with pytest.raises(ArgumentError, match="another `rate`"):
        fw.compare(fw.predict(NET, X, Y, SEEN, "gradient_descent", rate=rate / 2, steps=12), found)
    with pytest.raises(ArgumentError, match="another y_train"):
        fw.compare(fw.predict(NET, X, Y + 1, SEEN, "gradient_descent", rate=rate, steps=6), found)


def test_networks_of_a_shaped_block():
    """They are what `as_mlp` says for the data, lazy or not; other blocks are refused."""
    block, how = (
        fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0)),
        {"networks": 2, "steps": 2, "rate": 0.02, "method": "lazy"},
    )
    found = fw.train(block.at(8, 3), X, Y, SEEN, **how)
    assert found.net.widths == (3, 8, 8, 8, 2)
    np.testing.assert_array_equal(found.mean.mean, fw.train(block.as_mlp(8, 3, 3, 2), X, Y, SEEN, **how).mean.mean)
    with pytest.raises(ArgumentError, match="network of ShapedResNet"):
        fw.train(fw.ShapedResNet(0.3).at(8, 3), X, Y, SEEN, **how)
    with pytest.raises(ShapeError, match="x_train"):
        fw.train(block.at(8, 3), X[0], Y, SEEN, **how)


def test_networks_that_have_learned_ask_nothing_new():
    """Two points are learned to six digits in sixty steps; from then on lazy weights hold what they held."""
    net = fw.MLP("tanh", (2, 200, 200, 1), C_b=0.1, C_W=1.5)
    x, y = np.asarray([[1.0, 0.2], [-0.3, 1.0]]), np.asarray([0.5, -0.5])
    short, long = (fw.train(net, x, y, x[:1], networks=2, steps=steps, method="lazy") for steps in (60, 90))
    assert short.loss.mean[-1] < 1e-11
    assert long.lazy_weights.directions == short.lazy_weights.directions < 60  # of 244 and 364 questions


@pytest.mark.parametrize("method", ["dense", "lazy"])
@pytest.mark.parametrize("widths", [(3, 2), (3, 10, 2)])
def test_shallow_networks(method, widths):
    net = fw.MLP("tanh", widths, C_b=0.1)
    found = fw.train(net, X, Y, SEEN, networks=2, steps=3, method=method)
    assert (np.diff(found.loss.mean) < 0).all()


def test_many_features_are_turned_into_few():
    """Inputs of more features than samples: the same kernel, tangent kernel and rates, so the same law."""
    net, x = NET.replace(widths=(9, 10, 10, 10, 2)), RANDOM.normal(size=(4, 9))
    smaller, turned = fewer_features(net, x)
    assert smaller.widths == (4, 10, 10, 10, 2)
    np.testing.assert_allclose(smaller.first_kernel(turned), net.first_kernel(x), rtol=1e-13)
    np.testing.assert_allclose(fw.frozen_ntk(smaller, turned), fw.frozen_ntk(net, x), rtol=1e-12)
    assert fewer_features(smaller, turned)[0] is smaller
    found = fw.train(net, x[:2], Y[:2], x[2:], networks=2, steps=2)
    assert found.net.widths == net.widths
    np.testing.assert_array_equal(found.problem.x_train, x[:2])


@pytest.mark.parametrize("method", ["dense", "lazy"])
def test_divergence_is_an_error_that_says_what_to_do(method):
    linear = NET.replace(activation="linear")
    stable = 2 / np.linalg.eigvalsh(fw.frozen_ntk(linear, X))[-1]
    with (
        pytest.warns(ValidityWarning, match=f"not below {stable:.3g}"),
        pytest.raises(
            BlowUpError,
            match=rf"Network 0 .* after \d+ steps at rate 50: take a rate well below {stable:.3g}",
        ),
    ):
        fw.train(linear, X, Y, SEEN, networks=2, steps=30, rate=50.0, method=method)


def test_rates_up_to_the_limit_do_not_warn():
    """Cross-entropy bends half as much, so that its limit is twice that of squared errors."""
    limit = 2 / np.linalg.eigvalsh(fw.frozen_ntk(NET, X))[-1]
    short = {"networks": 2, "steps": 1, "record": None}
    train(rate=0.99 * limit, **short)
    fw.train(NET, X, P, SEEN, rate=1.99 * limit, loss="cross_entropy", **short)
    with pytest.warns(ValidityWarning, match="diverge under cross_entropy"):
        fw.train(NET, X, P, SEEN, rate=2.01 * limit, loss="cross_entropy", **short)
    with pytest.warns(ValidityWarning, match="diverge under mse"):
        train(rate=1.01 * limit, **short)


def test_what_does_not_fit_is_refused_before_it_is_begun(monkeypatch):
    wide = NET.replace(widths=(3, 10**6, 10**6, 10**6, 2))
    with pytest.raises(DomainError, match=r"`net`.*TB of memory.*method='lazy'"):
        fw.train(wide, X, Y, SEEN, networks=2, steps=1)
    with pytest.raises(DomainError, match=r"`x_test`.*fewer test inputs"):
        fw.train(NET, X, Y, np.ones((10**6, 3)), networks=2, steps=1)
    monkeypatch.setattr("finitewidth.learning.training.lazy.available_memory", lambda: 5000)
    with (
        pytest.warns(ValidityWarning, match="fits only if directions repeat"),
        pytest.raises(DomainError, match=r"`steps`: got 6, of which 0 fit"),
    ):
        train(method="lazy")


def test_lazy_training_stops_at_the_step_that_does_not_fit(monkeypatch):
    left = iter([10**9] * 4 + [10**3])
    monkeypatch.setattr("finitewidth.learning.training.lazy.available_memory", lambda: next(left))
    with pytest.raises(DomainError, match=r"of which 3 fit: the directions asked of MLP.* hold"):
        train(method="lazy")


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"networks": 1}, DomainError, "networks"),
        ({"steps": 0}, DomainError, "steps"),
        ({"rate": 0.0}, DomainError, "rate"),
        ({"rate": np.nan}, DomainError, "rate"),
        ({"rate": "fast"}, DomainError, "rate"),
        ({"method": "chain"}, UnknownNameError, "method"),
        ({"method": None}, UnknownNameError, "method"),
        ({"loss": "huber"}, UnknownNameError, "loss"),
        ({"loss": ["mse"]}, UnknownNameError, "loss"),
        ({"batch": 4}, DomainError, "batch"),
        ({"batch": [[0]]}, ShapeError, "batch"),
        ({"batch": [[3]] * 6}, DomainError, "batch"),
        ({"seed": -1}, DomainError, "seed"),
        ({"record": [7]}, DomainError, "record"),
        ({"chunk_size": 0}, DomainError, "chunk_size"),
        ({"loss": "cross_entropy"}, DomainError, "y_train"),
    ],
)
def test_bad_arguments_are_named(change, error, name):
    with pytest.raises(error, match=f"`{name}`"):
        train(**change)


def test_bad_data_are_named():
    for arguments, name in (
        ((X[:, :2], Y, SEEN), "x_train"),
        ((X, Y[:2], SEEN), "y_train"),
        ((X, Y, SEEN[:, :2]), "x_test"),
        ((X, np.full_like(Y, np.nan), SEEN), "y_train"),
    ):
        with pytest.raises(ArgumentError, match=f"`{name}`"):
            fw.train(NET, *arguments)
    with pytest.raises(DomainError, match="lambda_b or lambda_W > 0"):
        fw.train(NET.replace(lambda_b=0.0, lambda_W=0.0), X, Y, SEEN)
    with pytest.raises(ArgumentError, match="an MLP"):
        fw.train("tanh", X, Y, SEEN)
