// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/WriteWeights.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/ElementTypes.h"
#include "frontends/onnx/model/MappedData.h"
#include "runtime/abi/Abi.h"
#include "runtime/abi/Mapping.h"
#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/File.h"
#include "runtime/core/files/Crc32.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <array>
#include <cstring>
#include <list>

using namespace mlir;
using namespace ingot;
using runtime::DType;
using runtime::TensorView;

namespace {

/// Builds the content of the file.
class WeightsFile {
public:
  WeightsFile(ModuleOp module, bool parameters)
      : symbols(module), parameters(parameters) {
    content.metadata["producer"] = "ingotc";
    for (auto state : module.getOps<StateOp>())
      if (getEncoding(state))
        addDescription(state);
    SmallVector<StateOp> mapped;
    for (auto state : module.getOps<StateOp>()) {
      auto home = state->getAttrOfType<StringAttr>(exec::kHomeAttr);
      if (home && home == "mapped") {
        mapped.push_back(state);
        continue;
      }
      if (!isWritten(state))
        continue;
      add(state);
      if (home)
        addChecksum(state);
    }
    addMapped(mapped);
  }

  WrittenWeights write(const std::string &path) {
    runtime::AtomicFile file(path);
    result.crc = runtime::writeSafeTensors(file, content, order);
    file.commit();
    return std::move(result);
  }

private:
  bool isWritten(StateOp state) const {
    return !splatValue(state) &&
           (parameters || state.getRole() != Role::Parameter);
  }

  /// Returns the key of a state. Codes have the name of what they encode, as
  /// files of bitsandbytes have it.
  std::string getKey(StateOp state) const {
    auto whole = encoded.find(state);
    return (whole == encoded.end() ? state : StateOp(whole->second))
        .getSymName()
        .str();
  }

  /// Adds what bitsandbytes reads beside the codes and scales of a state: its
  /// numbers, and how they are in blocks.
  void addDescription(StateOp state) {
    DictionaryAttr encoding = getEncoding(state);
    SmallVector<FlatSymbolRefAttr> parts = getParts(state);
    StringRef kind = encoding.getAs<StringAttr>("kind").getValue();
    encoded[symbols.lookup<StateOp>(parts[0].getValue())] = state;
    if (kind != "nf4" && kind != "fp4")
      return;
    std::string name = state.getSymName().str();
    SmallVector<int64_t> shape(state.getTensorType().getShape());
    if (hasTransposedParts(state))
      std::swap(shape[0], shape[1]);
    llvm::json::Object about{
        {"quant_type", kind},
        {"blocksize", encoding.getAs<IntegerAttr>("block").getInt()},
        {"dtype", "float32"},
        {"shape", llvm::json::Array(shape)}};
    auto addBytes = [&](const std::string &key, DType type, int64_t count,
                        const void *bytes) {
      const std::string &kept = storage.emplace_back(
          static_cast<const char *>(bytes), count * runtime::getSize(type));
      content.tensors[name + key] = {type, {count}, kept};
    };
    const auto code = static_cast<ingot_encoding>(
        llvm::find(kEncodingKinds, kind) - std::begin(kEncodingKinds));
    addBytes(".quant_map", DType::F32, 16, quantization::getNumbers(code));
    if (parts.size() > 2) {
      std::string bytes;
      StringRef nested =
          stateBytes(symbols.lookup<StateOp>(parts[2].getValue()), bytes);
      float mean;
      std::memcpy(&mean, nested.end() - sizeof(mean), sizeof(mean));
      about["nested_blocksize"] = quantization::Encoding::kScaleBlock;
      about["nested_dtype"] = "float32";
      about["nested_offset"] = mean;
      addBytes(".nested_quant_map", DType::F32, 256,
               quantization::getScaleNumbers());
    }
    std::string text =
        llvm::formatv("{0}", llvm::json::Value(std::move(about)));
    addBytes(".quant_state.bitsandbytes__" + kind.str(), DType::U8,
             static_cast<int64_t>(text.size()), text.data());
  }

  void add(StateOp state) {
    RankedTensorType type = state.getWholeType();
    StringRef bytes = stateBytes(state, storage.emplace_back());
    content.tensors[getKey(state)] = {
        getDType(type.getElementType()),
        type.getShape().vec(),
        {},
        [=](const TensorView::Sink &take) { forEachPiece(bytes, take); }};
  }

