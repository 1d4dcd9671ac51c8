#pragma once
// size_t, ptrdiff_t and NULL are the compiler's own.
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
