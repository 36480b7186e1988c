// The tasks for any processor: four lanes, which every target has.

#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/attention/FlashTasks.h"

#define FLASH_LANES 4
#include "runtime/cpu/attention/FlashTasks.inc"

const ingot::runtime::flash::Tasks ingot::runtime::flash::genericTasks = {
    forward, delta, headGradient, queryGradient, keyGradient};
