// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Functions that the readers' fuzz targets share. A reader either throws Error
// or returns bytes that are there; anything else is a finding.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FUZZ_READERS_FUZZER_H
#define INGOT_TEST_FUZZ_READERS_FUZZER_H

#include "runtime/data/Npy.h"

#include <string_view>

namespace ingot::fuzz {

/// The reader under test; each target defines it.
void read(std::string_view bytes);

/// Reads every byte, so that the sanitizers see what a reader returns.
void touch(std::string_view bytes);
void touch(const runtime::Array &array);

} // namespace ingot::fuzz

#endif // INGOT_TEST_FUZZ_READERS_FUZZER_H
