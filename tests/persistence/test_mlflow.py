"""Models in MLflow: logged by skops, loaded with all methods, served by pyfunc."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmproba import BootstrapSVC, ConstrainedSVC, ProbabilitySVC

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's dependencies warn of each other

MODELS = [
    BootstrapSVC([1.0], n_bootstraps=40, calibration="auto", random_state=0),
    ConstrainedSVC(min_tpr=0.8),
    ProbabilitySVC(Cs=[1.0]),
]


@pytest.mark.parametrize("estimator", MODELS, ids=lambda model: type(model).__name__)
def test_logged_models_are_the_models(estimator, tmp_path, data):
    mlflow = pytest.importorskip("mlflow", reason="no MLflow to work with")
    skops_io = pytest.importorskip("skops.io")
    X, y = data
    model = make_pipeline(StandardScaler(), estimator).fit(X, y)
    mlflow.set_tracking_uri(f"sqlite:///{(tmp_path / 'mlflow.db').as_posix()}")
    mlflow.set_experiment(mlflow.create_experiment("svmproba", (tmp_path / "runs").as_uri()))
    types = skops_io.get_untrusted_types(data=skops_io.dumps(model))
    assert all(name.startswith("svmproba.") for name in types)
    serve = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(
            model, name="model", skops_trusted_types=types, pyfunc_predict_fn=serve
        )
    again = mlflow.sklearn.load_model(logged.model_uri)
    assert np.array_equal(again.predict(X), model.predict(X))
    if isinstance(estimator, BootstrapSVC):
        rate = {"tpr": 0.8}
        assert again[-1].with_rate(**rate).oob_tpr_ == model[-1].with_rate(**rate).oob_tpr_
    served = mlflow.pyfunc.load_model(logged.model_uri).predict(X)
    assert np.array_equal(served, getattr(model, serve)(X))
