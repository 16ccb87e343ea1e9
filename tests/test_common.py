"""scikit-learn's own estimator checks for every public estimator."""

from __future__ import annotations

import inspect

import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import svmproba

NOT_REPETITION = (
    "A bootstrap cannot do this: bags are drawn from records, so a record of weight 2 (drawn as "
    "one, with twice the price) and two equal records (drawn independently) have different "
    "distributions. scikit-learn's BaggingClassifier and RandomForestClassifier fail it too."
)
NOT_A_KERNEL = (
    "The check hands over a matrix that is no kernel matrix (shifted or rounded to whole numbers, "
    "hence not positive semidefinite), which is refused with a clear error."
)
TOO_FEW = (
    "The check hands over a class with one record, which is refused with a clear error: it could "
    "not be in a bag and out of it."
)
#: Checks that make labels of many classes, some with one record, out of kernel values.
LABELS_OF_KERNEL_VALUES = (
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    *(["check_dtype_object"] if parse_version(sklearn.__version__) < parse_version("1.8") else []),
)
LINK_WITHOUT_WEIGHTS = (
    "Weights are prices of the machine. The link is fitted on held-out scores without them: "
    "probabilities keep the frequencies of the records, and labels are cuts of probabilities."
)
MOVED = (
    "Labels are those of the threshold, not of the larger probability, as in scikit-learn's "
    "TunedThresholdClassifierCV."
)
GUARANTEE_FAILURES = {"check_classifiers_train": MOVED}
NOT_KERNEL_VALUES = "The check hands over records where kernel values are wanted."


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Checks that cannot be passed, with the reason."""
    if isinstance(estimator, svmproba.RateGuarantee):
        return GUARANTEE_FAILURES if hasattr(estimator.estimator, "predict_proba") else {}
    failures = {}
    bootstrap = isinstance(estimator, svmproba.BootstrapSVC)
    one_link = isinstance(estimator, svmproba.ProbabilitySVC)
    if bootstrap or one_link:
        reason = NOT_REPETITION if bootstrap else LINK_WITHOUT_WEIGHTS
        failures["check_sample_weight_equivalence_on_dense_data"] = reason
        failures["check_sample_weight_equivalence_on_sparse_data"] = reason
    if one_link:
        failures["check_class_weight_classifiers"] = LINK_WITHOUT_WEIGHTS
    if estimator.get_params().get("kernel") == "precomputed":
        failures["check_positive_only_tag_during_fit"] = NOT_A_KERNEL
        failures["check_estimators_dtypes"] = NOT_A_KERNEL
        if bootstrap:
            several = estimator.__sklearn_tags__().classifier_tags.multi_class
            failures |= dict.fromkeys(LABELS_OF_KERNEL_VALUES if several else [], TOO_FEW)
            failures["check_fit2d_1feature"] = TOO_FEW
        if one_link:
            failures["check_decision_proba_consistency"] = NOT_KERNEL_VALUES
    return failures


def public_estimators() -> list[type[BaseEstimator]]:
    """Every estimator class among the public names, aliases once."""
    objects = (getattr(svmproba, name) for name in svmproba.__all__)
    classes = {obj for obj in objects if inspect.isclass(obj) and issubclass(obj, BaseEstimator)}
    return sorted(classes, key=lambda cls: cls.__name__)


def small(cls: type[BaseEstimator], **params: object) -> BaseEstimator:
    """An instance with few bags and values, so that a check takes milliseconds."""
    sizes = {"Cs": [0.1, 1.0], "n_bootstraps": 25, "weights": [0.25, 0.5, 0.75]}
    known = cls().get_params()
    return cls(**{name: value for name, value in (sizes | params).items() if name in known})


def instances() -> list[BaseEstimator]:
    found = []
    for cls in public_estimators():
        if cls is svmproba.RateGuarantee:
            wish = {"tpr": 0.97, "confidence": 0.02, "random_state": 0}
            found += [cls(LinearSVC(), **wish), cls(LogisticRegression(), **wish, cv=2)]
            continue
        found.append(small(cls))
        if "kernel" in cls().get_params():
            found.append(small(cls, kernel="rbf"))
            found.append(small(cls, kernel="precomputed"))
    return found


# Checks that set no random_state: one fit in some thousands has a record in all of its 25 bags.
@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
# Checks of class weights make all votes alike, those of noise may.
@pytest.mark.filterwarnings("ignore:The vote shares of all samples are alike:UserWarning")
# Checks deal ten samples or so to three classes.
@pytest.mark.filterwarnings("ignore:Classes with fewer than 5 samples:UserWarning")
@parametrize_with_checks(instances(), expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_discovery_finds_the_estimators():
    assert svmproba.BootstrapSVC in public_estimators()
