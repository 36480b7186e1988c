//===----------------------------------------------------------------------===//
//
// What the interface LibraryCall says of an op: the descriptor of its ABI entry
// (runtime/abi/Abi.h). Scratch, cost and the call itself follow from it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H
#define INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H

#include "dialects/ingot/ir/Interfaces.h"
#include "runtime/abi/Abi.h"

#include <variant>

namespace ingot {

/// One of the ABI's descriptors.
struct CallDescriptor {
  std::variant<std::monostate, ingot_matmul_desc, ingot_conv_desc,
               ingot_attention_desc, ingot_compress_desc, ingot_shard_desc,
               ingot_bucket_desc>
      fields;

  /// The descriptor of a call.
  static CallDescriptor of(LibraryCall call) {
    CallDescriptor descriptor;
    call.describeCall(descriptor);
    return descriptor;
  }
};

/// The element type of a tensor as descriptors have it.
ingot_dtype getAbiType(mlir::Type element);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H
