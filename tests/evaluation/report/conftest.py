"""What the tests of the report share."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix


@pytest.fixture(scope="session")
def counts():
    """Count true and false positives."""

    def count(y, predicted, positive):
        labels = [next(label for label in np.unique(y) if label != positive), positive]
        (_, fp), (_, tp) = confusion_matrix(y, predicted, labels=labels)
        return tp, fp

    return count


@pytest.fixture(params=["ensemble", "calibrated"])
def model(request):
    return request.getfixturevalue(request.param)
