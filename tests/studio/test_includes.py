"""A source from the browser reaches no file of the user's."""

import pytest

from placewise.errors import CaseError
from placewise.studio.includes import check_includes


@pytest.mark.parametrize(
    "source",
    [
        '#include <cuda_fp16.h>\n#include "beside.cuh"',
        "  #  include <cub/cub.cuh> // a comment",
        '// #include "/etc/passwd"',
        '/* \n#include "/etc/passwd"\n*/ int a;',
        'const char *s = "// not a comment";\n#include <cuda_runtime.h>\r\n',
    ],
)
def test_headers_of_the_compiler_are_allowed(source):
    check_includes(source)


@pytest.mark.parametrize(
    "source",
    [
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '#include "../secret.h"',
        '#include "a/../../secret.h"',
        "#include_next </etc/passwd>",
        '#import "/etc/passwd"',
        '#embed "/etc/passwd"',
        '#define F "/etc/passwd"\n#include F',
        '#inc\\\nlude "/etc/passwd"',
        '%:include "/etc/passwd"',
        '??=include "/etc/passwd"',
        '#/* */include "/etc/passwd"',
        'const char *s = "/*";\n#include "/etc/passwd"\n// */',
        '#include "~/secret.h"',
        '#include "..\\\\secret.h"',
        '\v#include "/etc/passwd"',
    ],
)
def test_files_elsewhere_are_refused(source):
    with pytest.raises(CaseError):
        check_includes(source)


def test_the_line_is_named():
    with pytest.raises(CaseError) as caught:
        check_includes('int a;\nint b;\n#include "/etc/passwd"\n')
    assert caught.value.where == "source, line 3"
