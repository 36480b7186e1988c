// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The empty folder of a fuzz target, for readers that want files of certain
// names.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FUZZ_RECORDS_FOLDER_H
#define INGOT_TEST_FUZZ_RECORDS_FOLDER_H

#include <string>
#include <string_view>

namespace ingot::fuzz {

/// Makes a folder of this process on the first call, which is its current
/// folder from then on and is gone when the process has ended.
void enterFolder();

/// Writes a file of the folder.
void writeFile(const std::string &name, std::string_view bytes);

/// Removes the part of the input before the first zero byte, and returns it:
/// inputs of several files.
std::string_view takePart(std::string_view &bytes);

} // namespace ingot::fuzz

#endif // INGOT_TEST_FUZZ_RECORDS_FOLDER_H
