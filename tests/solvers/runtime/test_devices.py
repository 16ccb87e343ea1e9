"""Names of devices, with CUDA devices that are only said to be there."""

from types import SimpleNamespace

import pytest

from svmproba.solvers.runtime import devices

torch = pytest.importorskip("torch")


@pytest.fixture
def two_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    of_device = SimpleNamespace(total_memory=8000 * 10**6)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: of_device)


@pytest.mark.usefixtures("two_devices")
def test_devices_that_are_there():
    assert devices.resolve_device("auto") == torch.device("cuda")
    for name in ("cuda", "cuda:0", "cuda:1"):
        assert devices.resolve_device(name) == torch.device(name)
    with pytest.raises(RuntimeError, match="sees 2 CUDA devices"):
        devices.resolve_device("cuda:2")


@pytest.mark.usefixtures("two_devices")
def test_all_matrices_of_an_exact_kernel_fit_into_half_the_memory():
    n = devices.exact_rows("cuda")
    assert 8 * devices.MATRICES * n**2 <= 4000 * 10**6 < 8 * devices.MATRICES * (n + 1) ** 2
    assert devices.exact_rows("cpu") is None
    assert devices.exact_rows("torch") is None


def test_no_device_is_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)  # of another driver
    assert devices.resolve_device("auto") is None
    with pytest.raises(RuntimeError, match="sees no CUDA device"):
        devices.resolve_device("cuda")
    assert devices.memory_budget(devices.resolve_device("torch")) == devices.CPU_BYTES
