// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Opens files of samples. The content of a file decides which reader, not its
// name.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_DATASET_OPENREADER_H
#define INGOT_RUNTIME_DATA_DATASET_OPENREADER_H

#include "runtime/data/readers/Readers.h"

#include <memory>
#include <string>

namespace ingot::runtime {

/// Opens one file or folder of samples. The content decides which reader, and
/// of files without any mark of their own the name. Throws badInput.
std::unique_ptr<Reader> openReader(const std::string &path,
                                   const ReaderOptions &options);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_DATASET_OPENREADER_H
