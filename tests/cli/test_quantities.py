import pytest

from placewise.cli.quantities import parse_time_ms
from placewise.errors import CaseError


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1.3ms", 1.3),
        ("830us", 0.83),
        ("830 µs", 0.83),
        ("2s", 2000.0),
        ("1500ns", 0.0015),
        ("1e3us", 1.0),
    ],
)
def test_times_carry_their_unit(text, ms):
    assert parse_time_ms(text) == pytest.approx(ms)


@pytest.mark.parametrize(
    "text", ["1.3", "ms", "-1ms", "0ms", "1,3ms", "1.3 m", "", "1e400s", "1e300ms"]
)
def test_a_time_without_a_sensible_value_or_unit_is_refused(text):
    with pytest.raises(CaseError) as caught:
        parse_time_ms(text)
    assert caught.value.where == "--measured"
