// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The safetensors format: the size of the header in eight bytes, a JSON header,
// and the data.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define INGOT_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "runtime/core/DType.h"
#include "runtime/core/File.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A tensor in a file, or one to be written; `data` is not owned.
struct TensorView {
  using Sink = std::function<void(std::string_view)>;

  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::string_view data;
  /// Replaces `data` for a tensor to be written that is not in memory as a
  /// whole: calls the sink with one piece after the other.
  std::function<void(const Sink &)> pieces = {};

  int64_t getBytes() const;
};

struct SafeTensors {
  std::map<std::string, TensorView> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads a file in memory, into which the views point. Rejects what the format
/// forbids: a header over 100,000,000 bytes, overlaps, holes, and sizes that do
/// not match shapes. Throws badInput naming `where`.
SafeTensors readSafeTensors(std::string_view bytes, const std::string &where);

/// The order of the data in a file.
struct TensorOrder {
  /// The names of tensors that come first, in this order, without gaps.
  std::vector<std::string> first = {};
  /// The file's offset of the data is a multiple of this.
  size_t alignment = 8;
};

/// Writes a file: after the tensors that come first those with wide elements,
/// by name, so that data is aligned to its elements. The caller commits it.
/// Returns the CRC-32 of its bytes, computed as they are written.
uint32_t writeSafeTensors(AtomicFile &file, const SafeTensors &content,
                          const TensorOrder &order = {});

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CHECKPOINT_SAFETENSORS_H
