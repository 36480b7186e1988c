// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The descriptor that a call passes: the C struct and the addresses in it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_EXEC_DESCRIPTOR_H
#define INGOT_DIALECTS_EXEC_DESCRIPTOR_H

#include "dialects/ingot/ir/CallDescriptor.h"

namespace ingot::exec {

class Descriptor : public CallDescriptor {
public:
  /// A field that code generation fills in.
  struct Address {
    uint32_t offset;
    mlir::StringAttr kernel;
    /// Whether it is the name by which the target's runtime finds the kernel,
    /// or the kernel's function for the CPU, which takes so many indices behind
    /// its buffers.
    bool isName;
    int64_t indices = 0;
  };

  using CallDescriptor::CallDescriptor;
  Descriptor(const CallDescriptor &descriptor) : CallDescriptor(descriptor) {}

  /// Without a kernel the fields stay null.
  void setName(uint32_t offset, mlir::StringAttr kernel) {
    if (kernel)
      addresses.push_back({offset, kernel, /*isName=*/true});
  }
  void setCode(uint32_t offset, mlir::StringAttr kernel, int64_t indices) {
    if (kernel)
      addresses.push_back({offset, kernel, /*isName=*/false, indices});
  }

  /// Null for a field without one.
  const Address *findAddress(uint32_t offset) const {
    for (const Address &address : addresses)
      if (address.offset == offset)
        return &address;
    return nullptr;
  }

private:
  llvm::SmallVector<Address> addresses;
};

} // namespace ingot::exec

#endif // INGOT_DIALECTS_EXEC_DESCRIPTOR_H
