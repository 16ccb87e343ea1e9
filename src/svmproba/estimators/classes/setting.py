"""What a fit of more than two classes starts from: samples, bags, hyperparameter values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Ints
from svmproba.bootstrap.classes.fitted import FittedClasses, settle_classes
from svmproba.bootstrap.classes.members import (
    ClassMembers,
    PairSamples,
    fit_pairs,
    no_tally,
    samples_of_pairs,
)
from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.bootstrap.fitting.members import (
    Family,
    Members,
    Training,
    TrainingPart,
    fit_members,
    fit_together,
)
from svmproba.bootstrap.summaries.votes import tally_block
from svmproba.estimators.ensemble.setting import (
    THETA,
    Checked,
    class_weightings,
    cross_families,
    fit_options,
    groups_of,
    weighting_of,
)
from svmproba.estimators.input.parameters import as_generator, check_kernels
from svmproba.estimators.input.training_set import spread_values
from svmproba.estimators.pairs.samples import Samples, encode_samples
from svmproba.estimators.shared.doubts import warn_of_small_classes
from svmproba.estimators.shared.progress import FitProgress
from svmproba.solvers.kernels import Rows
from svmproba.solvers.runtime.devices import resolve_device

#: Classes of one sample that an error names.
_NAMED = 5


class ClassSetting(NamedTuple):
    """What a fit starts from."""

    samples: Samples
    pairs: list[PairSamples]
    counts: NDArray[np.uint8]  # (n_bootstraps, n), the bags
    n_redraws: int  # bags that were drawn again because they lacked a class
    pairwise: bool  # X holds kernel values
    options: dict[str, Any]  # keyword arguments of `fit_members`, told of all classes
    progress: FitProgress
    groups: NDArray[np.int64] | None  # (n,), of samples that belong together

    def options_of(self, pair: int, rng: np.random.Generator) -> dict[str, Any]:
        """Keyword arguments of `fit_members` for one pair."""
        first, second = self.samples.pairs[pair]
        weight, chosen = self.samples.weight, self.pairs[pair]
        families = [
            family._replace(factors=(family.factors[first], family.factors[second]))
            for family in self.options["families"]
        ]
        tally = self.options["tally"] or partial(
            tally_block, positive=chosen.positive, measure=self.options["measure"]
        )
        own = {
            "families": families,
            "weight": None if weight is None else weight[chosen.places],
            "kernel": self.options["kernel"] | {"rng": rng},
            "tally": tally,
        }
        return {name: self.options[name] for name in ("Cs", "tol", "device")} | own

    def fit(self, fit: Callable[..., Any], n_jobs: int | None) -> list[Any]:
        """Call ``fit(pair, X, positive, counts, **options)`` for every pair."""
        rngs = self.options["kernel"]["rng"].spawn(len(self.pairs))

        def fit_pair(pair: int, X: Rows, positive: Bools, counts: Any, **how: Any) -> Any:
            return fit(pair, X, positive, counts, **self.options_of(pair, rngs[pair]), **how)

        return fit_pairs(
            fit_pair,
            self.samples.X,
            self.pairs,
            self.counts,
            pairwise=self.pairwise,
            in_turn=resolve_device(self.options["device"]) is not None,
            n_jobs=n_jobs,
            report=self.progress,
        )

    def fit_together(self, n_jobs: int | None) -> list[tuple[Members, Training]]:
        """Fit plain members of all pairs at once, as a device does best."""
        rngs = self.options["kernel"]["rng"].spawn(len(self.pairs))
        parts, how = [], {name: self.options[name] for name in ("Cs", "tol", "device")}
        for pair, (chosen, positive) in enumerate(self.pairs):
            own = self.options_of(pair, rngs[pair])
            data = self.samples.X[chosen], positive, self.counts[:, chosen]
            named = (own[name] for name in ("kernel", "families", "weight", "tally"))
            parts.append(TrainingPart(*data, *named))
        return fit_together(parts, n_jobs=n_jobs, report=self.progress, **how)

    def settle(self, estimator: Any, fits: list[tuple[Members, Training]]) -> FittedClasses:
        """Weigh the hyperparameter values and summarise the out-of-bag scores."""
        samples = self.samples
        columns = [chosen.places for chosen in self.pairs] if self.pairwise else None
        members = ClassMembers(len(samples.classes), [fit[0] for fit in fits], columns)
        return settle_classes(
            members,
            [fit[1] for fit in fits],
            samples.X,
            samples.label.astype(np.int64),
            self.pairs,
            self.counts,
            measure=estimator.reliability,
            epsilon=estimator.epsilon,
            thetas=class_thetas(self.options["families"], self.options["Cs"]),
            n_redraws=self.n_redraws,
            present=samples.present if len(samples.present) < samples.n_given else None,
            groups=self.groups,
            spread=partial(spread_values, present=samples.present, n_given=samples.n_given),
            n_jobs=estimator.n_jobs,
            device=estimator.device,
        )


def set_up_classes(estimator: Any, checked: Checked, passes: int = 1) -> ClassSetting:
    """Encode the labels and draw the bags; each will be reported `passes` times for every pair."""
    pairwise = "precomputed" in check_kernels(estimator.kernel)
    fixed = (checked.X, checked.y, checked.sample_weight, None, estimator.pos_label)
    samples = encode_samples(*fixed, pairwise=pairwise)
    sizes = np.bincount(samples.label)
    check_sizes_of_classes(samples.classes, sizes)
    weights = class_weightings(weighting_of(estimator), samples.classes, sizes.tolist())
    families = cross_families(estimator, samples, weights, checked.gammas)
    rng = as_generator(estimator.random_state)
    names = samples.classes.tolist()
    codes = groups_of(samples.label, checked.groups, samples.present, names)
    counts, n_redraws = draw_bags(estimator.n_bootstraps, samples.label, rng, codes, classes=names)
    n_bags = passes * len(samples.pairs) * len(families) * len(counts)
    metadata = {"sample_weight": checked.sample_weight}
    progress = FitProgress(estimator, n_bags, X=checked.X, y=checked.y, metadata=metadata)
    judged = np.zeros(0, dtype=bool)  # each pair has samples of its own
    weighing = (judged, samples.weight, checked.n_components)
    fixed_options = (estimator, families, checked.Cs, *weighing)
    options = fit_options(*fixed_options, rng=rng, report=progress)
    # Votes of several classes need all pairs; pairs tally their own for the AUC alone.
    plain = estimator.reliability != "auc"
    options |= {"tally": no_tally if plain else None, "measure": estimator.reliability}
    pairs = samples_of_pairs(samples.label, len(samples.classes))
    fixed_setting = (samples, pairs, counts, n_redraws, pairwise, options, progress)
    return ClassSetting(*fixed_setting, codes)


def fit_classes(estimator: Any, checked: Checked) -> tuple[ClassSetting, FittedClasses]:
    """Fit the members of all pairs and summarise them.

    Kernel matrices of all pairs would take too much memory: a device has those one by one.
    """
    setting = set_up_classes(estimator, checked)
    linear = all(family.kernel == "linear" for family in setting.options["families"])
    if linear and resolve_device(estimator.device) is not None:
        fits = setting.fit_together(estimator.n_jobs)
    else:
        fits = setting.fit(_fit_pair, estimator.n_jobs)
    return setting, setting.settle(estimator, fits)


def _fit_pair(pair: int, *data: Any, **how: Any) -> tuple[Members, Training]:
    """Fit the members of a pair; scores that were kept would take too much memory for all pairs."""
    members, training = fit_members(*data, **how)
    return members, training._replace(scores=None)


def check_sizes_of_classes(classes: NDArray[Any], sizes: Ints) -> None:
    """Refuse a class with one sample, warn of those with few; both by name."""
    names = classes.tolist()
    single = [repr(names[k]) for k in np.flatnonzero(sizes < 2)]
    if len(single) > _NAMED:
        single = [*single[:_NAMED], f"and {len(single) - _NAMED} more"]
    if single:
        raise ValueError(
            f"Every class needs at least 2 samples, one for a bag and one to be left out of it; "
            f"y has 1 of class {', '.join(single)}."
        )
    warn_of_small_classes(classes, sizes, stacklevel=6)


def class_thetas(families: list[Family], Cs: NDArray[np.float64]) -> NDArray[Any]:
    """Grid of hyperparameter values; "class_weight" is the largest factor by the smallest."""
    grid = [
        (C, family.gamma, family.kernel, max(family.factors) / min(family.factors))
        for family in families
        for C in Cs
    ]
    return np.array(grid, dtype=THETA)
