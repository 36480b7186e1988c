// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/CodedWeights.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/ElementTypes.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/weights/CodedNodes.h"
#include "runtime/core/DType.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;
using onnx::TensorProto;

namespace {

class Finder {
public:
  Finder(Location file, onnx::ModelProto &model, const ImportOptions &options)
      : file(file), model(model), options(options) {
    for (TensorProto &tensor : *model.mutable_graph()->mutable_initializer())
      initializers[tensor.name()] = &tensor;
  }

  FailureOr<CodedWeights> find();

private:
  LogicalResult fail(const onnx::NodeProto &node, const Twine &what,
                     const Twine &hint) const {
    return emitUserError(nodeLocation(file.getContext(), node),
                         Twine(node.op_type()) + ": " + what, hint);
  }
  LogicalResult malformed(const onnx::NodeProto &node,
                          const Twine &what) const {
    return fail(node, what, "the model is not valid; export it again");
  }
  TensorProto *lookup(const onnx::NodeProto &node, int input) const {
    if (input >= node.input_size())
      return nullptr;
    return initializers.lookup(node.input(input));
  }
  static bool has(const onnx::NodeProto &node, int input) {
    return input < node.input_size() && !node.input(input).empty();
  }
  LogicalResult checkIntegers(const onnx::NodeProto &node);
  LogicalResult checkFloats(const onnx::NodeProto &node);
  LogicalResult checkBlocks(const onnx::NodeProto &node);
  /// Adds a matrix of these parts, unless another node has added it.
  void add(const onnx::NodeProto &node, CodesForm form,
           const CodesLayout &layout, TensorProto &codes, TensorProto &scales,
           TensorProto *zeros);
  /// Adds a part as the file has it.
  void addPart(const CodedWeight &weight, const CodesLayout &layout,
               TensorProto &tensor, runtime::CodesPart part, bool hasZeros);

  Location file;
  onnx::ModelProto &model;
  const ImportOptions &options;
  llvm::StringMap<TensorProto *> initializers;
  CodedWeights result;
  /// The names of matrices by those of their parts.
  llvm::StringMap<std::string> known;
};

} // namespace

/// Returns what the names of the codes and the scales begin with, as the name
/// of the matrix: `W_Q4` and `W_scales` are of `W`.
static std::string getCommonName(StringRef codes, StringRef scales) {
  size_t common = 0;
  while (common < std::min(codes.size(), scales.size()) &&
         codes[common] == scales[common])
    ++common;
  StringRef name = codes.take_front(common).rtrim("_./:");
  if (name.empty())
    return codes.str();
  return name.ends_with("weight") || codes.contains("::")
             ? name.str()
             : (name + ".weight").str();
}

void Finder::add(const onnx::NodeProto &node, CodesForm form,
                 const CodesLayout &layout, TensorProto &codes,
                 TensorProto &scales, TensorProto *zeros) {
  std::string &name = known[getPartNames(node, form)];
  if (!name.empty())
    return;
  name = getCommonName(codes.name(), scales.name());
  while (initializers.contains(name) || result.weights.contains(name))
    name += "_";
  CodedWeight &weight = result.weights[name];
  weight.name = name;
  weight.transposed = layout.isTransposed;
  weight.rows = layout.isTransposed ? layout.columns : layout.rows;
  weight.columns = layout.isTransposed ? layout.rows : layout.columns;
  quantization::Encoding encoding{layout.kind, layout.block};
  // Blocks of a flattened matrix begin anywhere, others with their row. The
  // file has each part for one matrix.
  bool isFlat = layout.kind == INGOT_CODE_NF4 || layout.kind == INGOT_CODE_FP4;
  bool isShared =
      llvm::any_of(ArrayRef<const TensorProto *>{&codes, &scales, zeros},
                   [&](const TensorProto *part) {
                     return part && result.parts.contains(part->name());
                   });
  if (encoding.isValid() && !isShared &&
      (isFlat || layout.columns % layout.block == 0)) {
    weight.encoding = encoding;
    weight.encoding->hasOffsets = zeros || !layout.hasMiddle;
  }
  addPart(weight, layout, codes, runtime::CodesPart::Codes, zeros);
  addPart(weight, layout, scales, runtime::CodesPart::Scales, zeros);
  if (zeros)
    addPart(weight, layout, *zeros, runtime::CodesPart::ZeroPoints, zeros);
}

