// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The descriptor and the buffers of an op with the interface LibraryCall, in
// terms of its ABI entry point (runtime/abi/Abi.td). Scratch, cost and the call
// itself follow from them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H
#define INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H

#include "dialects/ingot/ir/Interfaces.h"
#include "runtime/abi/Table.h"

#include <cstring>

namespace ingot {

/// The value of a descriptor of the ABI: a C struct with its type.
class CallDescriptor {
public:
  CallDescriptor() = default;
  /// Creates a descriptor from a struct of the ABI.
  template <typename Desc>
  CallDescriptor(const Desc &desc)
      : CallDescriptor(abi::structOf<Desc>,
                       llvm::ArrayRef(reinterpret_cast<const char *>(&desc),
                                      sizeof(Desc))) {
    static_assert(std::is_trivially_copyable_v<Desc>);
  }
  CallDescriptor(const abi::Struct &type, llvm::ArrayRef<char> bytes)
      : type(&type), bytes(bytes) {
    assert(bytes.size() == type.bytes);
  }

  /// Returns the descriptor of a call.
  static CallDescriptor of(LibraryCall call) {
    CallDescriptor descriptor;
    call.describeCall(descriptor);
    return descriptor;
  }

  const abi::Struct &getType() const { return *type; }
  llvm::ArrayRef<char> getBytes() const { return bytes; }

  template <typename Desc> bool is() const {
    return type == &abi::structOf<Desc>;
  }
  /// Returns the C struct, which must be that of the descriptor.
  template <typename Desc> Desc get() const {
    assert(is<Desc>());
    Desc desc;
    std::memcpy(&desc, bytes.data(), sizeof(Desc));
    return desc;
  }

  /// Calls `body` with the C struct if it is one of these.
  template <typename... Descs, typename Body> void match(Body body) const {
    ((is<Descs>() ? body(get<Descs>()) : void()), ...);
  }

  /// Returns an integer, or the bits of another number, at an offset in the
  /// struct.
  int64_t getInteger(uint32_t offset, uint32_t size) const;
  void setInteger(uint32_t offset, uint32_t size, int64_t value);
  /// Returns a field by its name; 0 if the struct has none.
  int64_t getInteger(llvm::StringRef name) const;
  /// Sets a field of the struct, or of a struct in it; the field must exist.
  void setInteger(llvm::StringRef name, int64_t value);

private:
  const abi::Struct *type = nullptr;
  llvm::SmallVector<char, 0> bytes;
};

/// Returns whether a call passes the entry point's buffer of that name.
bool hasBuffer(LibraryCall call, llvm::StringRef name);

/// Returns the element type of a tensor as descriptors encode it.
ingot_dtype getAbiType(mlir::Type element);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_CALLDESCRIPTOR_H
