// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/export/CodedExport.h"

#include "frontends/onnx/export/WireFields.h"
#include "frontends/onnx/model/Node.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace ingot;
using namespace ingot::onnx_import;
using llvm::ArrayRef;
using llvm::StringRef;
using onnx::NodeProto;
using onnx::TensorProto;

std::optional<BaseForm> onnx_import::parseBaseForm(StringRef name) {
  return llvm::StringSwitch<std::optional<BaseForm>>(name)
      .Case("fp32", BaseForm::Numbers)
      .Case("codes", BaseForm::Codes)
      .Case("qdq", BaseForm::Integers)
      .Case("fp16", BaseForm::Float16)
      .Case("bf16", BaseForm::BFloat16)
      .Default(std::nullopt);
}

namespace {

/// Rewrites a template. Fields of messages may come in parts, one after the
/// other: new initializers and nodes come before those of the model.
class Editor {
public:
  Editor(ExportTemplate &file, BaseForm form);

  /// Changes one state; returns why it cannot, or nothing.
  std::string change(const EncodedBase &base);
  /// Writes the template.
  void write();

private:
  /// A tensor that is new in the file.
  struct Added {
    TensorProto tensor;
    int64_t bytes;
    CodedInitializer part;
  };

  std::string changeToCodes(const EncodedBase &base);
  std::string changeToIntegers(const EncodedBase &base);
  void changeToHalves(const EncodedBase &base);
  /// Whether a node multiplies by the state in a form that an operator on codes
  /// has. Adds the result of a node that transposes the state to `transposed`.
  std::string checkUse(const NodeProto &node, const EncodedBase &base,
                       llvm::StringSet<> &transposed);
  /// Returns the nodes that are in place of a matmul.
  void replaceUse(NodeProto &node, const EncodedBase &base,
                  std::vector<NodeProto> &nodes);
  /// Adds a part of a state with these sizes.
  void add(const EncodedBase &base, StringRef suffix, int32_t type,
           ArrayRef<int64_t> dims, int64_t bytes, runtime::CodesPart part,
           runtime::DType dtype = runtime::DType::U8);
  void requireDomain(StringRef domain, int64_t version);
  int64_t getOpset() const;

  ExportTemplate &file;
  BaseForm form;
  onnx::ModelProto header;
  onnx::GraphProto rest;
  std::vector<Added> added;
  llvm::StringSet<> removed;
  /// Nodes that come first.
  std::vector<NodeProto> first;
};

} // namespace

/// Returns how many segments are in the model's own file.
static size_t countInFile(const ExportTemplate &file) {
  size_t count = 0;
  while (!file.segments[count].state.empty())
    ++count;
  return count + 1;
}

Editor::Editor(ExportTemplate &file, BaseForm form) : file(file), form(form) {
  int64_t end = 0;
  for (size_t i = 0; i < countInFile(file); ++i)
    end += file.segments[i].literalBytes;
  header.ParseFromString(file.literal.substr(0, file.headerBytes));
  rest.ParseFromString(
      file.literal.substr(end - file.restBytes, file.restBytes));
}

int64_t Editor::getOpset() const {
  for (const onnx::OperatorSetIdProto &set : header.opset_import())
    if (canonicalDomain(set.domain()).empty())
      return set.version();
  return 0;
}

void Editor::requireDomain(StringRef domain, int64_t version) {
  for (const onnx::OperatorSetIdProto &set : header.opset_import())
    if (canonicalDomain(set.domain()) == domain)
      return;
  onnx::OperatorSetIdProto &set = *header.add_opset_import();
  set.set_domain(domain.str());
  set.set_version(version);
}

static void setInt(NodeProto &node, StringRef name, int64_t value) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

static const onnx::AttributeProto *findAttribute(const NodeProto &node,
                                                 StringRef name) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

static bool isPlain(const NodeProto &node, StringRef op) {
  return node.op_type() == op && canonicalDomain(node.domain()).empty();
}

