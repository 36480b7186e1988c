//===----------------------------------------------------------------------===//
//
// The descriptor of the ABI entry point (runtime/abi/Abi.h) of an op with the
// interface LibraryCall. Scratch, cost and the call itself follow from it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H
#define INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H

#include "dialects/ingot/ir/Interfaces.h"
#include "runtime/abi/Abi.h"

#include <variant>

namespace ingot {

/// A variant of all descriptors of the ABI.
struct CallDescriptor {
  std::variant<std::monostate, ingot_matmul_desc, ingot_conv_desc,
               ingot_attention_desc, ingot_compress_desc, ingot_shard_desc,
               ingot_bucket_desc>
      fields;
  /// Whether an attention has a mask, and whether it has key sequence lengths.
  bool hasMask = false, hasLengths = false;

  /// Returns the descriptor of a call.
  static CallDescriptor of(LibraryCall call) {
    CallDescriptor descriptor;
    call.describeCall(descriptor);
    return descriptor;
  }
};

/// Returns the element type of a tensor as descriptors encode it.
ingot_dtype getAbiType(mlir::Type element);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H
