// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/Parameters.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/weights/InputRoles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// Returns the value of a metadata entry; empty if it is not there.
template <typename Proto>
static StringRef metadataOf(const Proto &proto, StringRef key) {
  for (const onnx::StringStringEntryProto &entry : proto.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return "";
}

ExporterMetadata onnx_import::readMetadata(const onnx::GraphProto &graph) {
  ExporterMetadata metadata;
  // Lines such as `p_fc_weight: PARAMETER target='fc.weight'`.
  StringRef signature =
      metadataOf(graph, "pkg.torch.export.ExportedProgram.graph_signature");
  while (!signature.empty()) {
    StringRef line;
    std::tie(line, signature) = signature.split('\n');
    auto [name, rest] = line.split(": PARAMETER target='");
    if (rest.empty())
      continue;
    StringRef target = rest.split('\'').first;
    metadata.parameters[name.trim().str()] = target.str();
    metadata.parameterNames.insert(target);
    metadata.exists = true;
  }
  for (const onnx::ValueInfoProto &value : graph.value_info()) {
    StringRef kind =
        metadataOf(value, "pkg.torch.export.graph_signature.InputSpec.kind");
    metadata.exists |= !kind.empty();
    if (kind == "PARAMETER")
      metadata.parameterNames.insert(value.name());
  }
  return metadata;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static bool isFloat(const onnx::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::DOUBLE:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return true;
  default:
    return false;
  }
}

/// Returns whether the tensor is a scalar that is infinite or NaN, which is
/// never trained: a mask value, for example.
static bool isNoNumber(const onnx::TensorProto &tensor) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT || tensor.dims_size() != 0)
    return false;
  float value = 0;
  if (tensor.raw_data().size() == sizeof value)
    std::memcpy(&value, tensor.raw_data().data(), sizeof value);
  else if (tensor.float_data_size() == 1)
    value = tensor.float_data(0);
  return !std::isfinite(value);
}

/// Finds the floating-point initializers that are constants of the computation:
/// settings, scalars that are not finite, and those with names that exporters
/// generate (`onnx::Mul_12`, `/attn/Constant_output_0`).
static llvm::StringSet<> findConstants(const onnx::GraphProto &graph) {
  llvm::StringSet<> constants;
  walkNodes(graph, [&](const onnx::NodeProto &node) {
    for (int i = 0; i < node.input_size(); ++i)
      if (isSetting(node, i))
        constants.insert(node.input(i));
  });
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    StringRef name = tensor.name();
    if (isNoNumber(tensor) || (tensor.dims_size() == 0 &&
                               (name.contains("::") || name.starts_with("/"))))
      constants.insert(name);
  }
  return constants;
}

LogicalResult onnx_import::keepTrainable(const ImportOptions &options,
                                         llvm::StringSet<> &names,
                                         MLIRContext *context) {
  llvm::StringSet<> kept;
  for (StringRef name : names.keys())
    if (options.trainable.empty() || options.trainable.match(name))
      kept.insert(name);
  names = std::move(kept);
  return success();
}

FailureOr<llvm::StringMap<Role>> onnx_import::classifyInitializers(
    const onnx::GraphProto &graph, const ExporterMetadata &metadata,
    const ImportOptions &options, MLIRContext *context) {
  llvm::StringSet<> running;
  walkNodes(graph, [&](const onnx::NodeProto &node) {
    for (int i = 0; i < node.input_size(); ++i)
      if (isStatistic(node, i))
        running.insert(node.input(i));
  });

  llvm::StringSet<> constants = findConstants(graph);
  // Smaller tensors are constants of the computation, unless they are trained.
  constexpr int64_t kLargestConstant = 16;
  llvm::StringMap<Role> roles;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    // There is nothing to train or to keep in a tensor without elements.
    if (!isFloat(tensor) || llvm::is_contained(tensor.dims(), 0))
      continue;
    StringRef name = tensor.name();
    bool frozen = options.freeze.match(name);
    if (running.contains(name)) {
      roles[name] = frozen ? Role::Frozen : Role::Running;
      continue;
    }
    bool trained = metadata.exists ? metadata.parameterNames.contains(name)
                                   : !constants.contains(name);
    if (!options.trainable.empty())
      trained = options.trainable.match(name);
    if (trained && !frozen) {
      roles[name] = Role::Parameter;
      continue;
    }
    int64_t elements = 1;
    for (int64_t size : tensor.dims())
      elements *= size;
    // What is known at compile time stays so, whatever pattern it matches.
    if (elements > kLargestConstant || (frozen && !constants.contains(name)))
      roles[name] = Role::Frozen;
  }
  return roles;
}

//===----------------------------------------------------------------------===//
// Rewrites by exporters
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kRemedy =
    "export with torch.onnx.export(..., dynamo=True, optimize=False), which "
    "keeps every parameter";

