// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/export/Export.h"
#include "dialects/ingot/support/InputFile.h"
#include "frontends/onnx/export/WireFields.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/weights/InputRoles.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

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

/// Whether the initializer may be a state, whose bytes a trainer writes.
static bool mayBeState(const onnx::TensorProto &tensor,
                       const CodedParts &parts) {
  if (parts.contains(tensor.name()))
    return true;
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::DOUBLE:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return tensor.has_raw_data();
  default:
    return false;
  }
}

/// Returns the size of an initializer as it is written.
static size_t writtenBytes(onnx::TensorProto &tensor, const CodedParts &parts) {
  return mayBeState(tensor, parts)
             ? withoutData(tensor).ByteSizeLong() + fieldBytes(rawSize(tensor))
             : tensor.ByteSizeLong();
}

/// Appends an initializer, without its data if that may be a state's. Data is
/// kept if it is small, or if the initializer is none of those that are used:
/// the model is without it after its import.
static void appendInitializer(onnx::TensorProto &tensor,
                              const llvm::StringSet<> &used,
                              const CodedParts &parts,
                              SerializedModel &result) {
  constexpr size_t large = size_t(1) << 20;
  size_t begin = result.literal.size();
  appendHead(result.literal, kInitializer, writtenBytes(tensor, parts));
  if (!mayBeState(tensor, parts)) {
    tensor.AppendToString(&result.literal);
    return;
  }
  withoutData(tensor).AppendToString(&result.literal);
  StringRef data = rawBytes(tensor);
  appendHead(result.literal, kRawData, rawSize(tensor));
  SerializedModel::Hole hole{result.literal.size(),
                             tensor.name(),
                             {},
                             result.literal.size() - begin,
                             rawSize(tensor)};
  if (data.size() < large || !used.contains(tensor.name()))
    hole.data = data.str();
  result.holes.push_back(std::move(hole));
}

/// Writes a model with all initializers for which `isInside` holds: field by
/// field, so that their data, which is most of it, is not held a second time.
static void
writeModel(onnx::ModelProto &model,
           llvm::function_ref<bool(const onnx::TensorProto &)> isInside,
           const CodedParts &parts, SerializedModel &result) {
  onnx::GraphProto &graph = *model.mutable_graph();
  llvm::StringSet<> used;
  walkNodes(graph, [&](const onnx::NodeProto &node) {
    for (const std::string &input : node.input())
      used.insert(input);
  });
  google::protobuf::RepeatedPtrField<onnx::TensorProto> initializers;
  initializers.Swap(graph.mutable_initializer());
  std::string rest = graph.SerializeAsString();
  std::unique_ptr<onnx::GraphProto> taken(model.release_graph());
  std::string &literal = result.literal;
  literal = model.SerializeAsString();
  model.set_allocated_graph(taken.release());
  size_t bytes = rest.size();
  for (onnx::TensorProto &tensor : initializers)
    if (isInside(tensor))
      bytes += fieldBytes(writtenBytes(tensor, parts));
  result.headerBytes = literal.size();
  appendHead(literal, kGraph, bytes);
  result.graphHeadBytes = literal.size() - result.headerBytes;
  result.restBytes = rest.size();
  for (onnx::TensorProto &tensor : initializers)
    if (isInside(tensor))
      appendInitializer(tensor, used, parts, result);
  // A model ends with literal bytes.
  literal += rest;
  initializers.Swap(graph.mutable_initializer());
}

SerializedModel onnx_import::serializeForExport(onnx::ModelProto &model,
                                                uint64_t most,
                                                const CodedParts &parts) {
  SerializedModel result;
  // Data that is as large as a reference to it stays.
  constexpr size_t minBytes = 1024;
  uint64_t bytes = model.ByteSizeLong();
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (isMapped(tensor))
      bytes += rawSize(tensor);
  result.isExternal = bytes > most;
  auto isInside = [&](const onnx::TensorProto &tensor) {
    return !result.isExternal || !mayBeState(tensor, parts) ||
           rawSize(tensor) < minBytes;
  };
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    if (isInside(tensor))
      continue;
    bytes -= rawSize(tensor);
    result.external.push_back(withoutData(tensor));
  }
  result.isTooLarge = bytes > kMostModelBytes;
  if (!result.isTooLarge)
    writeModel(model, isInside, parts, result);
  return result;
}

/// Returns a segment that ends with an initializer.
static ExportTemplate::Segment makeSegment(int64_t literalBytes, StringRef name,
                                           const CodedParts &parts) {
  auto part = parts.find(name);
  if (part == parts.end())
    return {literalBytes, name.str(), std::nullopt};
  return {literalBytes, part->second.state, part->second};
}

/// Adds the states that go to a file beside the model.
static void addExternal(const SerializedModel &model,
                        const llvm::StringSet<> &states,
                        const CodedParts &parts, ExportTemplate &result) {
  result.isExternal = model.isExternal;
  for (const onnx::TensorProto &tensor : model.external) {
    auto part = parts.find(tensor.name());
    if (part == parts.end() && !states.contains(tensor.name())) {
      result.obstacle = "the model is too large for one file, and '" +
                        tensor.name() +
                        "' is no state, which could go to another one";
      return;
    }
    std::string head = tensor.SerializeAsString();
    result.literal += head;
    result.segments.push_back(
        makeSegment(static_cast<int64_t>(head.size()), tensor.name(), parts));
  }
}

ExportTemplate onnx_import::makeExportTemplate(
    const SerializedModel &serialized, const onnx::ModelProto &model,
    const llvm::StringSet<> &states, const CodedParts &parts) {
  ExportTemplate result;
  if (serialized.isTooLarge) {
    result.obstacle = "the model is larger than 2 GiB, the limit of one file";
    return result;
  }
  llvm::StringMap<const onnx::TensorProto *> initializers;
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    initializers[tensor.name()] = &tensor;
  size_t done = 0, segment = 0;
  for (const SerializedModel::Hole &hole : serialized.holes) {
    result.literal.append(serialized.literal, done, hole.offset - done);
    done = hole.offset;
    if (!states.contains(hole.name) && !parts.contains(hole.name)) {
      const onnx::TensorProto *tensor = initializers.lookup(hole.name);
      if (tensor && hasNoData(*tensor)) {
        result.obstacle =
            "'" + hole.name + "' has no data, and is no state of the trainer";
        return result;
      }
      result.literal +=
          hole.data.empty() && tensor ? rawBytes(*tensor).str() : hole.data;
      continue;
    }
    result.segments.push_back(
        makeSegment(static_cast<int64_t>(result.literal.size() - segment),
                    hole.name, parts));
    result.segments.back().headBytes = hole.headBytes;
    result.segments.back().dataBytes = hole.dataBytes;
    segment = result.literal.size();
  }
  result.headerBytes = serialized.headerBytes;
  result.graphHeadBytes = serialized.graphHeadBytes;
  result.restBytes = serialized.restBytes;
  result.literal.append(serialized.literal, done, std::string::npos);
  result.segments.push_back(
      {static_cast<int64_t>(result.literal.size() - segment), ""});
  addExternal(serialized, states, parts, result);
  return result;
}
