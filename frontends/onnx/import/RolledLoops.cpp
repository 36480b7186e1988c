// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Loops that become one op, whose body is imported once.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Loops.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/import/ControlNode.h"
#include "frontends/onnx/import/Graph.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Loops with more nodes than that are rolled: see
/// docs/design/compiler/loops.md.
static constexpr int64_t kMaxUnrolledNodes = 512;

static remark::RemarkOpts loopRemark() {
  return remarkOptions("import-onnx", "RolledLoop");
}

bool GraphImporter::rollsLoop(int64_t count, int64_t nodes,
                              Location loc) const {
  if (count < 2 || (options.loops == "unrolled" && count <= kMaxIterations))
    return false;
  if (options.loops == "rolled" ||
      count > kMaxUnrolledNodes / std::max<int64_t>(nodes, 1))
    return true;
  remark::missed(loc, loopRemark())
      << remark::reason("it is small enough to be unrolled")
      << remark::metric("iterations", count)
      << remark::metric("nodes", count * nodes);
  return false;
}

/// Returns why a value of the body cannot be one of every iteration; empty if
/// it can.
static std::string findObstacle(const Binding &result, const Binding *carried) {
  if (!result.value || result.narrow || result.smooth)
    return "it computes what is no plain tensor";
  if (carried && carried->value.getType() != result.value.getType())
    return "a carried value changes its type";
  return "";
}

std::optional<SmallVector<Value>>
GraphImporter::importRolled(const Rolled &loop, Location loc) {
  SmallVector<Value> initial, sequences(loop.sequences);
  auto refuse = [&](const Twine &why) -> std::optional<SmallVector<Value>> {
    remark::missed(loc, loopRemark()) << remark::reason("{0}", why.str());
    return std::nullopt;
  };
  for (const Binding &binding : loop.carried) {
    if (std::string why = findObstacle(binding, nullptr); !why.empty())
      return refuse(why);
    initial.push_back(binding.value);
  }
  builder.setInsertionPointToEnd(body);
  if (loop.hasCondition)
    sequences.push_back(IotaOp::create(
        builder, loc, RankedTensorType::get({loop.count}, builder.getI64Type()),
        0));
  LoopBuilder rolled(loc, loop.count, loop.reverse, initial, sequences);

  // An attempt counts as an iteration: where loops are nested and none can be
  // one op, attempts add up.
  unrolledNodes += 1 + static_cast<int64_t>(loop.graph.node_size());
  auto states = stateValues;
  int32_t stream = nextStream;
  int64_t nodes = importedNodes;
  Block *around = std::exchange(body, &rolled.getBlock());
  builder.setInsertionPointToEnd(body);
  SmallVector<Binding> arguments;
  auto take = [&](Value value) { arguments.emplace_back().value = value; };
  if (loop.hasCondition) {
    take(rolled.getSlices().back());
    take(splat(builder, loc, RankedTensorType::get({}, builder.getI1Type()),
               1.0));
  }
  llvm::for_each(rolled.getCarried(), take);
  llvm::for_each(rolled.getSlices().take_front(loop.sequences.size()), take);

  std::string why;
  SmallVector<Binding> results;
  {
    // What cannot be imported as one body may be unrolled.
    ScopedDiagnosticHandler handler(
        module.getContext(), [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          if (why.empty())
            why = diagnostic.str();
          return success();
        });
    FailureOr<SmallVector<Binding>> imported =
        importBody(loop.graph, arguments, loc);
    if (failed(imported))
      why = why.empty() ? "its body cannot be imported" : why;
    else
      results = std::move(*imported);
  }
  body = around;
  builder.setInsertionPointToEnd(body);
  if (why.empty() && nextStream != stream)
    why = "each iteration draws random numbers of its own";
  for (auto &[name, state] : stateValues) {
    auto before = states.find(name);
    Value old =
        before == states.end() ? state.argument : before->second.current;
    if (why.empty() && state.current != old)
      why = "an iteration updates a state";
    state.current = old;
  }
  if (why.empty() && loop.hasCondition) {
    DenseElementsAttr condition;
    if (!results.front().value ||
        !matchPattern(results.front().value, m_Constant(&condition)) ||
        !condition.isSplat() || !condition.getSplatValue<bool>())
      why = "its condition depends on data";
    results.erase(results.begin());
  }
  for (auto [i, result] : llvm::enumerate(results))
    if (why.empty())
      why = findObstacle(result,
                         i < loop.carried.size() ? &loop.carried[i] : nullptr);
  if (!why.empty()) {
    importedNodes = nodes;
    nextStream = stream;
    return refuse(why);
  }
  remark::passed(loc, loopRemark())
      << remark::metric("iterations", loop.count)
      << remark::metric("nodes", importedNodes - nodes);
  SmallVector<Value> yielded;
  for (const Binding &result : results)
    yielded.push_back(result.value);
  return SmallVector<Value>(rolled.finish(builder, yielded).getResults());
}
