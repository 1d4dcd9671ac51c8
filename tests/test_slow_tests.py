from pathlib import Path

SLOW_TESTS = Path(__file__).with_name("slow.txt")


def test_each_slow_test_is_there():
    root = Path(__file__).parents[1]
    for name in SLOW_TESTS.read_text().splitlines():
        path, _, test = name.partition("::")
        function = test.partition("[")[0].rpartition("::")[2]
        assert f"def {function}(" in (root / path).read_text(), name
