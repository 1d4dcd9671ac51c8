#pragma once
// bool is the language's own.
#define __bool_true_false_are_defined 1
