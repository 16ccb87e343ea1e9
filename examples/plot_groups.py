"""
A rate for every subgroup
=========================

A bank wants to find at least 80 % of the loans that will go bad. The rule is to hold for women and
for men, and for younger and older applicants, not only on average. This example shows how to state
that, how sure one can be of it, and what it costs each subgroup.

The data are *german credit* (Hofmann, UCI). ``load_dataset`` looks for the file in the folder
``SVMPROBA_DATA`` and in the cache, and downloads it otherwise. If this page was built without the
file, it shows the code only.
"""

# %%
# The applicants
# --------------
# A third of the loans fits the model. A third sets the threshold: it must have had no part in the
# fit, or nothing can be guaranteed. The last third plays the part of new applicants.

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from svmproba.paper.data.datasets import load_dataset

X, y = load_dataset("german")
y = np.where(y == 1, "bad", "good")
groups = pd.DataFrame(
    {
        "sex": np.where(X["personal_status_sex"].isin(["A92", "A95"]), "women", "men"),
        "age": np.where(X["age"] <= 30, "up to 30", "over 30"),
    }
)
X, X_rest, y, y_rest, _, rest = train_test_split(
    X, y, groups, train_size=0.34, stratify=y, random_state=0
)
X_set, X_new, y_set, y_new, of_set, of_new = train_test_split(
    X_rest, y_rest, rest, test_size=0.5, stratify=y_rest, random_state=0
)
pd.crosstab([of_set["sex"], of_set["age"]], y_set)

# %%
# On average
# ----------
# The guarantee is about all applicants together. It says nothing of any subgroup.

from sklearn.pipeline import make_pipeline

from svmproba import BootstrapSVC, RateGuarantee
from svmproba.evaluation import rates_by_subgroup
from svmproba.preparation.preprocessing import make_preprocessor

svm = BootstrapSVC(n_bootstraps=200, pos_label="bad", calibration="auto", random_state=0)
model = make_pipeline(make_preprocessor(X), svm).fit(X, y)

average = RateGuarantee(model, tpr=0.8, cv="prefit", pos_label="bad").fit(X_set, y_set)
print(average.guarantee_)


def show(labels):
    """Rates of the new applicants, as percentages with exact 95 % limits."""
    table = rates_by_subgroup(y_new, labels, of_new, pos_label="bad")._asdict()
    frame = pd.DataFrame(table).set_index("subgroup")
    shares = ["tpr", "tpr_lower", "tpr_upper", "fpr", "precision", "called"]
    return frame[["n_samples", "n_positive"]].join(100 * frame[shares]).round(0).astype(int)


show(average.predict(X_new))

# %%
# ``tpr`` is the share of the bad loans that is found, ``fpr`` the share of the good loans that is
# refused by mistake, and ``called`` the share of all applicants who are refused. The limits are
# wide, because each subgroup has few bad loans: what happened to these applicants proves little.
# That is why the guarantee is needed.
#
# In every subgroup
# -----------------
# ``by`` names the subgroups. They may overlap: every applicant has a sex and an age. All four rates
# are guaranteed at the same time.

every = RateGuarantee(model, tpr=0.8, cv="prefit", pos_label="bad").fit(X_set, y_set, by=of_set)
print(every.guarantee_)
show(every.predict(X_new))

# %%
# One threshold serves all, so the bank needs to know neither sex nor age to decide. The price is
# that more applicants are refused, in every subgroup.
#
# What it costs
# -------------

import matplotlib.pyplot as plt

before, after = show(average.predict(X_new)), show(every.predict(X_new))
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for ax, column, title in zip(
    axes, ["tpr", "fpr"], ["bad loans found (%)", "good loans refused (%)"], strict=True
):
    places = np.arange(len(before))
    ax.barh(places + 0.2, before[column], 0.4, label="guaranteed on average")
    ax.barh(places - 0.2, after[column], 0.4, label="guaranteed in every subgroup")
    ax.set(title=title, yticks=places, yticklabels=before.index, xlim=(0, 100))
axes[0].axvline(80, color="k", linestyle=":")
axes[1].legend(loc="lower right")

# %%
# Too few records
# ---------------
# A guarantee needs records. Where a subgroup has too few bad loans, the answer is an error that
# names it, not a number that looks like a guarantee.

old = of_set.assign(**{"over sixty": X_set["age"].to_numpy() > 60})
try:
    RateGuarantee(model, tpr=0.8, cv="prefit", pos_label="bad").fit(X_set, y_set, by=old)
except ValueError as error:
    print(error)

# %%
# What may be said
# ----------------
# * The guarantee is about new applicants from the same population, in each subgroup named. It says
#   nothing about subgroups that were not named.
# * It fails in at most one of ten such models, because the confidence is 90 %.
# * It is about bad loans found, not about equal treatment: the shares of good loans refused
#   may differ between subgroups, and the table shows by how much.
# * If the population changes, the guarantee is void: watch the share that is refused.
