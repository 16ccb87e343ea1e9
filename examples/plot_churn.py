"""
Churn: which customers should get an offer
==========================================

A telephone company loses one customer in six. An offer keeps some of the customers who would leave,
and is wasted on those who would stay. The decision depends on the probability that a customer
leaves *and* on the value of the customer.

The data are the *Iranian churn* table (UCI), 3150 customers. ``load_dataset`` looks for the file
in the folder ``SVMPROBA_DATA`` and in the cache, and downloads it otherwise. If this page was built
without the file, it shows the code only.
"""

# %%
# The table
# ---------
# Forty percent of the customers are held out. They play the part of future customers.

# sphinx_gallery_thumbnail_number = 2
from sklearn.model_selection import train_test_split

from svmproba.paper.data.datasets import load_dataset

X, y = load_dataset("churn")
X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
print(f"{len(X)} customers, {y.mean():.1%} left")
X[["Complains", "Seconds of Use", "Status", "Customer Value"]].head()

# %%
# Linear and curved boundaries
# ----------------------------
# A linear SVM has a straight boundary. Products of columns make it curved at little cost: 13
# columns become 104. The out-of-bag results show whether this helps, without the customers held
# out.

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from svmproba import BootstrapSVC
from svmproba.evaluation import mse
from svmproba.preparation.preprocessing import make_preprocessor

linear = make_pipeline(make_preprocessor(X), BootstrapSVC(calibration="auto", random_state=0))
curved = make_pipeline(
    make_preprocessor(X),
    PolynomialFeatures(2, include_bias=False),
    StandardScaler(),
    BootstrapSVC(calibration="auto", random_state=0),
)
for name, model in {"linear": linear, "curved": curved}.items():
    ensemble = model.fit(X, y)[-1]
    print(
        f"{name:7} TPR {ensemble.oob_tpr_:.1%}, TNR {ensemble.oob_tnr_:.1%}, "
        f"Brier score {mse(y, ensemble.oob_proba_[:, 1]):.3f}, out of bag"
    )

# %%
# ``BootstrapSVC(kernel="rbf")`` is better still (a Brier score of .039 on new customers, against
# .046 for the curved and .077 for the linear model), and takes about four times as long.
#
# Are the probabilities calibrated?
# ---------------------------------
# The reliability diagram of the customers held out. The bars are exact confidence limits.

from svmproba.evaluation import ReliabilityDisplay

proba = curved.predict_proba(X_new)[:, 1]
display = ReliabilityDisplay.from_predictions(y_new, proba, n_bins=8)

# %%
# Decide by cost
# --------------
# A customer who leaves costs the company the value of this customer. An offer costs 20 and keeps
# four in ten of those who would leave. The costs of a decision are then:

import numpy as np

from svmproba.evaluation import mean_cost

OFFER, KEPT = 20.0, 0.4


def costs_of(table):
    """Costs of a decision on each customer; staying without an offer costs nothing."""
    value = table["Customer Value"].to_numpy(dtype=float)
    return {
        "tp_cost": OFFER + (1 - KEPT) * value,
        "fn_cost": value,
        "fp_cost": np.full(len(value), OFFER),
    }


costs = costs_of(X_new)
Z_new = curved[:-1].transform(X_new)
called = curved[-1].decide(Z_new, **costs)
for name, decision in {
    "no offers": np.zeros_like(y_new),
    "an offer to all": np.ones_like(y_new),
    "where leaving is more probable": curved.predict(X_new),
    "by cost": called,
}.items():
    cost = mean_cost(y_new, decision, **costs)
    print(f"{name:31} {decision.sum():4d} offers, {cost:5.2f} lost per customer")

# %%
# "By cost" makes an offer to customers of high value even if they are unlikely to leave, and makes
# none to some customers of low value who are likely to leave:

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for chosen, color, label in ((0, "#9aa5b1", "no offer"), (1, "#d1495b", "offer")):
    of_kind = called == chosen
    ax.scatter(
        X_new["Customer Value"][of_kind], proba[of_kind], s=10, color=color, label=label, alpha=0.7
    )
ax.set(xlabel="customer value", ylabel="P(leaves)", ylim=(0, 1), xlim=(0, None))
legend = ax.legend(frameon=False)

# %%
# A guaranteed TPR
# ----------------
# The management asks for a list with nine in ten of the customers who leave, also in the next
# quarter. The TNR that this costs, computed out of bag and without a fit:

from svmproba.evaluation import RateDisplay

display = RateDisplay.from_estimator(curved[-1].with_rate(tpr=0.9), against="tpr")

# %%
# A guarantee needs customers that had no part in the fit. Half of those held out set the threshold,
# and the other half test it. The guarantee rests on independent samples. This table has 300
# duplicated rows, so the stated confidence holds only approximately here.

X_threshold, X_test, y_threshold, y_test = train_test_split(
    X_new, y_new, test_size=0.5, random_state=0
)
guaranteed = curved[-1].with_rate(
    tpr=0.9, guarantee="split", X=curved[:-1].transform(X_threshold), y=y_threshold
)
print(guaranteed.guarantee_)

# %%

listed = make_pipeline(*curved[:-1], guaranteed).predict(X_test)
print(f"{listed.sum()} of {len(listed)} customers are on the list")
print(f"{listed[y_test == 1].mean():.1%} of those who left were on it")

# %%
# Uncertainty
# -----------
# The five customers for whom the decision by cost is closest. The Venn–Abers pair is the calibrated
# probability from the mean score alone, if this customer is added to the training set as one who
# stayed or as one who left. A wide pair means that there are few similar customers. A pair far from
# P(leaves) means that the values of C disagree.

import pandas as pd

gain = proba * (KEPT * X_new["Customer Value"].to_numpy()) - OFFER
nearest = np.argsort(abs(gain))[:5]
low, high = curved[-1].predict_proba_interval(Z_new[nearest], kind="venn_abers").T
pd.DataFrame(
    {
        "customer value": X_new["Customer Value"].iloc[nearest],
        "P(leaves)": proba[nearest],
        "low": low,
        "high": high,
        "expected gain of an offer": gain[nearest],
    }
).round(3)

# %%
# Report
# ------
# One HTML page, to be opened from disk or sent by mail.

import tempfile
from pathlib import Path

from svmproba.evaluation import write_report

report = write_report(
    make_pipeline(*curved[:-1], guaranteed),
    X_test,
    y_test,
    Path(tempfile.mkdtemp()) / "churn.html",
    about={"target": "churn", "records": "customers"},
    title="Churn: customers on the list",
)
