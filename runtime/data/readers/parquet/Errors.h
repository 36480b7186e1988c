// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The errors of Parquet files.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_READERS_PARQUET_ERRORS_H
#define INGOT_RUNTIME_DATA_READERS_PARQUET_ERRORS_H

#include "runtime/core/Error.h"

#include <string>

namespace ingot::runtime::parquet {

/// An error that the file is at fault for.
Error damaged(const std::string &where, const std::string &what);
/// An error for what the format has and this reader has not.
Error unsupported(const std::string &where, const std::string &what);

} // namespace ingot::runtime::parquet

#endif // INGOT_RUNTIME_DATA_READERS_PARQUET_ERRORS_H
