"""Bootstrap ensemble whose members are constrained SVMs (CEBB2)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba._sklearn_compat import with_callbacks
from svmproba.bootstrap.fitting.constrained_members import FloorFit, fit_constrained_members
from svmproba.estimators._bootstrap_svc import BootstrapSVC
from svmproba.estimators.classes.floors import (
    ClassFloorFit,
    check_recall_floors,
    fit_class_floors,
    floors_of_two,
)
from svmproba.estimators.classes.setting import set_up_classes
from svmproba.estimators.ensemble.setting import Checked, set_up
from svmproba.estimators.input.parameters import check_option, stores_parameters
from svmproba.estimators.input.subgroup_floors import FLOORS, Floor, refuse_unused
from svmproba.estimators.shared.doubts import warn_of_bags, warn_of_gaps
from svmproba.estimators.shared.floors import floors_of_model, join_floors
from svmproba.estimators.shared.texts import document_parameters
from svmproba.solvers.constrained.single import EFFORT


@document_parameters
class ConstrainedBootstrapSVC(BootstrapSVC):
    r"""Bootstrap ensemble of constrained SVMs (CEBB2).

    As :class:`BootstrapSVC`, with the SVM of every bag and hyperparameter value replaced by the
    constrained SVM of :class:`ConstrainedSVC`: the rates on the bag itself, counted by margins of
    at least 1, have a floor under them [1]_. Votes are counted at 0, weights come from out-of-bag
    performance as before, and calibration, intervals, `decide` and `with_rate` work as there.
    Without a floor it is :class:`BootstrapSVC` to the last vote. The paper's constrained objective
    has no :math:`\frac12`, so that its C is twice this one.

    The floor holds in every bag, not out of bag and not for new samples; ``oob_tpr_`` and
    ``oob_tnr_`` are those rates. Every member is strictly feasible, and
    ``duality_gap_`` says how far it can be from the optimum of its mixed-integer problem.

    Parameters
    ----------
    {min_tpr, min_tnr, min_accuracy}
    min_recall : dict of label to float, or None, default=None
        Floors under the recalls of classes by their names, for any number of classes. With K
        classes, a floor :math:`\lambda` of a class becomes one of :math:`1-(1-\lambda)/(K-1)` in
        each of its pairs: sufficient for a recall of :math:`\lambda` in the bag, not necessary, and
        ``bag_recalls_`` holds what is reached. The other floors are for two classes.
    {floors}
    effort : {"fast", "default", "thorough"}, default="default"
        Convex problems that the search may solve for one member.
    {Cs, kernel/ensemble, gammas/ensemble, degree, coef0, n_bootstraps, epsilon, reliability}
    {calibration, pos_label}
    tol : float, default=1e-3
        Relative duality gap of the SVMs without floors from which the search starts.
    {n_components/ensemble, device, n_jobs, random_state, verbose}

    Attributes
    ----------
    duality_gap_ : ndarray, shape (n_theta, n_bootstraps)
        Relative distance between the objective of every member and its proven lower bound;
        infinite where a member was replaced.
    proven_ : ndarray of bool, shape (n_theta, n_bootstraps)
        Members proven to be optimal.
    replaced_ : ndarray of bool, shape (n_theta, n_bootstraps)
        Members without a feasible point: the floors clash in their bag, or no point was found
        that satisfies them. The plain SVM of the bag votes instead. A warning names them.
    bag_recalls_ : ndarray, shape (n_theta, n_bootstraps, n_classes)
        With more than two classes, the recalls of the members on their own bags. The three arrays
        above then have a first axis for the pairs.
    summary_ : str
        The two in one sentence.

    See Also
    --------
    BootstrapSVC : The same without floors; lists all other attributes.
    ConstrainedSVC : One constrained SVM.

    References
    ----------
    .. [1] S. Benítez-Peña, R. Blanquero, E. Carrizosa and P. Ramírez-Cobo, *Cost-sensitive
       probabilistic predictions for support vector machines*.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from svmproba import ConstrainedBootstrapSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ConstrainedBootstrapSVC(
    ...     0.97, Cs=[0.02, 0.2], n_bootstraps=20, effort="fast", pos_label=0, random_state=0
    ... )
    >>> model.fit(scale(X), y).predict_proba(scale(X)).shape
    (569, 2)
    """

    class_weight = None  # no parameter: floors take its place

    @stores_parameters
    def __init__(
        self,
        min_tpr: float | None = None,
        *,
        min_tnr: float | None = None,
        min_accuracy: float | None = None,
        min_recall: dict[Any, float] | None = None,
        floors: Any = None,
        effort: str = "default",
        Cs: ArrayLike | None = None,
        kernel: str = "linear",
        gammas: Any = None,
        degree: int = 3,
        coef0: float = 0.0,
        n_bootstraps: int = 500,
        epsilon: float = np.inf,
        reliability: str = "accuracy",
        calibration: str | None = None,
        pos_label: Any = None,
        tol: float = 1e-3,
        n_components: int | str | None = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        by: Any = None,
    ) -> ConstrainedBootstrapSVC:
        """Fit all members and weigh the hyperparameter values.

        Parameters
        ----------
        {X/fit, y}
        sample_weight : array-like, shape (n_samples,), optional
            Multiplicity of each sample in the price and in the rates of a bag; a sample of weight
            0 counts as absent.
        {groups, by/floors}

        Returns
        -------
        self : ConstrainedBootstrapSVC
            Fitted estimator.
        """
        wish = {name: getattr(self, name) for name in WISHES}
        self._fit_floors([self], [wish], X, y, sample_weight, groups, by)
        return self

    def fit_floors(
        self,
        X: ArrayLike,
        y: ArrayLike,
        floors: Iterable[Mapping[str, Any]],
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        by: Any = None,
    ) -> list[ConstrainedBootstrapSVC]:
        """Fit one model for each of several floors at once, on the same bags.

        Neighbouring floors share their starts, and the plain SVMs are fitted once.

        Parameters
        ----------
        X, y, sample_weight, groups, by
            As in `fit`.
        floors : iterable of dict
            Floors ``min_tpr``, ``min_tnr``, ``min_accuracy``, ``min_recall``, ``floors`` of each
            model, best in increasing order, such as ``[{"min_tpr": 0.5}, {"min_tpr": 0.9}]``.

        Returns
        -------
        list of ConstrainedBootstrapSVC
            Fitted copies with these floors; this model is left as it is.
        """
        wishes = [dict(floor) for floor in floors]
        models = []
        for wish in wishes:
            unknown = set(wish) - set(WISHES)
            if unknown or not wish:
                raise ValueError(f"floors must be dicts with keys among {WISHES}, got {wish!r}.")
            models.append(copy.copy(self).set_params(**({name: None for name in WISHES} | wish)))
        if not models:
            raise ValueError("floors must name at least one floor.")
        self._fit_floors(models, wishes, X, y, sample_weight, groups, by)
        return models

    def _fit_floors(
        self,
        models: list[ConstrainedBootstrapSVC],
        wishes: list[dict[str, Any]],
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        by: Any,
    ) -> None:
        check_option("effort", self.effort, tuple(EFFORT))
        checked = models[0]._check_input(X, y, sample_weight, groups)
        if checked.n_classes > 2:
            self._fit_class_floors(models, wishes, checked, by)
            return
        setting = set_up(models[0], checked, passes=2)
        fixed = (setting.data.classes, setting.data.plus)
        wishes = [floors_of_two(wish, *fixed) for wish in wishes]
        refuse_unused(by, [wish.get("floors") for wish in wishes])
        samples = (setting.data.positive, setting.data.present, setting.data.n_given)
        floors = [floors_of_model(wish, by, *samples) for wish in wishes]
        shares, sets = join_floors(floors, setting.data.positive)
        rng = setting.options["kernel"]["rng"]
        fits = fit_constrained_members(
            setting.data.X,
            setting.data.positive,
            setting.counts,
            floors=shares,
            sets=sets,
            effort=self.effort,
            # A child: the bags and landmarks are those of `BootstrapSVC` with the same state.
            seed=int(rng.spawn(1)[0].integers(2**31)),
            **setting.options,
        )
        seen = {name: getattr(models[0], name) for name in SEEN if hasattr(models[0], name)}
        for model, floor, fit in zip(models, floors, fits, strict=True):
            model.__dict__.update(seen)
            model.__dict__.pop("bag_recalls_", None)  # of a fit to more than two classes
            model._settle(setting, fit.members, fit.training)
            model._note_quality(fit, floor)
            if not any(share for _, share, _ in floor):
                warn_of_gaps(model.duality_gap_, model.tol, stacklevel=4)
            warn_of_bags(model.ensemble_, model.reliability)
        setting.progress.finish()

    def _fit_class_floors(
        self,
        models: list[ConstrainedBootstrapSVC],
        wishes: list[dict[str, Any]],
        checked: Checked,
        by: Any,
    ) -> None:
        """Fit more than two classes."""
        for name in (*FLOORS, "floors", "by"):
            if any({**wish, "by": by}.get(name) is not None for wish in wishes):
                raise ValueError(
                    f"{name} needs two classes, got {checked.n_classes}: give "
                    f"min_recall={{class: rate}}."
                )
        setting = set_up_classes(models[0], checked, passes=2)
        classes = setting.samples.classes
        floors = [check_recall_floors(wish.get("min_recall"), classes) for wish in wishes]
        fits = fit_class_floors(models, setting, np.array(floors), self.effort)
        seen = {name: getattr(models[0], name) for name in SEEN if hasattr(models[0], name)}
        for model, floor, fit in zip(models, floors, fits, strict=True):
            model.__dict__.update(seen)
            model._settle_classes(setting, fit.ensemble)
            model.bag_recalls_ = fit.bag_recalls
            model._note_quality(fit)
            if not floor.any():
                warn_of_gaps(model.duality_gap_, model.tol, stacklevel=5)
            reached = [
                f"{label!r} {fit.bag_recalls[..., k].min():.3g} or more (floor {floor[k]:g})"
                for k, label in enumerate(classes.tolist())
                if floor[k]
            ]
            if reached:
                model.summary_ += f" Recalls of the members on their bags: {', '.join(reached)}."
        setting.progress.finish()

    def _note_quality(self, fit: FloorFit | ClassFloorFit, floors: Sequence[Floor] = ()) -> None:
        self.proven_, self.replaced_ = fit.proven, fit.replaced
        n, n_replaced = fit.replaced.size, int(fit.replaced.sum())
        gaps = self.duality_gap_[~fit.replaced]
        middle = f"{np.median(gaps):.2%}" if gaps.size else "not defined"
        self.summary_ = (
            f"{n} members: {fit.proven.mean():.0%} proven optimal, median gap to the proven bound "
            f"{middle}, {n_replaced} replaced by plain SVMs because their floors clash."
        )
        if n_replaced:
            wished = {name: getattr(self, name) for name in (*FLOORS, "min_recall")}
            wished |= {floor.name: floor.share for floor in floors if floor.name not in FLOORS}
            asked = " and ".join(
                f"{k}={x}" if isinstance(x, dict) else f"{k}={x:g}"
                for k, x in wished.items()
                if x is not None
            )
            message = (
                f"{n_replaced} of {n} members have no known feasible point with {asked}: the "
                f"floors clash in their bags. They are {self._named(fit.replaced)}. Plain SVMs "
                f"vote in their place, see replaced_."
            )
            warnings.warn(message, UserWarning, stacklevel=4)

    def _named(self, members: NDArray[np.bool_], most: int = 5) -> str:
        """Name members by their hyperparameters and bags."""
        if members.ndim == 3:
            labels = self.classes_.tolist()
            parts = [
                f"{self._named(here, most)} of classes {labels[i]!r} and {labels[j]!r}"
                for (i, j), here in zip(self.pairs_, members, strict=True)
                if here.any()
            ]
            return "; ".join(parts[:most])
        names = []
        for theta, here in zip(self.thetas_, members, strict=True):
            gamma = f", gamma={theta['gamma']:g}" if theta["gamma"] == theta["gamma"] else ""
            names += [f"(C={theta['C']:g}{gamma}, bag {b})" for b in np.flatnonzero(here)]
        more = f" and {len(names) - most} more" if len(names) > most else ""
        return ", ".join(names[:most]) + more

    def _summary(self) -> list[str]:
        return [*super()._summary(), self.summary_]


#: Floors that users give.
WISHES = (*FLOORS, "min_recall", "floors")
#: What validation notes on the model that saw the data.
SEEN = ("n_features_in_", "feature_names_in_", "components_path_", "gammas_path_")