void Editor::add(const EncodedBase &base, StringRef suffix, int32_t type,
                 ArrayRef<int64_t> dims, int64_t bytes, runtime::CodesPart part,
                 runtime::DType dtype) {
  Added &one = added.emplace_back();
  one.tensor.set_name(base.state + suffix.str());
  one.tensor.set_data_type(type);
  for (int64_t size : dims)
    one.tensor.add_dims(size);
  one.bytes = bytes;
  one.part.state = base.state;
  one.part.dtype = dtype;
  runtime::ExportCodes codes;
  codes.part = part;
  codes.kind = static_cast<runtime::EncodingKind>(base.encoding.kind);
  codes.block = base.encoding.block;
  codes.transposed = base.transposed;
  // DequantizeLinear decodes the state as the model has it.
  codes.columns = form == BaseForm::Integers && base.transposed;
  codes.isSigned = form == BaseForm::Integers;
  one.part.codes = codes;
}

//===----------------------------------------------------------------------===//
// Operators on codes
//===----------------------------------------------------------------------===//

std::string Editor::checkUse(const NodeProto &node, const EncodedBase &base,
                             llvm::StringSet<> &transposed) {
  constexpr llvm::StringLiteral other =
      "a node reads it that has no form on codes";
  bool isOwn = llvm::is_contained(node.input(), base.state);
  // The matrix of outputs is in rows of the state, unless it is transposed.
  if (isOwn && isPlain(node, "Transpose") && !base.transposed) {
    transposed.insert(node.output(0));
    return "";
  }
  if (node.input_size() < 2 || node.input(0) == base.state ||
      transposed.contains(node.input(0)))
    return other.str();
  if (isPlain(node, "MatMul"))
    return isOwn == base.transposed ? "" : other.str();
  if (!isPlain(node, "Gemm") || !isOwn)
    return other.str();
  auto getInt = [&](StringRef name) {
    const onnx::AttributeProto *found = findAttribute(node, name);
    return found ? found->i() : 0;
  };
  auto isOne = [&](StringRef name) {
    const onnx::AttributeProto *found = findAttribute(node, name);
    return !found || found->f() == 1;
  };
  bool fits = getInt("transA") == 0 && isOne("alpha") && isOne("beta") &&
              (getInt("transB") == 0) == base.transposed &&
              (node.input_size() < 3 || node.input(2) != base.state);
  return fits ? "" : other.str();
}

void Editor::replaceUse(NodeProto &node, const EncodedBase &base,
                        std::vector<NodeProto> &nodes) {
  bool isFloat = base.encoding.kind == INGOT_CODE_NF4 ||
                 base.encoding.kind == INGOT_CODE_FP4;
  NodeProto replaced;
  replaced.set_name(node.name());
  *replaced.mutable_metadata_props() = node.metadata_props();
  replaced.set_domain("com.microsoft");
  replaced.set_op_type(isFloat ? "MatMulBnb4" : "MatMulNBits");
  replaced.add_input(node.input(0));
  replaced.add_input(base.state + "_codes");
  replaced.add_input(base.state + "_scales");
  bool hasBias =
      isPlain(node, "Gemm") && node.input_size() > 2 && !node.input(2).empty();
  replaced.add_output(hasBias ? node.output(0) + "/product" : node.output(0));
  int64_t n = base.transposed ? base.columns : base.rows;
  int64_t k = base.transposed ? base.rows : base.columns;
  setInt(replaced, "K", k);
  setInt(replaced, "N", n);
  setInt(replaced, "block_size", base.encoding.block);
  if (isFloat) {
    setInt(replaced, "quant_type", base.encoding.kind == INGOT_CODE_NF4);
  } else {
    setInt(replaced, "bits", base.encoding.kind == INGOT_CODE_INT4 ? 4 : 8);
    // Without it, activations are rounded to 8 bits on some CPUs.
    setInt(replaced, "accuracy_level", 1);
  }
  nodes.push_back(std::move(replaced));
  if (!hasBias)
    return;
  NodeProto sum;
  sum.set_name(node.name() + "/bias");
  sum.set_op_type("Add");
  sum.add_input(node.output(0) + "/product");
  sum.add_input(node.input(2));
  sum.add_output(node.output(0));
  nodes.push_back(std::move(sum));
}

