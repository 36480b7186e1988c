// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/MappedData.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <sys/mman.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

//===----------------------------------------------------------------------===//
// Mappings
//===----------------------------------------------------------------------===//

namespace {

/// Bytes of a file in memory.
class Mapping {
public:
  /// Check `getBytes` for success.
  Mapping(int descriptor, uint64_t offset, uint64_t bytes);
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping();

  StringRef getBytes() const { return bytes; }

private:
  llvm::sys::fs::mapped_file_region region;
  StringRef bytes;
};

/// The mappings that live, by their last byte, so that only they are given
/// back.
struct Living {
  std::mutex mutex;
  std::map<uintptr_t, StringRef> byEnd;
};

} // namespace

static Living &getLiving() {
  static Living living;
  return living;
}

static uintptr_t addressOf(const char *byte) {
  return reinterpret_cast<uintptr_t>(byte);
}

Mapping::Mapping(int descriptor, uint64_t offset, uint64_t length) {
  auto page =
      static_cast<uint64_t>(llvm::sys::fs::mapped_file_region::alignment());
  uint64_t before = offset % page;
  std::error_code error;
  region = llvm::sys::fs::mapped_file_region(
      descriptor, llvm::sys::fs::mapped_file_region::readonly, length + before,
      offset - before, error);
  if (error)
    return;
  bytes = StringRef(region.const_data() + before, length);
  std::lock_guard lock(getLiving().mutex);
  getLiving().byEnd[addressOf(bytes.end())] = bytes;
}

Mapping::~Mapping() {
  if (bytes.empty())
    return;
  std::lock_guard lock(getLiving().mutex);
  getLiving().byEnd.erase(addressOf(bytes.end()));
}

void onnx_import::releaseMapped(StringRef bytes) {
  Living &living = getLiving();
  std::lock_guard lock(living.mutex);
  auto found = living.byEnd.lower_bound(addressOf(bytes.end()));
  if (bytes.empty() || found == living.byEnd.end() ||
      addressOf(found->second.begin()) > addressOf(bytes.begin()))
    return;
  auto page =
      static_cast<uintptr_t>(llvm::sys::fs::mapped_file_region::alignment());
  // What is read again at an end of the range is read from the file again.
  uintptr_t begin = addressOf(bytes.begin()) / page * page;
  (void)madvise(reinterpret_cast<void *>(begin), addressOf(bytes.end()) - begin,
                MADV_DONTNEED);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kKey = "ingot.mapping",
                                     kNoData = "ingot.no_data";

/// The mappings of the scopes of the thread; tensors have their numbers.
static std::vector<std::shared_ptr<Mapping>> &getMappings() {
  static thread_local std::vector<std::shared_ptr<Mapping>> mappings;
  return mappings;
}

static thread_local unsigned scopes = 0;

MappedDataScope::MappedDataScope() : before(getMappings().size()) { ++scopes; }

MappedDataScope::~MappedDataScope() {
  getMappings().resize(before);
  --scopes;
}

static std::shared_ptr<Mapping> findMapping(const onnx::TensorProto &tensor) {
  if (!tensor.has_raw_data() || !tensor.raw_data().empty())
    return nullptr;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    size_t number;
    if (entry.key() == kKey &&
        !StringRef(entry.value()).getAsInteger(10, number) &&
        number < getMappings().size())
      return getMappings()[number];
  }
  return nullptr;
}

/// Returns the bytes of an element; 0 if it is not floating point.
static uint64_t getWidth(const onnx::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case onnx::TensorProto::DOUBLE:
    return sizeof(double);
  case onnx::TensorProto::FLOAT:
    return sizeof(float);
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return sizeof(uint16_t);
  default:
    return 0;
  }
}

/// Returns the bytes that a tensor of its sizes has; 0 if they are none, or are
/// too many.
static uint64_t getWantedBytes(const onnx::TensorProto &tensor) {
  uint64_t wanted = getWidth(tensor);
  for (int64_t size : tensor.dims())
    if (size <= 0 || wanted > (uint64_t(1) << 46) / static_cast<uint64_t>(size))
      return 0;
    else
      wanted *= static_cast<uint64_t>(size);
  return wanted;
}

