// What nvcc includes before every source, of the headers that can matter to a kernel.
#pragma once
#include <cmath>
#include <cstdlib>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
