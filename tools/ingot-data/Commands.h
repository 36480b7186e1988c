// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The commands of ingot-data.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_DATA_COMMANDS_H
#define INGOT_TOOLS_INGOT_DATA_COMMANDS_H

#include "runtime/data/files/Sources.h"
#include "runtime/data/readers/Readers.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot {

/// Opens one of the files. Throws runtime::Error.
std::unique_ptr<runtime::Reader> openFile(const runtime::DataFile &file);

/// Returns a description of a file: its kind, its samples, and its fields as
/// they are in the first sample. Throws runtime::Error.
std::string inspect(const runtime::DataFile &file);

/// Writes the index beside an archive. Throws runtime::Error.
void writeIndexOf(const runtime::DataFile &file);

/// Reads all that is in a file, and decodes its pictures. Returns the problems,
/// at most `most` of them. Throws runtime::Error if it cannot be opened.
std::vector<std::string> verify(const runtime::DataFile &file, size_t most);

/// Writes the samples of files to others: .tar, .npz, or .bin for the integers
/// of one field as tokens. With `samplesPerShard` above 0, `output` is the
/// start of the names of .tar shards. `field` is the only one taken unless it
/// is empty. Returns the files written. Throws runtime::Error.
std::vector<std::string> convertFiles(const runtime::DataFiles &files,
                                      const std::string &output,
                                      const std::string &field,
                                      int64_t samplesPerShard);

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_DATA_COMMANDS_H
