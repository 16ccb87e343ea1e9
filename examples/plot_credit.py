"""
Credit: which applications to accept
====================================

A bank has a thousand past loans, 300 of which went bad, and decides on new applications. This
example covers probabilities, their calibration, decisions by cost, a guaranteed rate, intervals
and the coefficients.

The data are *german credit* (Hofmann, UCI). ``load_dataset`` looks for the file in the folder
``SVMPROBA_DATA`` and in the cache, and downloads it otherwise. If this page was built without the
file, it shows the code only.
"""

# %%
# The table
# ---------
# The columns are numbers and categories. Three hundred loans are held out. They play the part of
# new applications.

# sphinx_gallery_thumbnail_number = 2
import numpy as np
from sklearn.model_selection import train_test_split

from svmproba.paper.data.datasets import load_dataset

X, y = load_dataset("german")
y = np.where(y == 1, "bad", "good")
X, X_new, y, y_new = train_test_split(X, y, test_size=300, stratify=y, random_state=0)
X[["status", "duration", "purpose", "amount", "age"]].head()

# %%
# Fit
# ---
# ``make_preprocessor`` imputes missing values, one-hot encodes categories and standardises numbers.
# Any other ``ColumnTransformer`` works too. The probabilities will be multiplied by costs, so
# ``calibration`` is set. Bad loans are the class of interest, ``pos_label``.

from sklearn.pipeline import make_pipeline

from svmproba import BootstrapSVC
from svmproba.preparation.preprocessing import make_preprocessor

model = make_pipeline(
    make_preprocessor(X), BootstrapSVC(pos_label="bad", calibration="auto", random_state=0)
)
ensemble = model.fit(X, y)[-1]
print(f"{ensemble.intercept_.size} SVMs on {ensemble.n_features_in_} columns")
print(f"largest relative duality gap of an SVM: {ensemble.duality_gap_.max():.1e}")
print(f"out of bag: accuracy {ensemble.oob_score_:.1%}, recall of bad {ensemble.oob_tpr_:.1%}")

# %%
# With a threshold of one half most bad loans are missed. The probabilities are not wrong: for most
# of these loans "good" *is* more probable. Costs or a rate give a better threshold.
#
# Are the probabilities calibrated?
# ---------------------------------
# Of the loans with a probability of 40 %, do 40 % go bad? For the 300 loans held out:

from svmproba.evaluation import ReliabilityDisplay, calibration_error

proba = model.predict_proba(X_new)[:, list(model.classes_).index("bad")]
error = calibration_error(y_new, proba, pos_label="bad")
print(f"calibration error {error.error:.3f}, lower confidence limit {error.lower:.3f}")
display = ReliabilityDisplay.from_estimator(model, X_new, y_new, n_bins=6)

# %%
# Decide by cost
# --------------
# A bad loan costs half of its amount. A refused good loan costs the interest, 12 % per year. The
# costs differ between applications, and ``decide`` takes one value per sample.

from svmproba.evaluation import mean_cost


def costs_of(table):
    """Cost of a missed bad loan and of a refused good one, in the currency of the table."""
    amount = table["amount"].to_numpy(dtype=float)
    interest = 0.12 * table["duration"].to_numpy(dtype=float) / 12
    return {"fn_cost": 0.5 * amount, "fp_cost": interest * amount}


costs = costs_of(X_new)
Z_new = model[:-1].transform(X_new)
for name, decision in {
    "accept all": np.full(len(y_new), "good"),
    "refuse where bad is more probable": model.predict(X_new),
    "refuse by cost": ensemble.decide(Z_new, **costs),
}.items():
    refused = np.mean(decision == "bad")
    cost = mean_cost(y_new, decision, pos_label="bad", **costs)
    print(f"{name:34} {refused:4.0%} refused, mean cost {cost:4.0f}")

# %%
# If the costs are the same for all applications, one threshold on the probability is enough. For a
# default that costs five times as much as a refusal it is 1/6. The curve shows that this is near
# the cheapest threshold.

from svmproba.evaluation import CostCurveDisplay

display = CostCurveDisplay.from_estimator(model, X_new, y_new, fn_cost=5, name="calibrated")

# %%
# A guaranteed TPR
# ----------------
# A regulator may require that 80 % of all loans that go bad are flagged, also among new loans.
# ``guarantee="split"`` holds samples back from the fit, and proves the rate from them.

from svmproba import ThresholdBootstrapSVC

flagger = make_pipeline(
    make_preprocessor(X),
    ThresholdBootstrapSVC(
        0.8, guarantee="split", pos_label="bad", calibration="auto", random_state=0
    ),
)
flagger.fit(X, y)
print(flagger[-1].guarantee_)

# %%
# The rates on the 300 loans held out:

flagged = flagger.predict(X_new) == "bad"
for label in ("bad", "good"):
    print(f"flagged: {flagged[y_new == label].mean():.1%} of the {label}")

# %%
# Uncertainty
# -----------
# The Venn–Abers pair of an application is the calibrated probability if this loan is added to the
# training set as good or as bad. It is wide where there are few similar loans. These five loans are
# nearest to the threshold of one sixth.

import pandas as pd

nearest = np.argsort(abs(proba - 1 / 6))[:5]
low, high = ensemble.predict_proba_interval(Z_new[nearest], kind="venn_abers").T
pd.DataFrame(
    {"amount": X_new["amount"].iloc[nearest], "P(bad)": proba[nearest], "low": low, "high": high}
).round(3)

# %%
# Coefficients
# ------------
# Every bag has an SVM for every C, so the spread of each coefficient over the bags is known. The
# share of bags that agree on the sign shows which coefficients are stable.

C = int(np.argmax(ensemble.reliability_))
coef = ensemble.member_coef_[C]
drivers = pd.DataFrame(
    {
        "coefficient": np.median(coef, axis=0),
        "low": np.quantile(coef, 0.05, axis=0),
        "high": np.quantile(coef, 0.95, axis=0),
        "bags of this sign": np.maximum(np.mean(coef > 0, axis=0), np.mean(coef < 0, axis=0)),
    },
    index=[name.split("__")[1] for name in model[0].get_feature_names_out()],
)
drivers.sort_values("coefficient", key=abs, ascending=False).head(10).round(3)

# %%
# Report
# ------
# One HTML page, to be opened from disk or sent by mail. Its slider sets the TPR and shows the
# decisions on the 300 loans.

import tempfile
from pathlib import Path

from svmproba.evaluation import write_report

report = write_report(
    model,
    X_new,
    y_new,
    Path(tempfile.mkdtemp()) / "credit.html",
    about={"target": "end of the loan", "records": "loans", "costs": {"fn": 5, "fp": 1}},
    title="Credit: 300 loans",
)
