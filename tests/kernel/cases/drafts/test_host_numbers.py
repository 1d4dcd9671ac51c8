"""Numbers that host code tells, beside what a C++ compiler would make of them."""

import shutil
import subprocess

import pytest

from placewise.kernel.cases.drafts.host_numbers import HostNumbers
from placewise.kernel.cases.drafts.host_text import HostText

HOST = """
#define TILE 16
#define N_ROWS (TILE * 40)
const int side = 1 << 5;
int ceil_div(int a, int b) { return (a + b - 1) / b; }
#define SDIV(a, b) (((a) + (b) - 1) / (b))
struct { int multiProcessorCount = 108; } gpu;
using Index = int;
struct dim3 { int x = 1, y = 1, z = 1; };
void launch(float *x, int rows, size_t many, const int per);
void launch(float *x, int rows, size_t many, const int per) {
    int blocks = ceil_div(rows, per);
    for (int rows = 0; rows < 3; rows++) {}
    dim3 tall{7, 4}; dim3 wide = dim3{5, 2};
    int whole = rows * per - 1, half = (int)ceil((float)rows / 2.0f);
    LAUNCH
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000, m = N_ROWS;
    int unknown = atoi(argv[0]), self = self*self*self*(self*(self*6-15)+10);
    launch(x, n + m, (size_t)m * 2u, side);
}
"""
AT = HOST.index("LAUNCH")
NUMBERS = HostNumbers(HostText(HOST))


VALUES = {
    "rows": 1640, "blocks": 52, "whole": 52479, "half": 820, "many": 1280,
    "side * side / 3": 341, "-rows % 7 + (2 << 3)": 14, "(rows + TILE - 1) / TILE": 103,
    "std::max(rows, 7) - min(3, per)": 1637, "static_cast<int>(many) / per": 40,
    "(size_t)rows * 3ull": 4920, "ceil(rows / (float)per)": 52,
    "static_cast<float>(rows) / 100 * 2": 32,
    "(int)(rows * 0.3f) * 10": 4920, "tall.y * tall.z + wide.x": 9, "4 * sizeof(double)": 32,
    "rows\n / 10": 164,
    "int(ceil(float(rows) / 100))": 17, "SDIV(rows, 100)": 17,
    "(rows + (Index)per - 1) / (Index)(per)": 52, "ceil (rows) / (per)": 51,
    "2 * gpu.multiProcessorCount": 216,
}  # fmt: skip


@pytest.mark.parametrize(("expression", "value"), VALUES.items())
def test_numbers_are_those_that_follow_by_hand(expression, value):
    assert NUMBERS.number(expression, AT) == value


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_values_above_are_those_of_a_compiler(tmp_path):
    same = [e for e in VALUES if "?" not in e]
    told = "".join(f'std::printf("%lld\\n", (long long)({e}));' for e in same)
    text = HOST.replace("LAUNCH", told).replace("launch(x,", "launch(nullptr,")
    heads = "".join(f"#include <{h}>\n" for h in ("cstdio", "cstdlib", "cmath", "algorithm"))
    (tmp_path / "host.cpp").write_text(f"{heads}using namespace std;\n{text}")
    subprocess.run(["g++", "host.cpp", "-o", "host"], cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "host"], capture_output=True, text=True, check=True)
    assert list(map(int, ran.stdout.split())) == [VALUES[e] for e in same]


@pytest.mark.parametrize(
    "expression",
    [
        "unknown",
        "nowhere",
        "self",
        "rows > 9 ? 3 : 4",
        "2 + (argc > 9 ? 3 : 4)",
        "~rows",
        "argv[1]",
        "rows > 3",
        "x->size",
        "1e400",
        "f(",
        "",
        "rows / 0",
    ],
)
def test_what_is_no_plain_arithmetic_is_not_known(expression):
    assert NUMBERS.number(expression, AT) is None


def test_a_function_that_is_never_called_has_unknown_parameters():
    host = "void launch(int rows) { LAUNCH } int loop(int n) { n = n + 1; LAUNCH2 }"
    assert HostNumbers(HostText(host)).number("rows", host.index("LAUNCH")) is None
    assert HostNumbers(HostText(host)).number("n", host.index("LAUNCH2")) is None


def test_what_the_program_reads_is_a_number_like_others():
    host = "int main(int argc, char **argv) { int n = atoi(argv[1]) * 1024 + 1; LAUNCH }"
    at = host.index("LAUNCH")
    assert HostNumbers(HostText(host), read=3).number("n", at) == 3 * 1024 + 1
    assert HostNumbers(HostText(host)).number("n", at) is None


def test_definitions_that_are_numbers_are_bounded():
    few = HostNumbers(HostText(HOST), most=64)
    assert few.number("side", AT) == 32
    assert few.number("rows", AT) == 1000 // 16 + 16 * 40
    assert HostNumbers(HostText(HOST), known={"per": 5}, most=64).number("per", AT) == 5


@pytest.mark.parametrize(
    ("expression", "formula"),
    [
        ("blocks", "(count + 31) / 32"),
        ("(rows + per - 1) / per", "(count + 32 - 1) / 32"),
        ("rows * many", "count * 1280"),
        ("side / 2", "16"),
        ("rows * 0.5", "820"),
        ("rows * 0.33", None),
        ("(int)(rows * 2.0)", "3280"),
        ("(int)rows / 7", "count / 7"),
        ("dim(3)", None),
    ],
)
def test_formulas_keep_the_names_of_sizes(expression, formula):
    assert NUMBERS.formula(expression, AT, {"rows": "count"}) == formula


def test_an_argument_that_is_an_expression_is_found_again():
    assert NUMBERS.formula("ceil_div(rows*per, 8)", AT, {"rows * per": "n"}) == "(n + 7) / 8"
    assert NUMBERS.formula("rows + 8", AT, {"rows": "n", "8": "m"}) == "n + 8"