std::string Editor::changeToCodes(const EncodedBase &base) {
  const quantization::Encoding &encoding = base.encoding;
  int64_t n = base.transposed ? base.columns : base.rows;
  int64_t k = base.transposed ? base.rows : base.columns;
  int64_t elements = n * k;
  bool isFloat =
      encoding.kind == INGOT_CODE_NF4 || encoding.kind == INGOT_CODE_FP4;
  constexpr int64_t most = 256;
  if (!isFloat && (k % encoding.block != 0 || encoding.block > most))
    return "MatMulNBits has blocks of up to 256, which end with a row";
  llvm::StringSet<> transposed;
  auto reads = [&](const NodeProto &node) {
    return llvm::any_of(node.input(), [&](const std::string &input) {
      return input == base.state || transposed.contains(input);
    });
  };
  for (const NodeProto &node : rest.node())
    if (reads(node))
      if (std::string reason = checkUse(node, base, transposed);
          !reason.empty())
        return reason;
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  nodes.Swap(rest.mutable_node());
  for (NodeProto &node : nodes) {
    if (!reads(node)) {
      *rest.add_node() = std::move(node);
      continue;
    }
    if (isPlain(node, "Transpose"))
      continue;
    std::vector<NodeProto> replaced;
    replaceUse(node, base, replaced);
    for (NodeProto &one : replaced)
      *rest.add_node() = std::move(one);
  }
  requireDomain("com.microsoft", 1);
  int64_t bytes = encoding.getCodeBytes(elements);
  int64_t scales = encoding.countScales(elements);
  if (isFloat)
    add(base, "_codes", TensorProto::UINT8, {bytes}, bytes,
        runtime::CodesPart::Codes);
  else
    add(base, "_codes", TensorProto::UINT8,
        {n, k / encoding.block, bytes / (n * (k / encoding.block))}, bytes,
        runtime::CodesPart::Codes);
  add(base, "_scales", TensorProto::FLOAT, {scales}, scales * 4,
      runtime::CodesPart::Scales, runtime::DType::F32);
  return "";
}

//===----------------------------------------------------------------------===//
// Nodes that decode
//===----------------------------------------------------------------------===//

std::string Editor::changeToIntegers(const EncodedBase &base) {
  const quantization::Encoding &encoding = base.encoding;
  bool isNibbles = encoding.kind == INGOT_CODE_INT4;
  if (!isNibbles && encoding.kind != INGOT_CODE_INT8)
    return "DequantizeLinear has integers alone";
  constexpr int64_t opsetOfBlocks = 21;
  if (getOpset() < opsetOfBlocks)
    return "DequantizeLinear has blocks from operator set 21 on, and the model "
           "has " +
           std::to_string(getOpset());
  int64_t inner = base.transposed ? base.rows : base.columns;
  if (inner % encoding.block != 0)
    return "DequantizeLinear has blocks that end with a row";
  NodeProto node;
  node.set_op_type("DequantizeLinear");
  node.set_name(base.state + "/decode");
  node.add_input(base.state + "_codes");
  node.add_input(base.state + "_scales");
  node.add_output(base.state);
  setInt(node, "axis", base.transposed ? 0 : 1);
  setInt(node, "block_size", encoding.block);
  first.push_back(std::move(node));
  int64_t elements = base.rows * base.columns;
  int64_t blocks = inner / encoding.block;
  add(base, "_codes", isNibbles ? TensorProto::INT4 : TensorProto::INT8,
      {base.rows, base.columns}, encoding.getCodeBytes(elements),
      runtime::CodesPart::Codes);
  add(base, "_scales", TensorProto::FLOAT,
      base.transposed ? ArrayRef<int64_t>{blocks, base.columns}
                      : ArrayRef<int64_t>{base.rows, blocks},
      encoding.countScales(elements) * 4, runtime::CodesPart::Scales,
      runtime::DType::F32);
  return "";
}

void Editor::changeToHalves(const EncodedBase &base) {
  NodeProto node;
  node.set_op_type("Cast");
  node.set_name(base.state + "/decode");
  node.add_input(base.state + "_low");
  node.add_output(base.state);
  setInt(node, "to", TensorProto::FLOAT);
  first.push_back(std::move(node));
  Added &one = added.emplace_back();
  one.tensor.set_name(base.state + "_low");
  one.tensor.set_data_type(form == BaseForm::Float16 ? TensorProto::FLOAT16
                                                     : TensorProto::BFLOAT16);
  one.tensor.add_dims(base.rows);
  one.tensor.add_dims(base.columns);
  one.bytes = base.rows * base.columns * 2;
  one.part.state = base.state;
  one.part.isWhole = true;
  one.part.dtype =
      form == BaseForm::Float16 ? runtime::DType::F16 : runtime::DType::BF16;
}

