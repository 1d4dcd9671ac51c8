from pathlib import Path

from tests.conftest import slow_tests

SLOW_TESTS = Path(__file__).with_name("slow.txt")


def test_each_slow_test_is_there():
    root = Path(__file__).parents[1]
    for name in SLOW_TESTS.read_text().splitlines():
        path, _, test = name.partition("::")
        function = test.partition("[")[0].rpartition("::")[2]
        assert f"def {function}(" in (root / path).read_text(), name


def test_the_shortest_test_of_a_file_is_always_run():
    seconds = {"a.py::one": 0.2, "a.py::two": 0.6, "b.py::one": 0.7, "b.py::two": 0.8, "c.py": 60.0}
    assert slow_tests(seconds) == {"a.py::two", "b.py::two", "c.py"}
