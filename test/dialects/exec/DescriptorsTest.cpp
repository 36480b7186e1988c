// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests that the compiler's view of every descriptor is the C struct of Abi.h:
// the fields of the ABI's table, and those that calls have.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "runtime/abi/Table.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace mlir;
using namespace ingot;

// The layout that the records give is the compiler's: swapped fields, or a
// field of another size, differ from the header.
#define INGOT_ABI_FIELD(STRUCT, NAME, OFFSET)                                  \
  static_assert(offsetof(STRUCT, NAME) == (OFFSET));                           \
  static_assert(ingot::abi::structOf<STRUCT>.find(#NAME) &&                    \
                ingot::abi::structOf<STRUCT>.find(#NAME)->offset == (OFFSET)); \
  static_assert(                                                               \
      ingot::abi::structOf<STRUCT>.find(#NAME)->bytes *                        \
          std::max(ingot::abi::structOf<STRUCT>.find(#NAME)->count, 1u) ==     \
      sizeof(STRUCT::NAME));
#define INGOT_ABI_STRUCT(NAME)                                                 \
  static_assert(ingot::abi::structOf<NAME>.bytes == sizeof(NAME));
#include "runtime/abi/Abi.def"

namespace {

/// A call of each kind.
constexpr const char *kSource = R"mlir(
exec.kernel "loop" @loop aliases = [-1] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.mul %x, %x : tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}
exec.kernel "epilogue" @finish aliases = [0] {
^bb0(%x: tensor<2x3xf32>):
  %0 = ingot.mul %x, %x : tensor<2x3xf32>
  ingot.yield %0 : tensor<2x3xf32>
}
gpu.module @device {
  gpu.func @grid(%x: memref<8xf32>, %y: memref<8xf32>, %begin: i64, %end: i64) kernel { gpu.return }
  gpu.func @finish(%x: memref<6xf32>, %y: memref<6xf32>) kernel { gpu.return }
  gpu.func @sum(%x: memref<8xf32>, %y: memref<3xf32>) kernel { gpu.return }
}
exec.step @step attributes {arena_bytes = 4096 : i64} {
  %x = exec.buffer arena 0 : memref<8xf32>
  %y = exec.buffer arena 64 : memref<8xf32>
  %a = exec.buffer arena 128 : memref<4x2xf32>
  %b = exec.buffer arena 192 : memref<4x3xf32>
  %c = exec.buffer arena 256 : memref<2x3xf32>
  %d = exec.buffer arena 320 : memref<3xf32>
  %s = exec.buffer arena 384 : memref<192xi8>
  exec.launch @loop(%x) -> (%y) {flops = 8 : i64, extent = 5 : i64, grain = 6 : i64, shard = #ingot.shard<first = 32, of = 96>} : memref<8xf32> -> memref<8xf32>
  exec.launch_grid @device::@grid blocks 3 of 256(%x) -> (%y) {flops = 8 : i64, shared = 64 : i64, any_grid, extent = 5 : i64, shard = #ingot.shard<first = 32, of = 96>} : memref<8xf32> -> memref<8xf32>
  exec.call @ingot_matmul(a = %a, b = %b, c = %c, scratch = %s) <batch = 1, m = 2, n = 3, k = 4, transpose_a = 1, math = tf32> : memref<4x2xf32>, memref<4x3xf32>, memref<2x3xf32>, memref<192xi8>
  exec.matmul_epilogue %a, %b <batch = 1, m = 2, n = 3, k = 4, transpose_a = 1> finish @finish() -> (%c) scratch %s {product = 0 : i64, flops = 8 : i64} : memref<4x2xf32>, memref<4x3xf32>, memref<2x3xf32>, memref<192xi8>
  exec.matmul_epilogue_grid %a, %b <batch = 1, m = 2, n = 3, k = 4, transpose_a = 1> finish <@device::@finish blocks 7 of 256 shared 0>() -> (%c) extra [#exec.grid<@device::@sum blocks 9 of 256 shared 32>](%x) -> %d partials() {product = 0 : i64, flops = 8 : i64, library = #ingot.library_epilogue<identity result = 1 bias_grad = 3 of rhs>} : memref<4x2xf32>, memref<4x3xf32>, memref<2x3xf32>, memref<8xf32>, memref<3xf32>
  exec.matmul_grid %a, %b <batch = 1, m = 2, n = 3, k = 4, transpose_a = 1> <@device::@own blocks 7 of 384 shared 0> tile <128 x 256 x 64> dynamic 4096(%x) -> (%c) {flops = 8 : i64} : memref<4x2xf32>, memref<4x3xf32>, memref<8xf32>, memref<2x3xf32>
}
)mlir";

class Descriptors : public ::testing::Test {
protected:
  Descriptors() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerIngotDialects(registry);
    registry.insert<gpu::GPUDialect>();
    return registry;
  }

  MLIRContext context;
};

} // namespace

TEST_F(Descriptors, HaveTheFieldsThatTheTextNames) {
  auto parsed = cast<exec::DescAttr>(parseAttribute(
      "#exec.desc<ingot_attention_desc <batch = 2, heads = 3, key_heads = 4, "
      "queries = 5, keys = 6, size = 7, value_size = 8, left = -1, right = 9, "
      "scale = 1.250000e-01, ratio = 2.500000e-01, query_strides = [0, 11], "
      "mask_strides = [12, 13, 14], type = f16, math = tiles, stream = -15>>",
      &context));
  auto desc = parsed.getDescriptor().get<ingot_attention_desc>();
  EXPECT_EQ(desc.batch, 2);
  EXPECT_EQ(desc.heads, 3);
  EXPECT_EQ(desc.key_heads, 4);
  EXPECT_EQ(desc.queries, 5);
  EXPECT_EQ(desc.keys, 6);
  EXPECT_EQ(desc.size, 7);
  EXPECT_EQ(desc.value_size, 8);
  EXPECT_EQ(desc.left, -1);
  EXPECT_EQ(desc.right, 9);
  EXPECT_EQ(desc.scale, 0.125);
  EXPECT_EQ(desc.ratio, 0.25);
  EXPECT_EQ(desc.query_strides[0], 0);
  EXPECT_EQ(desc.query_strides[1], 11);
  EXPECT_EQ(desc.query_strides[2], 0);
  EXPECT_EQ(desc.mask_strides[2], 14);
  EXPECT_EQ(desc.type, INGOT_F16);
  EXPECT_EQ(desc.math, INGOT_MATH_TILES);
  EXPECT_EQ(desc.stream, -15);
  // The text says all of it.
  std::string text;
  llvm::raw_string_ostream(text) << parsed;
  EXPECT_EQ(parseAttribute(text, &context), parsed);
}

/// The matmul of all calls above.
static void check(const ingot_matmul_desc &desc, int64_t index) {
  EXPECT_EQ(desc.batch, 1);
  EXPECT_EQ(desc.m, 2);
  EXPECT_EQ(desc.n, 3);
  EXPECT_EQ(desc.k, 4);
  EXPECT_EQ(desc.transpose_a, 1);
  EXPECT_EQ(desc.transpose_b, 0);
  EXPECT_EQ(desc.index, index);
}

TEST_F(Descriptors, AreWhatCallsSay) {
  auto module = parseSourceString<ModuleOp>(kSource, &context);
  ASSERT_TRUE(module);
  llvm::StringMap<exec::AbiCall> calls;
  module->walk([&](exec::AbiCall call) {
    const ingot::abi::Entry &entry = call.getAbiEntry();
    EXPECT_EQ(&call.getDescriptor(/*index=*/0).getType(), entry.descriptor);
    EXPECT_EQ(call.getBuffers().size(), entry.buffers.size());
    EXPECT_EQ(!call.getTable().empty(), entry.hasTable);
    calls[call->getName().getStringRef()] = call;
  });
  // Each kind of call is there.
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<exec::AbiCall>())
      EXPECT_TRUE(calls.contains(name.getStringRef()))
          << name.getStringRef().str();

  exec::Descriptor launch = calls["exec.launch"].getDescriptor(17);
  auto kernel = launch.get<ingot_kernel>();
  EXPECT_EQ(kernel.extent, 5);
  EXPECT_EQ(kernel.grain, 6);
  EXPECT_EQ(kernel.shard_first, 32);
  EXPECT_EQ(kernel.shard_of, 96);
  EXPECT_EQ(kernel.index, 17);
  const auto *body = launch.findAddress(offsetof(ingot_kernel, body));
  ASSERT_TRUE(body);
  EXPECT_EQ(body->kernel.getValue(), "loop");
  EXPECT_FALSE(body->isName);
  EXPECT_EQ(body->indices, 2);

  exec::Descriptor grid = calls["exec.launch_grid"].getDescriptor(18);
  auto blocks = grid.get<ingot_grid_kernel>();
  EXPECT_EQ(blocks.grid, 3);
  EXPECT_EQ(blocks.block, 256);
  EXPECT_EQ(blocks.buffers, 2);
  EXPECT_EQ(blocks.shared_bytes, 64);
  EXPECT_EQ(blocks.any_grid, 1);
  EXPECT_EQ(blocks.extent, 5);
  EXPECT_EQ(blocks.shard_first, 32);
  EXPECT_EQ(blocks.shard_of, 96);
  EXPECT_EQ(blocks.index, 18);
  const auto *name = grid.findAddress(offsetof(ingot_grid_kernel, name));
  ASSERT_TRUE(name);
  EXPECT_EQ(name->kernel.getValue(), "grid");
  EXPECT_TRUE(name->isName);

  auto matmul = calls["exec.call"].getDescriptor(19).get<ingot_matmul_desc>();
  check(matmul, 19);
  EXPECT_EQ(matmul.math, INGOT_MATH_TF32);
  EXPECT_EQ(matmul.scratch_bytes, 192);

  exec::Descriptor epilogue = calls["exec.matmul_epilogue"].getDescriptor(20);
  auto finished = epilogue.get<ingot_matmul_epilogue_desc>();
  check(finished.matmul, 20);
  EXPECT_EQ(finished.matmul.scratch_bytes, 192);
  const auto *finish =
      epilogue.findAddress(offsetof(ingot_matmul_epilogue_desc, epilogue));
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->kernel.getValue(), "finish");
  EXPECT_EQ(finish->indices, 4);

  using Desc = ingot_matmul_epilogue_grid_desc;
  exec::Descriptor device =
      calls["exec.matmul_epilogue_grid"].getDescriptor(21);
  auto desc = device.get<Desc>();
  check(desc.matmul, 21);
  EXPECT_EQ(desc.finish.grid, 7);
  EXPECT_EQ(desc.finish.buffers, 2);
  EXPECT_EQ(desc.extra[0].grid, 9);
  EXPECT_EQ(desc.extra[0].buffers, 2);
  EXPECT_EQ(desc.extra[0].shared_bytes, 32);
  EXPECT_EQ(desc.activation, INGOT_IDENTITY);
  EXPECT_EQ(desc.bias, -1);
  EXPECT_EQ(desc.addend, -1);
  EXPECT_EQ(desc.auxiliary, -1);
  EXPECT_EQ(desc.result, 1);
  EXPECT_EQ(desc.summed, INGOT_SUM_OF_B);
  EXPECT_EQ(desc.bias_grad, 3);
  const auto *extra = device.findAddress(offsetof(Desc, extra));
  ASSERT_TRUE(extra);
  EXPECT_EQ(extra->kernel.getValue(), "sum");
  EXPECT_FALSE(
      device.findAddress(offsetof(Desc, extra) + sizeof(ingot_grid_kernel)));

  auto own =
      calls["exec.matmul_grid"].getDescriptor(22).get<ingot_matmul_grid_desc>();
  check(own.matmul, 22);
  EXPECT_EQ(own.kernel.index, 22);
  EXPECT_EQ(own.kernel.grid, 7);
  EXPECT_EQ(own.kernel.block, 384);
  EXPECT_EQ(own.kernel.buffers, 2);
  EXPECT_EQ(own.tile_m, 128);
  EXPECT_EQ(own.tile_n, 256);
  EXPECT_EQ(own.tile_k, 64);
  EXPECT_EQ(own.dynamic_bytes, 4096);
}
