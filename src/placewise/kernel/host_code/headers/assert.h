#pragma once
// assert is the compiler's own.