/// Replaces the data of a tensor by an entry of its external data.
static void setEntry(onnx::TensorProto &tensor, StringRef key,
                     const std::string &value) {
  tensor.clear_external_data();
  tensor.set_data_location(onnx::TensorProto::DEFAULT);
  tensor.set_raw_data("");
  onnx::StringStringEntryProto &entry = *tensor.add_external_data();
  entry.set_key(key.str());
  entry.set_value(value);
}

bool onnx_import::mapData(onnx::TensorProto &tensor, int descriptor,
                          uint64_t offset, uint64_t bytes) {
  constexpr uint64_t least = uint64_t(1) << 20;
  uint64_t width = getWidth(tensor);
  // What contradicts its sizes is read and reported.
  if (scopes == 0 || width == 0 || bytes < least ||
      bytes != getWantedBytes(tensor) || offset % width != 0)
    return false;
  auto mapping = std::make_shared<Mapping>(descriptor, offset, bytes);
  if (mapping->getBytes().empty())
    return false;
  setEntry(tensor, kKey, std::to_string(getMappings().size()));
  getMappings().push_back(std::move(mapping));
  return true;
}

bool onnx_import::leaveOutData(onnx::TensorProto &tensor) {
  if (getWantedBytes(tensor) == 0)
    return false;
  setEntry(tensor, kNoData, "");
  return true;
}

bool onnx_import::hasNoData(const onnx::TensorProto &tensor) {
  return tensor.has_raw_data() && tensor.raw_data().empty() &&
         llvm::any_of(tensor.external_data(),
                      [](const auto &entry) { return entry.key() == kNoData; });
}

bool onnx_import::isMapped(const onnx::TensorProto &tensor) {
  return findMapping(tensor) != nullptr || hasNoData(tensor);
}

size_t onnx_import::rawSize(const onnx::TensorProto &tensor) {
  return hasNoData(tensor) ? getWantedBytes(tensor) : rawBytes(tensor).size();
}

StringRef onnx_import::rawBytes(const onnx::TensorProto &tensor) {
  std::shared_ptr<Mapping> mapping = findMapping(tensor);
  return mapping ? mapping->getBytes() : StringRef(tensor.raw_data());
}

onnx::TensorProto onnx_import::withoutData(onnx::TensorProto &tensor) {
  std::unique_ptr<std::string> data(tensor.release_raw_data());
  onnx::TensorProto result = tensor;
  result.clear_external_data();
  if (data)
    tensor.set_allocated_raw_data(data.release());
  return result;
}

ElementsAttr onnx_import::mappedAttr(RankedTensorType type,
                                     const onnx::TensorProto &tensor) {
  if (hasNoData(tensor)) {
    auto element = cast<FloatType>(type.getElementType());
    bool isBias = StringRef(tensor.name()).ends_with_insensitive("bias");
    double value = type.getRank() > 1 ? std::numeric_limits<double>::quiet_NaN()
                   : isBias           ? 0.0
                                      : 1.0;
    return DenseElementsAttr::get(type,
                                  FloatAttr::get(element, value).getValue());
  }
  std::shared_ptr<Mapping> mapping = findMapping(tensor);
  StringRef bytes = mapping->getBytes();
  size_t width = bytes.size() / type.getNumElements();
  bool isSplat = bytes.drop_front(width) == bytes.drop_back(width);
  if (isSplat)
    return DenseElementsAttr::getFromRawBuffer(
               RankedTensorType::get({1}, type.getElementType()),
               ArrayRef(bytes.data(), width))
        .resizeSplat(type);
  releaseMapped(bytes);
  AsmResourceBlob blob(
      ArrayRef(bytes.data(), bytes.size()), width,
      [mapping](void *, size_t, size_t) mutable { mapping.reset(); },
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, tensor.name(), std::move(blob));
}

EmptyMappedTensors::EmptyMappedTensors(onnx::GraphProto &graph) {
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    if (!isMapped(tensor))
      continue;
    tensors.push_back(
        {&tensor, std::vector(tensor.dims().begin(), tensor.dims().end())});
    tensor.clear_dims();
    tensor.add_dims(0);
  }
}

EmptyMappedTensors::~EmptyMappedTensors() {
  for (auto &[tensor, dims] : tensors) {
    tensor->clear_dims();
    for (int64_t size : dims)
      tensor->add_dims(size);
  }
}
