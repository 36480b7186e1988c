// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A model file with places for the bytes of its states.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_EXPORT_EXPORTTEMPLATE_H
#define INGOT_FRONTENDS_ONNX_EXPORT_EXPORTTEMPLATE_H

#include "frontends/onnx/model/CodedInitializer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::onnx_import {

/// The model file without the bytes of its states, so that a trainer can write
/// the model with trained weights: each segment is literal bytes followed by
/// the bytes of a state (row-major, little endian), which may be none at the
/// end.
struct ExportTemplate {
  struct Segment {
    /// The number of bytes of `literal` that come next.
    int64_t literalBytes;
    /// The state whose bytes follow; empty after the last literal bytes.
    std::string state;
    /// The part of the state that follows, if it is one.
    std::optional<CodedInitializer> part = {};
    /// In the model's own file, the bytes of the initializer before its data,
    /// with which the literal bytes end, and those of the data.
    int64_t headBytes = 0, dataBytes = 0;
  };
  /// The literal bytes of all segments.
  std::string literal;
  std::vector<Segment> segments;
  /// The names of classes that the model's metadata have, as a list in JSON.
  /// They are no part of the literal bytes: trainers write them.
  std::string classes;
  /// Whether large states go to a file beside the model. They come after the
  /// model without them, which ends with literal bytes: a segment of each is
  /// its TensorProto without data.
  bool isExternal = false;
  /// The bytes of the model before its graph, of the graph's tag and length,
  /// and of the graph without initializers, which comes last in the model's own
  /// file.
  size_t headerBytes = 0, graphHeadBytes = 0, restBytes = 0;
  /// The reason why the model cannot be exported; empty if it can.
  std::string obstacle;
};

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_EXPORT_EXPORTTEMPLATE_H
