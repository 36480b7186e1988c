// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/CallDescriptor.h"

using namespace mlir;
using namespace ingot;

bool ingot::hasBuffer(LibraryCall call, StringRef name) {
  const abi::Entry *entry = abi::findEntry(call.getEntry());
  for (auto [buffer, value] : llvm::zip(entry->buffers, call.getCallBuffers()))
    if (StringRef(buffer.name) == name)
      return value.value != nullptr;
  return false;
}

int64_t CallDescriptor::getInteger(uint32_t offset, uint32_t size) const {
  if (size == sizeof(int32_t)) {
    int32_t value;
    std::memcpy(&value, bytes.data() + offset, size);
    return value;
  }
  assert(size == sizeof(int64_t));
  int64_t value;
  std::memcpy(&value, bytes.data() + offset, size);
  return value;
}

void CallDescriptor::setInteger(uint32_t offset, uint32_t size, int64_t value) {
  auto narrow = static_cast<int32_t>(value);
  assert(size == sizeof(value) || (size == sizeof(narrow) && narrow == value));
  std::memcpy(bytes.data() + offset,
              size == sizeof(narrow) ? static_cast<const void *>(&narrow)
                                     : &value,
              size);
}

int64_t CallDescriptor::getInteger(StringRef name) const {
  const abi::Field *field = type->find(name);
  return field ? getInteger(field->offset, field->bytes) : 0;
}

/// Sets the fields of that name in a struct and in those within it.
static bool setFields(CallDescriptor &descriptor, const abi::Struct &type,
                      uint32_t base, StringRef name, int64_t value) {
  bool isFound = false;
  for (const abi::Field &field : type.fields)
    if (field.encoding == abi::Encoding::Struct) {
      for (uint32_t i = 0; i < std::max(field.count, 1u); ++i)
        isFound |=
            setFields(descriptor, *field.type,
                      base + field.offset + i * field.bytes, name, value);
    } else if (StringRef(field.name) == name) {
      descriptor.setInteger(base + field.offset, field.bytes, value);
      isFound = true;
    }
  return isFound;
}

void CallDescriptor::setInteger(StringRef name, int64_t value) {
  bool isFound = setFields(*this, *type, 0, name, value);
  assert(isFound && "the descriptor has no such field");
  (void)isFound;
}

ingot_dtype ingot::getAbiType(Type element) {
  if (element.isF64())
    return INGOT_F64;
  if (element.isBF16())
    return INGOT_BF16;
  if (element.isF16())
    return INGOT_F16;
  if (isa<Float8E4M3FNType>(element))
    return INGOT_F8E4M3;
  if (isa<Float8E5M2Type>(element))
    return INGOT_F8E5M2;
  assert(element.isF32() && "library calls compute in floating point");
  return INGOT_F32;
}
