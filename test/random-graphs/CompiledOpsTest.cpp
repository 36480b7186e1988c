//===----------------------------------------------------------------------===//
//
// Compiled code gives the results that test/interpret expects of every op, at
// its corners.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "test/random-graphs/Compiled.h"
#include "gtest/gtest.h"
#include <filesystem>

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;
using reference::Tensor;

namespace {
MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerIngotDialects(registry);
    auto *created = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

std::vector<std::string> testFiles() {
  std::vector<std::string> files;
  for (const auto &entry :
       std::filesystem::directory_iterator(INGOT_TEST_INTERPRET))
    if (entry.path().extension() == ".mlir")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// The function alone in a module, its constants as arguments, so that nothing
/// is left to fold.
struct Isolated {
  OwningOpRef<ModuleOp> module;
  std::vector<Tensor> arguments;
};

Isolated isolate(func::FuncOp function) {
  Isolated result;
  OpBuilder builder(function.getContext());
  result.module = ModuleOp::create(function.getLoc());
  builder.setInsertionPointToStart(result.module->getBody());
  auto copy = cast<func::FuncOp>(builder.clone(*function));
  Block &block = copy.getBody().front();
  for (ConstantOp op : llvm::make_early_inc_range(block.getOps<ConstantOp>())) {
    llvm::Expected<Tensor> value = Tensor::fromAttribute(op.getValue());
    if (!value)
      llvm::report_fatal_error(value.takeError());
    op.replaceAllUsesWith(block.addArgument(op.getType(), op.getLoc()));
    op.erase();
    result.arguments.push_back(std::move(*value));
  }
  copy.setType(
      builder.getFunctionType(block.getArgumentTypes(), copy.getResultTypes()));
  return result;
}

/// Kernels in half precision come with mixed precision; calls are never left.
bool isCompiled(func::FuncOp function) {
  bool compiled = true;
  function.walk([&](Operation *op) {
    compiled &= !isa<func::CallOp>(op);
    for (Type type : op->getResultTypes()) {
      Type element = cast<ShapedType>(type).getElementType();
      compiled &= !element.isF16() && !element.isBF16();
    }
  });
  return compiled;
}

class CompiledOps
    : public ::testing::TestWithParam<std::tuple<std::string, unsigned>> {};
} // namespace

TEST_P(CompiledOps, GiveTheExpectedResults) {
  auto [file, level] = GetParam();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, &getContext());
  ASSERT_TRUE(module);
  for (auto function : module->getOps<func::FuncOp>()) {
    if (!function.getName().starts_with("test_") || !isCompiled(function))
      continue;
    SCOPED_TRACE(function.getName().str());
    // Vectorized exponentials and their kin may miss the last bits.
    double tolerance = 2e-6;
    if (auto given = function->getAttrOfType<FloatAttr>("ingot.tolerance"))
      tolerance = std::max(tolerance, given.getValueAsDouble());
    Isolated isolated = isolate(function);
    llvm::Expected<std::vector<Tensor>> results =
        compileAndRun(*isolated.module, level, isolated.arguments);
    ASSERT_TRUE(static_cast<bool>(results))
        << llvm::toString(results.takeError());
    for (size_t i = 0; i + 1 < results->size(); i += 2)
      EXPECT_LE(reference::distance((*results)[i], (*results)[i + 1]),
                tolerance);
  }
}

static std::string nameOf(
    const ::testing::TestParamInfo<std::tuple<std::string, unsigned>> &info) {
  return std::filesystem::path(std::get<0>(info.param)).stem().string() + "_O" +
         std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Cpu, CompiledOps,
                         ::testing::Combine(::testing::ValuesIn(testFiles()),
                                            ::testing::Values(0u, 2u)),
                         nameOf);
