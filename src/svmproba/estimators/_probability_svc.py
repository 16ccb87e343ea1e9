"""One SVM tuned by cross-validation, and a link from its scores to probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba._sklearn_compat import CallbackSupportMixin, with_callbacks
from svmproba._types import Floats
from svmproba.estimators.input.parameters import (
    as_generator,
    check_gammas,
    check_option,
    stores_parameters,
)
from svmproba.estimators.input.samples import check_records
from svmproba.estimators.pairs.classifier import PairwiseSVC
from svmproba.estimators.pairs.cross_fit import CrossFit, cross_fit, deal_folds
from svmproba.estimators.pairs.links import (
    LEAST,
    LINKS,
    SELECTIONS,
    fit_links,
    make_link,
    measure,
    warn_of_order,
)
from svmproba.estimators.pairs.samples import Samples, join_pairs
from svmproba.estimators.pairs.score_spread import (
    Spread,
    Trained,
    fit_spread,
    kernel_rest,
    link_proba,
)
from svmproba.estimators.shared.doubts import warn_of_gaps
from svmproba.estimators.shared.progress import FitProgress
from svmproba.estimators.shared.texts import document_parameters
from svmproba.solvers.gram import Gram
from svmproba.solvers.kernels import Rows
from svmproba.solvers.methods import FEW_BAGS


@document_parameters
class ProbabilitySVC(CallbackSupportMixin, PairwiseSVC):
    r"""Support vector machine with probabilities from a link on held-out scores.

    The SVM :math:`f(x)=w^\top\phi(x)+b` is fitted for every C and gamma on all samples but one
    fold, for each of k folds. The scores of the held-out samples choose C and gamma. A link is
    fitted to the held-out scores of this choice, and the SVM itself to all samples [1]_:

    .. math:: P(+|x)=g(f(x)) .

    ================ =================================================================== =========
    link             g                                                                   source
    ================ =================================================================== =========
    ``"platt"``      sigmoid, two coefficients by maximum likelihood                     published
    ``"wahba"``      :math:`\mathrm{expit}(f)`, nothing fitted                           published
    ``"gaussian"``   Hastie and Tibshirani: Gaussian scores, one variance                published
    ``"cosine"``     Vapnik's cosine series, in the score alone                          derived
    ``"cpon"``       Park and Kil's beta tails; no posterior where classes are unequal   partly
    ``"sollich"``    :math:`\mathrm{expit}(C\,h(f))`, Gaussian process; three averages   partly
    ``"moderated"``  Kwok: :math:`\mathrm{expit}(f/\sqrt{1+\pi v/8})`, variance v        partly
    ``"isotonic"``   best non-decreasing function                                        published
    ``"beta"``       beta calibration                                                    published
    ``"venn_abers"`` isotonic with the new sample added                                  published
    ================ =================================================================== =========

    "Partly" and "derived" links contain details of our own, which their classes in
    `svmproba.links` state. More than two classes have one SVM and one link for every pair, and
    their probabilities are coupled [2]_ by an exact solution, where LIBSVM stops an iteration
    early. Columns should have comparable scales, see
    :class:`~sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    link : str, default="platt"
        One of the names above.
    {Cs}
    C_selection : {"accuracy", "log_loss", "brier"}, default="accuracy"
        Measure of the held-out scores that chooses C and gamma: accuracy of the scores' signs
        (of the votes of all pairs), or a loss of the probabilities that the link makes of them.
        Accuracy is flat in C, and Sollich's probabilities depend on C alone: choose another there.
        Of equals, the smallest gamma and then the smallest C. Links that read more than the score
        are judged by the score alone.
    {cv, kernel, gammas, degree, coef0}
    link_params : dict or None, default=None
        Parameters of the link, for example ``{"adjusted": False}`` for ``"gaussian"`` or
        ``{"average": "sampled"}`` for ``"sollich"``.
    {pos_label, class_weight, tol, n_components, n_jobs, random_state, verbose}

    Attributes
    ----------
    {classes_, C_, gamma_}
    cv_results_ : dict of ndarray, each of shape (n_theta,)
        ``"C"``, ``"gamma"``, the held-out ``"accuracy"``, ``"log_loss"`` and ``"brier"`` (half
        the squared distance of the probabilities from the label), and the largest
        ``"duality_gap"`` among the SVMs. The link of the losses was fitted to the same scores.
    {best_index_}
    cv_scores_ : ndarray, shape (n_samples,), or (n_samples, n_pairs) with more than two classes
        Held-out scores at the values chosen; NaN for samples of weight 0. They are positive for
        the class of interest, or for the second class of the pair.
    coef_ : ndarray, shape (n_pairs, n_features_in_)
        Coefficients, with the same signs, for the linear kernel only.
    intercept_ : ndarray, shape (n_pairs,)
        Intercepts.
    duality_gap_ : ndarray, shape (n_pairs,)
        Relative duality gap of the SVMs of all samples.
    {exact_}
    link_ : link, or list of n_pairs links with more than two classes
        The fitted links.
    {proba_threshold_, costs_, n_features_in_, feature_names_in_}

    Notes
    -----
    Pairs are (0, 1), (0, 2), ..., (1, 2), ... by the places of their classes.

    Held-out scores come from k SVMs, new ones from another SVM, trained on more samples; the link
    treats them alike, as in LIBSVM. Where the training part of a fold lacks a class, scores are
    set to +1 or -1 for the other one.

    `class_weight` and `sample_weight` multiply C. The measures and the link ignore them, so that
    probabilities follow the frequencies of the classes in the data. For unequal costs see `decide`.
    A sample of weight 0 counts as absent.

    References
    ----------
    .. [1] J. Platt, "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods", in Advances in Large Margin Classifiers, MIT Press, 1999.
    .. [2] T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class
       classification by pairwise coupling", Journal of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from svmproba import ProbabilitySVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ProbabilitySVC("gaussian", random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    @stores_parameters
    def __init__(
        self,
        link: str = "platt",
        *,
        Cs: ArrayLike | None = None,
        C_selection: str = "accuracy",
        cv: Any = 5,
        kernel: str = "linear",
        gammas: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        link_params: dict[str, Any] | None = None,
        pos_label: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        n_components: int | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ProbabilitySVC:
        """Choose C and gamma, fit the SVM and the link.

        Parameters
        ----------
        {X/fit, y, sample_weight}

        Returns
        -------
        self : ProbabilitySVC
            Fitted estimator.
        """
        Cs = self._check_tuning()
        check_option("link", self.link, LINKS)
        check_option("C_selection", self.C_selection, SELECTIONS)
        make_link(self.link, 1.0, self.link_params)
        checked, labels = check_records(self, X, y, order="C")
        samples = self._encode(checked, labels, sample_weight, self.class_weight)
        gammas = check_gammas(self.gammas, self.kernel, samples.X)
        rng = as_generator(self.random_state)
        folds = deal_folds(self.cv, samples, rng)
        n_bags = len(gammas) * len(samples.pairs) * (folds[1] + 1)
        metadata = {"sample_weight": sample_weight}
        progress = FitProgress(self, n_bags, X=checked, y=labels, metadata=metadata)
        # Links that read more than a score need rows whose products are kernel values.
        factored = make_link(self.link, 1.0, self.link_params).reads != "mixed"
        options = {"factored": factored, "few": folds[1] < FEW_BAGS}
        measures, gaps, best_loss = list[dict[str, float]](), list[Floats](), np.inf
        for gamma in gammas:
            feature_map, rows = self._fit_features(samples.X, gamma, rng, **options)
            fit = cross_fit(
                samples, rows, *folds, Cs, tol=self.tol, n_jobs=self.n_jobs, report=progress
            )
            for C, scores in zip(Cs, fit.held_out, strict=True):
                links = fit_links(self.link, self.link_params, samples, scores, C)
                found = measure(links, samples, scores)
                measures.append(found)
                loss = found[self.C_selection] * (-1 if self.C_selection == "accuracy" else 1)
                if len(measures) == 1 or loss < best_loss:
                    best, best_loss, chosen = len(measures) - 1, loss, (feature_map, rows, fit)
            gaps.append(fit.largest_gap)
        results = {name: np.array([found[name] for found in measures]) for name in SELECTIONS}
        self._set_choice(Cs, gammas, best, **results, duality_gap=np.concatenate(gaps))
        self._feature_map, rows, fit = chosen
        self._keep(samples, rows, fit, best % len(Cs), rng)
        warn_of_gaps(self.cv_results_["duality_gap"], self.tol)
        progress.finish()
        return self

    def _keep(
        self, samples: Samples, rows: Rows, fit: CrossFit, c: int, rng: np.random.Generator
    ) -> None:
        """Store the SVMs at the c-th C, their links and what those need."""
        self._coef, self.intercept_ = fit.coef[c].copy(), fit.intercept[c].copy()
        if isinstance(rows, Gram) and self._feature_map.projection is None:
            # Only support vectors are needed to score; one sample avoids a special case elsewhere.
            used = np.flatnonzero(self._coef.any(axis=0))
            used = used if len(used) else np.arange(1)
            self._feature_map = self._feature_map.restricted(used)
            self._coef = np.ascontiguousarray(self._coef[:, used])
        self.duality_gap_ = fit.gap[c].copy()
        scores = np.full((samples.n_given, len(samples.pairs)), np.nan)
        scores[samples.present] = fit.held_out[c].T
        links = fit_links(self.link, self.link_params, samples, fit.held_out[c], self.C_)
        warn_of_order(samples, fit.held_out[c])
        two = len(samples.classes) == 2
        self.cv_scores_ = scores[:, 0] if two else scores
        self.link_ = links[0] if two else links
        self._spreads: list[Spread | None] = []
        for p, (pair, link) in enumerate(zip(samples.by_pair(), links, strict=True)):
            if link.reads == "mixed":
                self._spreads.append(None)
                continue
            place, intercept = pair.places, float(self.intercept_[p])
            svm = Trained(rows[place], pair.signs, self.C_, pair.weight, self._coef[p], intercept)
            self._spreads.append(fit_spread(link, svm, rng))

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log odds of the probabilities, in agreement with `predict` unless costs decide.

        The sign of the SVM's score can disagree with the probabilities near the boundary; see
        `member_scores`. After `with_costs` they are still the log odds, and the threshold of
        `predict` is the log odds of ``proba_threshold_`` instead of 0.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_samples,), or (n_samples, n_classes) with more than two classes
            Log odds of ``classes_[1]``, or the logarithm of the probability of every class;
            probabilities are kept away from zero. Log odds of 0 become the smallest positive number
            where ``classes_[1]`` is the class of interest, because 0 means the other class.
        """
        logs = np.log(self.predict_proba(X).clip(LEAST))
        if len(self.classes_) > 2:
            return logs
        odds = logs[:, 1] - logs[:, 0]
        return np.where(odds == 0, np.finfo(np.float64).tiny * self._plus, odds)

    def _width(self) -> int:
        spreads = [len(spread.coef) for spread in self._spreads if spread is not None]
        return len(self._pairs) + 2 * max(spreads, default=0)

    def _block_proba(self, X: Rows, rows: Rows, scores: Floats) -> Floats:
        links = self.link_ if len(self.classes_) > 2 else [self.link_]
        spread = any(spread is not None for spread in self._spreads)
        rest = kernel_rest(self._feature_map, X, rows) if spread else np.zeros(len(scores))
        parts = zip(links, scores.T, self._spreads, strict=True)
        of_pairs = [link_proba(link, s, rows, rest, spread) for link, s, spread in parts]
        return join_pairs(np.column_stack(of_pairs), self._pairs)