  /// Calls `take` with pieces of bytes that may be mapped, of which no more is
  /// in memory.
  static void forEachPiece(StringRef bytes, const TensorView::Sink &take) {
    constexpr size_t most = size_t(1) << 24;
    for (; !bytes.empty();
         bytes = bytes.drop_front(std::min(most, bytes.size()))) {
      StringRef piece = bytes.take_front(most);
      take({piece.data(), piece.size()});
      onnx_import::releaseMapped(piece);
    }
  }

  void addChecksum(StateOp state) {
    uint32_t &crc = result.checksums[state.getSymName().str()];
    content.tensors[getKey(state)].pieces([&](std::string_view piece) {
      crc = runtime::computeCrc32(piece, crc);
    });
  }

  /// Adds a copy in another type, which is computed while it is written.
  void addCopy(StateOp copy) {
    auto original = symbols.lookup<StateOp>(*copy.getOf());
    StringRef bytes = stateBytes(original, storage.emplace_back());
    DType from = getDType(original.getTensorType().getElementType());
    DType to = getDType(copy.getTensorType().getElementType());
    content.tensors[copy.getSymName().str()] = {
        to,
        copy.getTensorType().getShape().vec(),
        {},
        [=](const TensorView::Sink &take) {
          forEachPiece(bytes, [&](std::string_view piece) {
            convertPiece(piece, from, to, take);
          });
        }};
  }

  static void convertPiece(std::string_view bytes, DType from, DType to,
                           const TensorView::Sink &take) {
    constexpr int64_t most = 4096;
    std::array<double, most> values;
    auto *converted = reinterpret_cast<char *>(values.data());
    int64_t width = runtime::getSize(from);
    int64_t elements = static_cast<int64_t>(bytes.size()) / width;
    for (int64_t i = 0; i < elements; i += most) {
      int64_t count = std::min(most, elements - i);
      runtime::convert(bytes.data() + i * width, from, converted, to, count);
      take({converted, static_cast<size_t>(count * runtime::getSize(to))});
    }
  }

  /// Adds a tensor of zeros: the format allows no gaps.
  void addGap(int64_t bytes) {
    if (bytes == 0)
      return;
    std::string name = "padding/" + std::to_string(order.first.size());
    while (symbols.lookup(name))
      name += "'";
    const std::string &zeros =
        storage.emplace_back(static_cast<size_t>(bytes), '\0');
    content.tensors[name] = {DType::U8, {bytes}, zeros};
    order.first.push_back(name);
  }

  /// Adds the mapped states in the order of their places.
  void addMapped(SmallVectorImpl<StateOp> &mapped) {
    if (mapped.empty())
      return;
    auto placeOf = [](StateOp state) {
      return state->getAttrOfType<IntegerAttr>(exec::kOffsetAttr).getInt();
    };
    llvm::sort(mapped,
               [&](StateOp a, StateOp b) { return placeOf(a) < placeOf(b); });
    order.alignment = abi::kMappedAlignment;
    int64_t end = placeOf(mapped.front());
    for (StateOp state : mapped) {
      addGap(placeOf(state) - end);
      if (state.getRole() == Role::LowCopy)
        addCopy(state);
      else
        add(state);
      order.first.push_back(getKey(state));
      end = placeOf(state) + byteSize(state.getTensorType());
    }
    // What follows is aligned, too.
    addGap(llvm::alignTo(end, INGOT_ALIGNMENT) - end);
    for (StateOp state : mapped)
      if (state.getRole() != Role::LowCopy)
        addChecksum(state);
  }

  SymbolTable symbols;
  bool parameters;
  runtime::SafeTensors content;
  runtime::TensorOrder order;
  WrittenWeights result;
  /// The states that others encode, by those of their codes.
  llvm::DenseMap<Operation *, StateOp> encoded;
  /// The bytes of states that have no such form in memory.
  std::list<std::string> storage;
};

} // namespace

WrittenWeights ingot::writeWeights(ModuleOp module, const std::string &path,
                                   bool parameters) {
  return WeightsFile(module, parameters).write(path);
}
