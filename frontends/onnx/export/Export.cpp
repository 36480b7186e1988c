// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/export/Export.h"
#include "dialects/ingot/support/InputFile.h"
#include "frontends/onnx/model/Tensors.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

namespace {

/// Finds the bytes of states in a serialized model.
class StateFinder {
public:
  struct Hole {
    int64_t offset, length;
    std::string state;
  };

  StateFinder(const std::string &bytes, const llvm::StringSet<> &states)
      : input(reinterpret_cast<const uint8_t *>(bytes.data()),
              static_cast<int>(bytes.size())),
        states(states) {}

  bool run() { return message({kGraph}, 0); }
  std::vector<Hole> holes;

private:
  // Field numbers of ModelProto, GraphProto and TensorProto.
  static constexpr int kGraph = 7, kInitializer = 5, kName = 8, kRawData = 9;

  /// Walks over the fields of a message up to the current limit: the model
  /// (level 0) or its graph (level 1).
  bool message(std::initializer_list<int> descend, int level) {
    while (uint32_t tag = input.ReadTag()) {
      int field = WireFormatLite::GetTagFieldNumber(tag);
      if (field != *descend.begin()) {
        if (!WireFormatLite::SkipField(&input, tag))
          return false;
        continue;
      }
      uint32_t length;
      if (!input.ReadVarint32(&length))
        return false;
      auto limit = input.PushLimit(static_cast<int>(length));
      bool ok = level == 0 ? message({kInitializer}, 1) : tensor();
      input.PopLimit(limit);
      if (!ok)
        return false;
    }
    return true;
  }

  bool tensor() {
    std::string name;
    int64_t offset = -1, length = 0;
    while (uint32_t tag = input.ReadTag()) {
      int field = WireFormatLite::GetTagFieldNumber(tag);
      uint32_t size;
      if (field != kName && field != kRawData) {
        if (!WireFormatLite::SkipField(&input, tag))
          return false;
        continue;
      }
      if (!input.ReadVarint32(&size))
        return false;
      if (field == kName) {
        if (!input.ReadString(&name, static_cast<int>(size)))
          return false;
        continue;
      }
      offset = input.CurrentPosition();
      length = size;
      if (!input.Skip(static_cast<int>(size)))
        return false;
    }
    if (offset >= 0 && states.contains(name))
      holes.push_back({offset, length, name});
    return true;
  }

  CodedInputStream input;
  const llvm::StringSet<> &states;
};

} // namespace

LogicalResult onnx_import::storeRaw(Location where, onnx::ModelProto &model) {
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    Type element = elementType(where.getContext(), tensor.data_type());
    if (tensor.has_raw_data() || !element || !isa<FloatType>(element))
      continue;
    FailureOr<std::string> bytes = tensorBytes(where, tensor);
    if (failed(bytes))
      return failure();
    tensor.clear_float_data();
    tensor.clear_double_data();
    tensor.clear_int32_data();
    tensor.set_raw_data(std::move(*bytes));
  }
  return success();
}

std::string onnx_import::takeClasses(onnx::ModelProto &model) {
  auto &entries = *model.mutable_metadata_props();
  for (int i = 0; i < entries.size(); ++i) {
    if (entries[i].key() != "classes")
      continue;
    std::string text = entries[i].value();
    llvm::Expected<llvm::json::Value> value = parseJson(text);
    if (!value) {
      llvm::consumeError(value.takeError());
      return "";
    }
    const llvm::json::Array *names = value->getAsArray();
    bool areNames = names && llvm::all_of(*names, [](const auto &name) {
                      return name.getAsString().has_value();
                    });
    if (!areNames)
      return "";
    entries.DeleteSubrange(i, 1);
    return text;
  }
  return "";
}

static std::string serialize(const onnx::ModelProto &model) {
  std::string serialized;
  if (model.ByteSizeLong() <= kMostModelBytes &&
      !model.SerializeToString(&serialized))
    serialized.clear();
  return serialized;
}

SerializedModel onnx_import::serializeForExport(onnx::ModelProto &model,
                                                uint64_t most) {
  if (model.ByteSizeLong() <= most)
    return {serialize(model), {}, /*isExternal=*/false};
  // Data that is as large as a reference to it stays.
  constexpr size_t minBytes = 1024;
  mlir::MLIRContext context;
  auto &initializers = *model.mutable_graph()->mutable_initializer();
  std::vector<std::pair<int, std::unique_ptr<std::string>>> taken;
  for (int i = 0; i < initializers.size(); ++i) {
    onnx::TensorProto &tensor = initializers[i];
    Type element = elementType(&context, tensor.data_type());
    if (element && isa<FloatType>(element) &&
        tensor.raw_data().size() >= minBytes)
      taken.emplace_back(i, tensor.release_raw_data());
  }
  // What is copied here is small.
  SerializedModel result;
  result.isExternal = true;
  onnx::ModelProto rest = model;
  auto &kept = *rest.mutable_graph()->mutable_initializer();
  kept.Clear();
  size_t next = 0;
  for (int i = 0; i < initializers.size(); ++i) {
    bool isTaken = next < taken.size() && taken[next].first == i;
    next += isTaken;
    if (isTaken)
      result.external.push_back(initializers[i]);
    else
      *kept.Add() = initializers[i];
  }
  for (auto &[i, data] : taken)
    initializers[i].set_allocated_raw_data(data.release());
  result.bytes = serialize(rest);
  return result;
}

/// Adds the states that go to a file beside the model.
static void addExternal(const SerializedModel &model,
                        const llvm::StringSet<> &states,
                        ExportTemplate &result) {
  result.isExternal = model.isExternal;
  for (const onnx::TensorProto &tensor : model.external) {
    if (!states.contains(tensor.name())) {
      result.obstacle = "the model is too large for one file, and '" +
                        tensor.name() +
                        "' is no state, which could go to another one";
      return;
    }
    std::string head = tensor.SerializeAsString();
    result.literal += head;
    result.segments.push_back(
        {static_cast<int64_t>(head.size()), tensor.name()});
  }
}

ExportTemplate
onnx_import::makeExportTemplate(const SerializedModel &model,
                                const llvm::StringSet<> &states) {
  ExportTemplate result;
  const std::string &bytes = model.bytes;
  if (bytes.empty()) {
    result.obstacle = "the model is larger than 2 GiB, the limit of one file";
    return result;
  }
  StateFinder finder(bytes, states);
  if (!finder.run()) {
    result.obstacle = "the model cannot be decoded";
    return result;
  }
  int64_t end = 0;
  for (StateFinder::Hole &hole : finder.holes) {
    result.literal.append(bytes, end, hole.offset - end);
    result.segments.push_back({hole.offset - end, std::move(hole.state)});
    end = hole.offset + hole.length;
  }
  result.literal.append(bytes, end, std::string::npos);
  result.segments.push_back({static_cast<int64_t>(bytes.size()) - end, ""});
  addExternal(model, states, result);
  return result;
}
