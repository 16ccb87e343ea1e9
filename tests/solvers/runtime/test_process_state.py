"""What a fit changes in its process and must change back."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from svmproba import BootstrapSVC, ConstrainedSVC
from svmproba.solvers.ensemble import fit_ensemble

from ..twins import bags, records


def state():
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    pools = {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}
    torch = sys.modules.get("torch")
    return {
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks)),
        "environment": dict(os.environ),
        "signal handlers": handlers,
        "threads of libraries": pools,
        "threads of torch": torch and torch.get_num_threads(),
        "threads of Python": threading.active_count(),
        "warnings": list(warnings.filters),
        "floating point errors": np.geterr(),
        "switch interval": sys.getswitchinterval(),
    }


def settle(others):
    """Wait for the threads that a fit has started: those of pools end soon after it."""
    for thread in set(threading.enumerate()) - others:
        thread.join(10)


def check(action, error=None):
    others = set(threading.enumerate())
    action()  # imports and compiles
    settle(others)
    before = state()
    if error is None:
        action()
    else:
        with pytest.raises(error):
            action(error)
    settle(others)
    after = state()
    for name, value in before.items():
        assert after[name] == value, name


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"n_jobs": 2}, {"device": "torch"}])
def test_a_bootstrap_fit_leaves_the_process_as_it_was(options):
    if "device" in options:
        pytest.importorskip("torch")
    X, signs = records(60, 3)
    model = BootstrapSVC(n_bootstraps=8, Cs=[0.1, 1.0], random_state=0, **options)
    check(lambda: model.fit(X, signs).predict_proba(X))


def test_a_constrained_fit_leaves_the_process_as_it_was():
    X, signs = records(40, 3)
    check(lambda: ConstrainedSVC(min_tpr=0.8, effort="fast", random_state=0).fit(X, signs))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_that_fails_leaves_the_process_as_it_was(n_jobs, error):
    rows, signs = records(60, 3)

    def fit(error=None):
        def report(n_bags):
            if error is not None:
                raise error

        counts = bags(signs, 8).astype(np.uint8)
        fit_ensemble(rows, signs, counts, np.ones(1), n_jobs=n_jobs, report=report)

    check(fit, error)
