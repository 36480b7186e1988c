// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/import/ControlNode.h"
#include "frontends/onnx/import/Graph.h"
#include "frontends/onnx/model/Opsets.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Moves one dimension to another place among the others.
static Value moveDim(OpBuilder &b, Location loc, Value value, int64_t from,
                     int64_t to) {
  if (from == to)
    return value;
  RankedTensorType type = ingot::tensorType(value);
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return TransposeOp::create(b, loc, value, order);
}

LogicalResult GraphImporter::importScan(const onnx::NodeProto &node,
                                        Location loc) {
  // Before opset 9 there was a batch dimension.
  if (opsetVersion(model, node.domain()) < 9)
    return emitUserError(loc, "Scan: the form of opset 8 is not supported",
                         "export the model with a newer opset");
  FailureOr<SmallVector<Binding>> inputs = bindingsOf(node, 0, loc);
  if (failed(inputs))
    return failure();
  Attributes attributes(node);
  const onnx::GraphProto *scan = attributes.graph("body");
  int total = static_cast<int>(inputs->size());
  auto scans = static_cast<int>(
      std::clamp<int64_t>(attributes.integer("num_scan_inputs"), 0, total));
  int states = total - scans;
  int collectedCount = node.output_size() - states;
  if (!scan || scans < 1 || collectedCount < 0 || scan->input_size() != total ||
      scan->output_size() != node.output_size())
    return malformed(node, loc, "the body does not fit the inputs and outputs");

  std::optional<int64_t> length;
  SmallVector<int64_t> dims;
  for (int k = 0; k < scans; ++k) {
    Value value = (*inputs)[states + k].value;
    int64_t dim = attributes.element("scan_input_axes", k);
    int64_t rank = value ? ingot::tensorType(value).getRank() : 0;
    if (dim < -rank || dim >= rank)
      return malformed(node, loc,
                       "axis " + Twine(dim) + " of rank " + Twine(rank));
    dims.push_back(dim < 0 ? dim + rank : dim);
    int64_t size = ingot::tensorType(value).getDimSize(dims.back());
    if (length && *length != size)
      return malformed(node, loc, "sequences of different lengths");
    length = size;
  }
  SmallVector<Binding> carried(inputs->begin(), inputs->begin() + states);
  auto isReversed = [&](StringRef name, int k) {
    return attributes.element(name, k) == 1;
  };
  if (rollsLoop(*length, scan->node_size(), loc)) {
    builder.setInsertionPointToEnd(body);
    bool reverse = isReversed("scan_input_directions", 0);
    SmallVector<Value> sequences;
    for (int k = 0; k < scans; ++k) {
      Value value =
          moveDim(builder, loc, (*inputs)[states + k].value, dims[k], 0);
      if (isReversed("scan_input_directions", k) != reverse)
        value = ReverseOp::create(builder, loc, value, ArrayRef<int64_t>{0});
      sequences.push_back(value);
    }
    if (auto results = importRolled(
            {*scan, *length, reverse, carried, sequences, false}, loc)) {
      for (int k = 0; k < collectedCount; ++k) {
        Value &value = (*results)[states + k];
        int64_t rank = ingot::tensorType(value).getRank();
        int64_t dim = attributes.element("scan_output_axes", k);
        if (dim < -rank || dim >= rank)
          return malformed(node, loc,
                           "axis " + Twine(dim) + " of rank " + Twine(rank));
        if (isReversed("scan_output_directions", k) != reverse)
          value = ReverseOp::create(builder, loc, value, ArrayRef<int64_t>{0});
        value = moveDim(builder, loc, value, 0, dim < 0 ? dim + rank : dim);
      }
      for (auto [name, result] : llvm::zip_equal(node.output(), *results))
        bind(name, {result, std::nullopt});
      return success();
    }
  }
  if (*length == 0 || *length > kMaxIterations)
    return emitUserError(loc, "Scan: " + Twine(*length) + " iterations",
                         "loops are unrolled; bind another size with --dim");

  std::vector<SmallVector<Value>> collected(collectedCount);
  for (int64_t i = 0; i < *length; ++i) {
    SmallVector<Binding> arguments(carried);
    builder.setInsertionPointToEnd(body);
    Operation *last = body->empty() ? nullptr : &body->back();
    for (int k = 0; k < scans; ++k) {
      Value from = (*inputs)[states + k].value;
      RankedTensorType type = ingot::tensorType(from);
      int64_t at = isReversed("scan_input_directions", k) ? *length - 1 - i : i;
      SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape());
      SmallVector<int64_t> strides(type.getRank(), 1), part(type.getShape());
      starts[dims[k]] = at;
      limits[dims[k]] = at + 1;
      part[dims[k]] = 1;
      Value slice = SliceOp::create(
          builder, loc, RankedTensorType::get(part, type.getElementType()),
          from, starts, limits, strides);
      part.erase(part.begin() + dims[k]);
      Binding argument;
      argument.value = reshapeTo(builder, loc, slice, part);
      arguments.push_back(std::move(argument));
    }
    SmallVector<Binding *> settled;
    for (Binding &argument : MutableArrayRef(arguments).drop_front(states))
      settled.push_back(&argument);
    settle(last, settled);
    FailureOr<SmallVector<Binding>> results = importBody(*scan, arguments, loc);
    if (failed(results) || failed(countIteration(node, *scan, loc)))
      return failure();
    for (int k = 0; k < states; ++k)
      carried[k] = std::move((*results)[k]);
    if (failed(collect(node, loc, ArrayRef(*results).drop_front(states),
                       collected)))
      return failure();
  }

  SmallVector<int64_t> collectedDims;
  for (int k = 0; k < collectedCount; ++k) {
    if (isReversed("scan_output_directions", k))
      std::reverse(collected[k].begin(), collected[k].end());
    collectedDims.push_back(attributes.element("scan_output_axes", k));
  }
  return bindCollected(node, loc, std::move(carried), collected, collectedDims);
}