/// Returns true if a parameter of the exported program is used by this node.
/// The exporter quotes the node of its own graph: `%conv2d : ... args = (%x,
/// %p_c_weight, ...`.
static bool mentions(StringRef quoted, StringRef parameter) {
  for (size_t at = 0; (at = quoted.find(parameter, at)) != StringRef::npos;
       ++at) {
    StringRef after = quoted.drop_front(at + parameter.size());
    bool ends = after.empty() ||
                !(llvm::isAlnum(after.front()) || after.front() == '_');
    if (ends && at > 0 && quoted[at - 1] == '%')
      return true;
  }
  return false;
}

/// Returns whether the node replaces a batch norm.
static bool isFoldedBatchNorm(const onnx::NodeProto &node) {
  StringRef op = node.op_type();
  if (op != "Conv" && op != "ConvTranspose" && op != "Gemm" && op != "MatMul")
    return false;
  if (metadataOf(node, "pkg.onnxscript.rewriter.rule_name")
          .contains("FuseBatchNorm") ||
      metadataOf(node, "pkg.torch.onnx.fx_node").contains("batch_norm"))
    return true;
  // The older exporter gives the weights into which it folds a name of its own.
  return op == "Conv" && node.input_size() > 1 &&
         StringRef(node.input(1)).starts_with("onnx::Conv_");
}

/// Returns the parameters of the program that a node quotes and the file lacks,
/// in the order in which the node quotes them.
static SmallVector<StringRef> findLost(StringRef quoted,
                                       const ExporterMetadata &metadata,
                                       const llvm::StringSet<> &present) {
  SmallVector<std::pair<size_t, StringRef>> lost;
  for (const auto &[name, target] : metadata.parameters)
    if (!present.contains(target) && mentions(quoted, name))
      lost.emplace_back(quoted.find("%" + name), target);
  llvm::sort(lost);
  return SmallVector<StringRef>(llvm::make_second_range(lost));
}

LostParameters
onnx_import::findLostParameters(const onnx::GraphProto &graph,
                                const ExporterMetadata &metadata) {
  llvm::StringSet<> present;
  for (const onnx::TensorProto &tensor : graph.initializer())
    present.insert(tensor.name());
  LostParameters result;
  llvm::StringSet<> seen;
  for (auto [index, node] : llvm::enumerate(graph.node())) {
    StringRef quoted = metadataOf(node, "pkg.torch.onnx.fx_node");
    if (quoted.empty() || isFoldedBatchNorm(node))
      continue;
    SmallVector<StringRef> lost = findLost(quoted, metadata, present);
    // Other parameters among the inputs, which this node did not name.
    SmallVector<int> standIns;
    for (auto [i, input] : llvm::enumerate(node.input()))
      for (const auto &[name, target] : metadata.parameters)
        if (target == input && !mentions(quoted, name))
          standIns.push_back(static_cast<int>(i));
    for (auto [i, target] : llvm::enumerate(lost)) {
      if (standIns.size() == lost.size())
        result.merged.push_back({target.str(), static_cast<int>(index),
                                 standIns[i], node.input(standIns[i])});
      else if (seen.insert(target).second)
        result.anonymous.push_back(target.str());
    }
  }
  // A parameter that one of its nodes still reads is not lost.
  llvm::erase_if(result.anonymous, [&](const std::string &name) {
    return llvm::any_of(result.merged, [&](const MergedUse &use) {
      return use.parameter == name;
    });
  });
  return result;
}

void onnx_import::warnOfExport(Location file, const onnx::GraphProto &graph,
                               const ExporterMetadata &metadata) {
  SmallVector<std::string> folded;
  for (const onnx::NodeProto &node : graph.node())
    if (isFoldedBatchNorm(node))
      folded.push_back(nodeName(node));
  LostParameters lost = findLostParameters(graph, metadata);
  llvm::StringSet<> merged;
  for (const MergedUse &use : lost.merged)
    merged.insert(use.parameter);

  if (!folded.empty())
    emitUserWarning(
        file,
        "batch norm was folded into " + Twine(folded.size()) +
            (folded.size() == 1 ? " node" : " nodes") + " (" + folded.front() +
            (folded.size() == 1 ? ")" : ", ...)") +
            " by the exporter, so that the model trains without it",
        Twine(
            "export in training mode with torch.onnx.export(..., dynamo=True, "
            "optimize=False)"));
  if (merged.empty() && lost.anonymous.empty())
    return;
  std::string text;
  if (!merged.empty())
    text = std::to_string(merged.size()) +
           " parameters share the values of others (" +
           lost.merged.front().parameter + " is now " +
           lost.merged.front().standIn + (merged.size() == 1 ? ")" : ", ...)");
  if (!lost.anonymous.empty())
    text +=
        (text.empty() ? "" : " and ") + std::to_string(lost.anonymous.size()) +
        " became anonymous constants that are not trained (" +
        lost.anonymous.front() + (lost.anonymous.size() == 1 ? ")" : ", ...)");
  emitUserWarning(file, "the exporter rewrote the model: " + text,
                  merged.empty() ? kRemedy.str()
                                 : "add --untie to split what shares, or " +
                                       kRemedy.str());
}
