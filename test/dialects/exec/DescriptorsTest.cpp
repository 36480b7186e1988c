//===----------------------------------------------------------------------===//
//
// That the compiler's view of every descriptor is the C struct of Abi.h: the
// fields of the ABI's table, and those that calls have.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "runtime/abi/Table.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace mlir;
using namespace ingot;

namespace {

/// A call of each kind.
constexpr const char *kSource = R"mlir(
exec.kernel "loop" @loop aliases = [-1] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.mul %x, %x : tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}
exec.kernel "epilogue" @finish aliases = [0] {
^bb0(%x: tensor<1x4x4xf32>):
  %0 = ingot.mul %x, %x : tensor<1x4x4xf32>
  ingot.yield %0 : tensor<1x4x4xf32>
}
gpu.module @device {
  gpu.func @grid(%x: memref<8xf32>, %y: memref<8xf32>) kernel { gpu.return }
  gpu.func @finish(%x: memref<16xf32>, %y: memref<16xf32>) kernel { gpu.return }
}
func.func @step() attributes {exec.arena_bytes = 4096 : i64} {
  %x = exec.buffer arena 0 : memref<8xf32>
  %y = exec.buffer arena 64 : memref<8xf32>
  %m = exec.buffer arena 128 : memref<1x4x4xf32>
  %i = exec.buffer arena 256 : memref<1x1x4x4xf32>
  %k = exec.buffer arena 320 : memref<1x1x1x1xf32>
  %q = exec.buffer arena 384 : memref<1x2x1x4xf32>
  %l = exec.buffer arena 448 : memref<1x1x2xf32>
  %s = exec.buffer arena 512 : memref<f64>
  %w = exec.buffer arena 576 : memref<4xi32>
  %a = exec.buffer shard 0 : memref<9x4xi32>
  exec.launch @loop(%x) -> (%y) {flops = 8 : i64} : memref<8xf32> -> memref<8xf32>
  exec.launch_grid @device::@grid blocks 1 of 256(%x) -> (%y) {flops = 8 : i64} : memref<8xf32> -> memref<8xf32>
  exec.matmul %m, %m -> %m : memref<1x4x4xf32>, memref<1x4x4xf32> -> memref<1x4x4xf32>
  exec.matmul_epilogue %m, %m finish @finish() -> (%m) {product = 0 : i64, flops = 8 : i64} : memref<1x4x4xf32>, memref<1x4x4xf32>, memref<1x4x4xf32>
  exec.matmul_epilogue_grid %m, %m finish <@device::@finish blocks 1 of 256 shared 0>() -> (%m) {product = 0 : i64, flops = 8 : i64} : memref<1x4x4xf32>, memref<1x4x4xf32>, memref<1x4x4xf32>
  exec.conv %i, %k -> %i CONV : memref<1x1x4x4xf32>, memref<1x1x1x1xf32> -> memref<1x1x4x4xf32>
  exec.conv_input_grad %i, %k -> %i CONV : memref<1x1x4x4xf32>, memref<1x1x1x1xf32> -> memref<1x1x4x4xf32>
  exec.conv_filter_grad %i, %i -> %k CONV : memref<1x1x4x4xf32>, memref<1x1x4x4xf32> -> memref<1x1x1x1xf32>
  exec.attention %q, %q, %q -> %q, %l {scale = 1.0 : f64, left = -1 : i64, right = -1 : i64, flops = 8 : i64} : memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x1x2xf32>
  exec.attention_grad %q, %q, %q, %q, %l, %q -> %q, %q, %q {scale = 1.0 : f64, left = -1 : i64, right = -1 : i64, flops = 8 : i64} : memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x1x2xf32>, memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x2x1x4xf32>
  exec.all_reduce_start 0 %x : memref<8xf32>
  exec.all_reduce_wait 0 %x : memref<8xf32>
  exec.reduce_scatter_start 0 %x : memref<8xf32>
  exec.reduce_scatter_wait 0 %x : memref<8xf32>
  exec.all_gather_start 0 %x : memref<8xf32>
  exec.all_gather_wait 0 %x : memref<8xf32>
  exec.gather_messages_start 0 %w -> %a : memref<4xi32> -> memref<9x4xi32>
  exec.gather_messages_wait 0 %a : memref<9x4xi32>
  exec.compress %x -> %y {code = 1 : i64, kept = 0 : i64} : memref<8xf32> -> memref<8xf32>
  exec.shard_square_sum %x at 0 of 8 -> %s : memref<8xf32> -> memref<f64>
  exec.copy %x -> %y : memref<8xf32> -> memref<8xf32>
  return
}
)mlir";

constexpr const char *kConv =
    "{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = "
    "array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64}";

} // namespace

// The layout that the records give is the compiler's: swapped fields, or a
// field of another size, differ from the header.
#define INGOT_ABI_FIELD(STRUCT, NAME, OFFSET)                                  \
  static_assert(offsetof(STRUCT, NAME) == (OFFSET));                           \
  static_assert(abi::structOf<STRUCT>.find(#NAME) &&                           \
                abi::structOf<STRUCT>.find(#NAME)->offset == (OFFSET));        \
  static_assert(abi::structOf<STRUCT>.find(#NAME)->bytes *                     \
                    std::max(abi::structOf<STRUCT>.find(#NAME)->count, 1u) ==  \
                sizeof(STRUCT::NAME));
#define INGOT_ABI_STRUCT(NAME)                                                 \
  static_assert(abi::structOf<NAME>.bytes == sizeof(NAME));
#include "runtime/abi/Abi.def"

TEST(Descriptors, AreTheStructsOfTheAbi) {
  DialectRegistry registry;
  registerIngotDialects(registry);
  registry.insert<gpu::GPUDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string source = kSource;
  for (size_t at; (at = source.find("CONV")) != std::string::npos;)
    source.replace(at, 4, kConv);
  auto module = parseSourceString<ModuleOp>(source, &context);
  ASSERT_TRUE(module);

  llvm::StringMap<bool> seen;
  module->walk([&](exec::AbiCall call) {
    seen[call->getName().getStringRef()] = true;
    const abi::Entry *entry = abi::findEntry(call.getEntryPoint());
    ASSERT_TRUE(entry) << call.getEntryPoint().str();
    EXPECT_EQ(call.getCallKind(), llvm::StringRef(entry->kind))
        << call.getEntryPoint().str();
    // As a C compiler lays fields out.
    uint64_t bytes = 0, widest = 1;
    for (exec::Field field : call.getDescriptor(/*index=*/0)) {
      bytes = llvm::alignTo(bytes, field.bytes) + field.bytes;
      widest = std::max<uint64_t>(widest, field.bytes);
    }
    EXPECT_EQ(llvm::alignTo(bytes, widest), entry->descriptor->bytes)
        << call.getEntryPoint().str();
  });
  // Each kind of call is there.
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<exec::AbiCall>())
      EXPECT_TRUE(seen.contains(name.getStringRef()))
          << name.getStringRef().str();
}
