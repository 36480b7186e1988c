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
    /// or the address of the kernel's function for the CPU, which takes
    /// `indices` indices after its buffers.
    bool isName;
    int64_t indices = 0;
  };

  using CallDescriptor::CallDescriptor;
  Descriptor(const CallDescriptor &descriptor) : CallDescriptor(descriptor) {}

  /// Sets the field to the name of a kernel; without a kernel, it stays null.
  void setName(uint32_t offset, mlir::StringAttr kernel) {
    if (kernel)
      addresses.push_back({offset, kernel, /*isName=*/true});
  }
  void setCode(uint32_t offset, mlir::StringAttr kernel, int64_t indices) {
    if (kernel)
      addresses.push_back({offset, kernel, /*isName=*/false, indices});
  }

  /// Returns the address for a field; null if it has none.
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