void Finder::addPart(const CodedWeight &weight, const CodesLayout &layout,
                     TensorProto &tensor, runtime::CodesPart part,
                     bool hasZeros) {
  // Data in other fields has a byte of codes an element.
  if (!tensor.has_raw_data() && !hasFloats(tensor)) {
    std::string bytes;
    for (int32_t value : tensor.int32_data())
      bytes.push_back(static_cast<char>(value));
    tensor.clear_int32_data();
    tensor.set_raw_data(std::move(bytes));
  }
  // Codes of a merged weight are counted from the middle, which the file would
  // not say.
  bool cannotMerge = weight.encoding && weight.encoding->hasOffsets &&
                     !layout.hasMiddle && !hasZeros;
  if (!weight.encoding || cannotMerge)
    return;
  CodedInitializer &added = result.parts[tensor.name()];
  added.state = weight.name;
  if (hasFloats(tensor))
    added.dtype = getDType(elementType(file.getContext(), tensor.data_type()));
  added.codes.part = part;
  added.codes.kind = static_cast<runtime::EncodingKind>(layout.kind);
  added.codes.block = layout.block;
  added.codes.transposed = weight.transposed;
  added.codes.columns = layout.isTransposed;
  added.codes.isSigned = layout.isSigned;
  added.codes.wholeRows =
      layout.isInNode && part == runtime::CodesPart::ZeroPoints;
}

LogicalResult Finder::checkIntegers(const onnx::NodeProto &node) {
  TensorProto *codes = lookup(node, 1), *scales = lookup(node, 2);
  if (!codes || !scales || (has(node, 3) && !lookup(node, 3)))
    return fail(node, "its weight is computed",
                "use a model whose weights are initializers");
  if (has(node, 4))
    return fail(node, "columns in groups (g_idx) are not supported",
                "quantize the model without reordering columns (act_order)");
  CodesLayout layout = getCodesLayout(node, CodesForm::Integers, *codes);
  constexpr int64_t most = int64_t(1) << 40, largestBlock = int64_t(1) << 16;
  if (layout.bits != 4 && layout.bits != 8)
    return fail(node,
                "weights of " + Twine(layout.bits) + " bits are not supported",
                "quantize the model to 4 or 8 bits");
  if (layout.rows <= 0 || layout.columns <= 0 ||
      layout.rows > most / layout.columns)
    return malformed(node, "K and N are " + Twine(layout.columns) + " and " +
                               Twine(layout.rows));
  if (layout.block < 16 || layout.block > largestBlock ||
      !llvm::isPowerOf2_64(layout.block))
    return malformed(node, "block_size is " + Twine(layout.block) +
                               ", not a power of two from 16 on");
  int64_t blocks = layout.rows * layout.blocksOfRow();
  int64_t rowBytes = llvm::divideCeil(layout.blocksOfRow() * layout.bits, 8);
  TensorProto *zeros = lookup(node, 3);
  if (codes->data_type() != TensorProto::UINT8 ||
      countElements(*codes) != blocks * layout.block * layout.bits / 8)
    return malformed(node, "'" + codes->name() +
                               "' does not have the codes of " +
                               Twine(layout.rows) + " x " +
                               Twine(layout.columns) + " numbers in UINT8");
  if (!hasFloats(*scales) || countElements(*scales) != blocks)
    return malformed(node, "'" + scales->name() + "' does not have " +
                               Twine(blocks) + " scales");
  if (zeros && countElements(*zeros) !=
                   (hasFloats(*zeros) ? blocks : layout.rows * rowBytes))
    return malformed(node, "'" + zeros->name() + "' does not have " +
                               Twine(blocks) + " zero points");
  if (zeros && !hasFloats(*zeros) && zeros->data_type() != TensorProto::UINT8)
    return malformed(node,
                     "zero points are " + dataTypeName(zeros->data_type()));
  add(node, CodesForm::Integers, layout, *codes, *scales, zeros);
  return success();
}

