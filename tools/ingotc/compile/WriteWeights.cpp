// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/WriteWeights.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/ElementTypes.h"
#include "frontends/onnx/model/MappedData.h"
#include "runtime/abi/Abi.h"
#include "runtime/abi/Mapping.h"
#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/File.h"
#include "runtime/core/files/Crc32.h"

#include <array>
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

  void add(StateOp state) {
    RankedTensorType type = state.getWholeType();
    StringRef bytes = stateBytes(state, storage.emplace_back());
    content.tensors[state.getSymName().str()] = {
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
    std::string name = state.getSymName().str();
    uint32_t &crc = result.checksums[name];
    content.tensors[name].pieces([&](std::string_view piece) {
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
      order.first.push_back(state.getSymName().str());
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
  /// The bytes of states that have no such form in memory.
  std::list<std::string> storage;
};

} // namespace

WrittenWeights ingot::writeWeights(ModuleOp module, const std::string &path,
                                   bool parameters) {
  return WeightsFile(module, parameters).write(path);
}
