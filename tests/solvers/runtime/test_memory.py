"""Memory that is left."""

from svmproba.solvers.runtime import memory


def test_memory_is_that_of_the_system_or_of_the_container(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    assert memory.available_memory() is None
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:  5000 kB\n")
    assert memory.available_memory() == 5000 * 1024
    (tmp_path / "memory.current").write_text("1000\n")
    for limit, free in [("max", 5000 * 1024), ("4000", 3000), ("500", 0)]:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert memory.available_memory() == free
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\n")
    assert memory.available_memory() is None