LogicalResult Finder::checkFloats(const onnx::NodeProto &node) {
  TensorProto *codes = lookup(node, 1), *scales = lookup(node, 2);
  if (!codes || !scales)
    return fail(node, "its weight is computed",
                "use a model whose weights are initializers");
  CodesLayout layout = getCodesLayout(node, CodesForm::Floats, *codes);
  int64_t type = getInteger(node, "quant_type", 1);
  constexpr int64_t most = int64_t(1) << 40;
  if (type != 0 && type != 1)
    return malformed(node, "quant_type is " + Twine(type));
  if (layout.rows <= 0 || layout.columns <= 0 ||
      layout.rows > most / layout.columns)
    return malformed(node, "K and N are " + Twine(getInteger(node, "K", 0)) +
                               " and " + Twine(getInteger(node, "N", 0)));
  if (layout.block < 16 || layout.block > quantization::Encoding::kMostBlock ||
      !llvm::isPowerOf2_64(layout.block))
    return malformed(node, "block_size is " + Twine(layout.block) +
                               ", not a power of two from 16 on");
  int64_t elements = layout.rows * layout.columns;
  int64_t blocks = llvm::divideCeil(elements, layout.block);
  if (codes->data_type() != TensorProto::UINT8 ||
      countElements(*codes) !=
          static_cast<int64_t>(llvm::divideCeil(elements, 2)))
    return malformed(node, "'" + codes->name() +
                               "' does not have the codes of " +
                               Twine(elements) + " numbers in UINT8");
  if (!hasFloats(*scales) || countElements(*scales) != blocks)
    return malformed(node, "'" + scales->name() + "' does not have " +
                               Twine(blocks) + " scales");
  add(node, CodesForm::Floats, layout, *codes, *scales, nullptr);
  return success();
}

/// Whether the element type is one of integers of 4 or 8 bits.
static bool isCode(int32_t type) {
  return llvm::is_contained({TensorProto::INT4, TensorProto::UINT4,
                             TensorProto::INT8, TensorProto::UINT8},
                            type);
}

LogicalResult Finder::checkBlocks(const onnx::NodeProto &node) {
  TensorProto *codes = lookup(node, 0), *scales = lookup(node, 1);
  TensorProto *zeros = lookup(node, 2);
  // Others are imported node by node.
  if (!codes || !scales || (has(node, 2) && !zeros) ||
      codes->dims_size() != 2 || !isCode(codes->data_type()) ||
      !hasFloats(*scales) ||
      (!options.trainable.empty() && options.trainable.match(scales->name())))
    return success();
  int64_t axis = getInteger(node, "axis", 1);
  if (axis < -2 || axis > 1)
    return success();
  CodesLayout layout = getCodesLayout(node, CodesForm::Blocks, *codes);
  int64_t blocks = layout.blocksOfRow();
  auto fits = [&](const TensorProto &part) {
    return part.dims_size() == 2 &&
           part.dims(layout.isTransposed ? 1 : 0) == layout.rows &&
           part.dims(layout.isTransposed ? 0 : 1) == blocks;
  };
  if (countElements(*codes) <= 0 || !fits(*scales) ||
      (zeros && (!fits(*zeros) || zeros->data_type() != codes->data_type())))
    return success();
  if (layout.columns % layout.block != 0)
    return success();
  add(node, CodesForm::Blocks, layout, *codes, *scales, zeros);
  return success();
}

FailureOr<CodedWeights> Finder::find() {
  for (const onnx::NodeProto &node : model.graph().node()) {
    std::optional<CodesForm> form = getCodesForm(node);
    if (!form)
      continue;
    LogicalResult found = *form == CodesForm::Integers ? checkIntegers(node)
                          : *form == CodesForm::Floats ? checkFloats(node)
                                                       : checkBlocks(node);
    if (failed(found))
      return failure();
  }
  result.byParts = std::move(known);
  return std::move(result);
}

FailureOr<CodedWeights>
onnx_import::findCodedWeights(Location file, onnx::ModelProto &model,
                              const ImportOptions &options) {
  return Finder(file, model, options).find();
}