std::string Editor::change(const EncodedBase &base) {
  if (llvm::any_of(rest.output(), [&](const onnx::ValueInfoProto &output) {
        return output.name() == base.state;
      }))
    return "it is an output of the model";
  std::string reason;
  if (form == BaseForm::Codes)
    reason = changeToCodes(base);
  else if (form == BaseForm::Integers)
    reason = changeToIntegers(base);
  else
    changeToHalves(base);
  if (reason.empty())
    removed.insert(base.state);
  return reason;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

void Editor::write() {
  ExportTemplate result;
  result.classes = std::move(file.classes);
  result.isExternal = file.isExternal;
  result.obstacle = std::move(file.obstacle);
  std::string &literal = result.literal;
  size_t segment = 0;
  auto close = [&](const std::string &state,
                   std::optional<CodedInitializer> part, int64_t headBytes) {
    result.segments.push_back({static_cast<int64_t>(literal.size() - segment),
                               state, std::move(part), headBytes});
    segment = literal.size();
  };
  literal = header.SerializeAsString();
  result.headerBytes = literal.size();
  if (!first.empty()) {
    onnx::GraphProto nodes;
    for (NodeProto &node : first)
      *nodes.add_node() = std::move(node);
    std::string bytes = nodes.SerializeAsString();
    appendHead(literal, kGraph, bytes.size());
    literal += bytes;
  }
  if (!file.isExternal)
    for (const Added &one : added) {
      size_t bytes = one.tensor.ByteSizeLong() + fieldBytes(one.bytes);
      appendHead(literal, kGraph, fieldBytes(bytes));
      appendHead(literal, kInitializer, bytes);
      one.tensor.AppendToString(&literal);
      appendHead(literal, kRawData, one.bytes);
      close(one.part.state, one.part, 0);
    }
  // What is in the file stays in it: each initializer in a graph of its own,
  // whose length is that of the initializer.
  size_t from = file.headerBytes + file.graphHeadBytes, at = from;
  size_t inFile = countInFile(file);
  size_t end = 0;
  for (size_t i = 0; i < inFile; ++i) {
    const ExportTemplate::Segment &old = file.segments[i];
    end += old.literalBytes;
    if (i + 1 == inFile)
      break;
    size_t begin = end - old.headBytes;
    appendInitializers(literal, StringRef(file.literal).slice(at, begin));
    at = end;
    if (removed.contains(old.state))
      continue;
    appendHead(literal, kGraph, old.headBytes + old.dataBytes);
    literal.append(file.literal, begin, old.headBytes);
    close(old.state, old.part, 0);
    result.segments.back().dataBytes = old.dataBytes;
  }
  appendInitializers(literal,
                     StringRef(file.literal).slice(at, end - file.restBytes));
  std::string bytes = rest.SerializeAsString();
  appendHead(literal, kGraph, bytes.size());
  literal += bytes;
  close("", std::nullopt, 0);
  for (size_t i = inFile; i < file.segments.size(); ++i) {
    const ExportTemplate::Segment &old = file.segments[i];
    if (!removed.contains(old.state)) {
      literal.append(file.literal, end, old.literalBytes);
      close(old.state, old.part, 0);
    }
    end += old.literalBytes;
  }
  if (file.isExternal)
    for (const Added &one : added) {
      one.tensor.AppendToString(&literal);
      close(one.part.state, one.part, 0);
    }
  file = std::move(result);
}

std::vector<BaseAsNumbers> onnx_import::changeBases(ExportTemplate &file,
                                                    ArrayRef<EncodedBase> bases,
                                                    BaseForm form) {
  std::vector<BaseAsNumbers> left;
  if (form == BaseForm::Numbers || !file.obstacle.empty() ||
      file.segments.empty())
    return left;
  Editor editor(file, form);
  for (const EncodedBase &base : bases) {
    auto isWhole = [&](const ExportTemplate::Segment &segment) {
      return segment.state == base.state && !segment.part;
    };
    if (!llvm::any_of(file.segments, isWhole))
      continue;
    if (std::string reason = editor.change(base); !reason.empty())
      left.push_back({base.state, reason});
  }
  editor.write();
  return left;
}
