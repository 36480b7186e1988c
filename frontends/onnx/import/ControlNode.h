// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Nodes that have graphs as attributes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORT_CONTROLNODE_H
#define INGOT_FRONTENDS_ONNX_IMPORT_CONTROLNODE_H

#include "dialects/ingot/ir/Diagnostics.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"

namespace ingot::onnx_import {

/// More iterations, and nodes in all of them, than any model has that is
/// unrolled and compiled in reasonable time.
inline constexpr int64_t kMaxIterations = 1 << 15;

/// The attributes of a node with a body.
struct Attributes {
  explicit Attributes(const onnx::NodeProto &node) {
    for (const onnx::AttributeProto &attribute : node.attribute())
      all[attribute.name()] = &attribute;
  }
  const onnx::GraphProto *graph(llvm::StringRef name) const {
    auto found = all.find(name);
    return found == all.end() || !found->second->has_g() ? nullptr
                                                         : &found->second->g();
  }
  int64_t integer(llvm::StringRef name) const {
    auto found = all.find(name);
    return found == all.end() ? 0 : found->second->i();
  }
  /// Returns the i-th integer of a list; 0 where it is shorter.
  int64_t element(llvm::StringRef name, int i) const {
    auto found = all.find(name);
    return found == all.end() || i >= found->second->ints_size()
               ? 0
               : found->second->ints(i);
  }

  llvm::StringMap<const onnx::AttributeProto *> all;
};

/// Fails because the node contradicts the specification.
inline llvm::LogicalResult malformed(const onnx::NodeProto &node,
                                     mlir::Location loc,
                                     const llvm::Twine &what) {
  return emitUserError(loc, llvm::Twine(node.op_type()) + ": " + what,
                       "the model contradicts itself; export it again");
}

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_IMPORT_CONTROLNODE_H
