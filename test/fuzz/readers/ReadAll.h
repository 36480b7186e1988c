// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads every field of every sample of a file.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FUZZ_READERS_READALL_H
#define INGOT_TEST_FUZZ_READERS_READALL_H

#include <string_view>

namespace ingot::fuzz {

/// Opens the bytes as a file of that name, in memory, and touches all that the
/// reader returns. Samples and fields may be refused.
void readAll(std::string_view bytes, const char *name);

} // namespace ingot::fuzz

#endif // INGOT_TEST_FUZZ_READERS_READALL_H
