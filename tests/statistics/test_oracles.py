"""Against libraries that Tandem does not need; without one its tests are skipped."""

import numpy as np
import pytest
from scipy import stats

from tandem.statistics import (
    alignment_estimates,
    calibration,
    cohen_kappa,
    mean_absolute_error,
    prediction_powered_mean,
    threshold_sweep,
)
from tandem.statistics import (
    confusion as table_of,
)
from tandem.statistics.ppi import tuning
from tests.statistics.cast import interval, number, random_codes

pytestmark = pytest.mark.every_case

metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
K = 4
UNITS = np.arange(200)


def labels(seed):
    codes = random_codes(seed, units=200, raters=2, gaps=0)
    return codes[:, 0], codes[:, 1]


def scores(seed):
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 2, 200)
    return people, np.round(np.clip(0.3 * people + rng.random(200) * 0.7, 0, 1), 2)


@pytest.mark.parametrize("seed", range(3))
def test_measures_of_categories_agree_with_scikit_learn(seed):
    people, judge = labels(seed)
    made = alignment_estimates(people, judge, UNITS, K, draws=10)
    theirs = metrics.precision_recall_fscore_support(people, judge, labels=range(K))
    for name, expected in zip(("precision", "recall", "f1"), theirs[:3], strict=True):
        assert [e.value for e in made.classes[name]] == pytest.approx(list(expected))
    assert made.overall["balanced_accuracy"].value == pytest.approx(
        metrics.balanced_accuracy_score(people, judge)
    )
    assert made.overall["macro_f1"].value == pytest.approx(
        metrics.f1_score(people, judge, average="macro")
    )
    tables = metrics.multilabel_confusion_matrix(people, judge, labels=range(K))
    expected = [t[0, 0] / t[0].sum() for t in tables]
    assert [e.value for e in made.classes["specificity"]] == pytest.approx(expected)
    assert mean_absolute_error(people * 1.0, judge * 1.0) == pytest.approx(
        metrics.mean_absolute_error(people, judge)
    )


@pytest.mark.parametrize("seed", range(3))
def test_curves_and_their_areas_agree_with_scikit_learn(seed):
    people, p = scores(seed)
    made = threshold_sweep(p, people, UNITS, draws=10)
    assert made.roc_auc.value == pytest.approx(metrics.roc_auc_score(people, p))
    average = metrics.average_precision_score(people, p)
    assert made.average_precision.value == pytest.approx(average)
    precision, recall, thresholds = metrics.precision_recall_curve(people, p)
    at = np.searchsorted(thresholds, made.thresholds)
    assert [e.value for e in made.precision] == pytest.approx(list(precision[at]))
    assert [e.value for e in made.recall] == pytest.approx(list(recall[at]))


@pytest.mark.parametrize("seed", range(3))
def test_the_brier_score_agrees_with_scikit_learn(seed):
    people, p = scores(seed)
    made = calibration(p, people, UNITS, draws=10)
    assert made.brier.value == pytest.approx(metrics.brier_score_loss(people, p))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tuned", [False, True])
def test_prediction_powered_means_agree_with_ppi_python(seed, tuned):
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed")
    rng, n = np.random.default_rng(seed), 60
    human = rng.random(n)
    judge, rest = human + rng.normal(0.1, 0.2, n), rng.random(n) + 0.1
    lam = tuning(human, judge, rest) if tuned else 1.0
    made = prediction_powered_mean(human, judge, rest, lam)
    theirs = np.ravel(ppi.ppi_mean_ci(human, judge, rest, alpha=0.05, lam=lam))
    # Theirs divides by n where ours divides by n - 1, and takes normal quantiles instead of t.
    scale = stats.norm.ppf(0.975) / stats.t.ppf(0.975, n - 1) * np.sqrt((n - 1) / n)
    ends = number(made.value) + scale * (np.array(interval(made)) - number(made.value))
    assert ends == pytest.approx(theirs, abs=1e-8)


def test_the_tuning_agrees_with_ppi_python_up_to_the_divisor_of_the_covariance():
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed")
    rng, n = np.random.default_rng(0), 60
    human = rng.random(n)
    judge, rest = human + rng.normal(0.1, 0.2, n), rng.random(n) + 0.1
    lam = tuning(human, judge, rest) * (n - 1) / n
    theirs = float(np.ravel(ppi.ppi_mean_pointestimate(human, judge, rest))[0])
    ours = prediction_powered_mean(human, judge, rest, lam).value
    assert ours == pytest.approx(theirs, abs=1e-8)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_kappa_of_numbers_agrees_with_scikit_learn_on_the_whole_scale(weights):
    one, other = (np.array([1, 4, 5, 4])[of] for of in labels(2))
    theirs = metrics.cohen_kappa_score(one, other, labels=[1, 2, 3, 4, 5], weights=weights)
    numbers = np.array([1.0, 4, 5])
    table = table_of(np.searchsorted(numbers, one), np.searchsorted(numbers, other), 3)
    assert cohen_kappa(table, weights, numbers) == pytest.approx(theirs)
