// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An event file as TensorBoard reads it: TFRecords of the protobuf message
// Event (tensorboard/compat/proto/event.proto).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_OBSERVE_TENSORBOARD_EVENTFILE_H
#define INGOT_RUNTIME_OBSERVE_TENSORBOARD_EVENTFILE_H

#include "runtime/core/files/RecordFile.h"
#include "runtime/observe/tensorboard/Histogram.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// The values of one step, which become one event.
class Summary {
public:
  void addScalar(std::string_view tag, double value);
  void addHistogram(std::string_view tag, const Histogram &histogram);
  bool isEmpty() const { return bytes.empty(); }
  /// The encoded message.
  const std::string &getBytes() const { return bytes; }

private:
  std::string bytes;
};

class EventFile {
public:
  /// Creates a file in `folder`, with a name that no other run has. Throws
  /// failure.
  explicit EventFile(const std::string &folder);

  void write(int64_t step, const Summary &summary);
  /// Says that steps from `step` on are taken again: readers forget what they
  /// have of them.
  void restartAt(int64_t step);

  const std::optional<Error> &getProblem() const { return file.getProblem(); }

private:
  void writeEvent(const std::string &fields);

  RecordFile file;
};

/// The checksum of TFRecords: CRC-32C, rotated and shifted.
uint32_t getMaskedCrc(std::string_view bytes);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_OBSERVE_TENSORBOARD_EVENTFILE_H
