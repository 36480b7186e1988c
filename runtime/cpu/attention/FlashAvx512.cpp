// The tasks for x86 processors with AVX-512.

#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/attention/FlashTasks.h"

#if defined(__x86_64__)
#pragma clang attribute push(                                                  \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))),         \
    apply_to = function)
#define FLASH_LANES 16
#include "runtime/cpu/attention/FlashTasks.inc"
#pragma clang attribute pop

const ingot::runtime::flash::Tasks ingot::runtime::flash::avx512Tasks = {
    forward, delta, headGradient, queryGradient, keyGradient};
#endif
