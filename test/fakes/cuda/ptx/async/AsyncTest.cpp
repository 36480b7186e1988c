// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Barriers, loads of tensors and products of warpgroups against what the PTX
// ISA says, and what breaks its rules.
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/ptx/Block.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace fakes::ptx;

namespace {

constexpr int rows = 64, inner = 64, tileBytes = rows * inner * 2;
constexpr int barrierPlace = 2 * tileBytes;

uint16_t toBfloat(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

/// Matrices of [rows][columns] bfloat16 numbers, exact in eighths.
struct Matrix {
  int rows, columns;
  std::vector<uint16_t> data;

  Matrix(int rows, int columns, int seed)
      : rows(rows), columns(columns), data(size_t(rows) * columns) {
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = toBfloat(static_cast<float>((i * 7 + seed * 5) % 17) / 8 - 1);
  }
  float at(int row, int column) const {
    return std::bit_cast<float>(uint32_t(data[row * columns + column]) << 16);
  }
};

/// A map of boxes of 64 columns, `boxRows` high.
TensorMap makeMap(const Matrix &matrix, uint32_t boxRows) {
  TensorMap map;
  map.magic = TensorMap::valid;
  map.rank = 2;
  map.elementBytes = 2;
  map.swizzleBytes = 128;
  map.address = reinterpret_cast<uint64_t>(matrix.data.data());
  map.sizes[0] = matrix.columns;
  map.sizes[1] = matrix.rows;
  map.sizes[2] = 1;
  map.strides[0] = 2;
  map.strides[1] = uint64_t(matrix.columns) * 2;
  map.strides[2] = map.strides[1] * matrix.rows;
  map.box[0] = 64;
  map.box[1] = boxRows;
  map.box[2] = 1;
  return map;
}

/// Parts of the kernel below, of which tests leave some out.
struct Parts {
  std::string fenceBarrier = "fence.mbarrier_init.release.cluster;\n";
  std::string waitForLoad = "$LOOP:\n"
                            "mbarrier.try_wait.parity.shared.b64 %p2, [%r5], "
                            "0;\n@!%p2 bra $LOOP;\n";
  std::string fence = "wgmma.fence.sync.aligned;\n";
  std::string commit = "wgmma.commit_group.sync.aligned;\n";
  std::string wait = "wgmma.wait_group.sync.aligned 0;\n";
  std::string beforeWait;
  std::string expected = "16384";
  bool transposesLhs = false, transposesRhs = false;
};

std::string join(const char *prefix, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ", ") + (prefix + std::to_string(i));
  return text;
}

/// The product of two 64 by 64 matrices by a warpgroup, to 64 rows of 64 f32.
std::string makeKernel(const Parts &parts) {
  std::string text = R"(
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(
	.param .align 64 .b8 k_param_0[128],
	.param .align 64 .b8 k_param_1[128],
	.param .u64 .ptr .global .align 64 k_param_2
)
.maxntid 128
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<20>;
	.reg .b32 	%f<32>;
	.reg .b64 	%rd<12>;

	mov.b64 	%rd1, k_param_0;
	cvta.param.u64 	%rd1, %rd1;
	mov.b64 	%rd2, k_param_1;
	cvta.param.u64 	%rd2, %rd2;
	ld.param.b64 	%rd3, [k_param_2];
	mov.u32 	%r1, %tid.x;
	mov.b32 	%r5, )" +
                     std::to_string(barrierPlace) + R"(;
	mov.b32 	%r6, 0;
	mov.b32 	%r7, 8192;
	setp.ne.b32 	%p1, %r1, 0;
	@%p1 bra 	$START;
	mbarrier.init.shared.b64 	[%r5], 1;
	)" + parts.fenceBarrier +
                     R"(
	mbarrier.arrive.expect_tx.shared.b64 	_, [%r5], )" +
                     parts.expected + R"(;
	cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r6], [%rd1, {0, 0}], [%r5];
	cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r7], [%rd2, {0, 0}], [%r5];
$START:
	bar.sync 	0;
)" + parts.waitForLoad;
  for (int i = 0; i < 32; ++i)
    text += "	mov.b32 	%f" + std::to_string(i) + ", 0f00000000;\n";
  text += parts.fence;
  for (int k = 0; k < inner; k += 16) {
    // The strides between eight rows, and the swizzle.
    uint64_t fields = uint64_t(1) << 62 | uint64_t(1024 / 16) << 32;
    uint64_t lhs = fields | (k * (parts.transposesLhs ? 128 : 2)) >> 4;
    uint64_t rhs =
        fields | (tileBytes + k * (parts.transposesRhs ? 128 : 2)) >> 4;
    text += "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" +
            join("%f", 32) + "}, " + std::to_string(lhs) + ", " +
            std::to_string(rhs) + ", p, 1, 1, " +
            std::to_string(parts.transposesLhs) + ", " +
            std::to_string(parts.transposesRhs) + ";\n}\n";
  }
  text += parts.commit + parts.beforeWait + parts.wait;
  // Lane l of warp w: row 16 w + l / 4, columns 2 (l % 4) of each eight.
  text += R"(
	shr.u32 	%r10, %r1, 5;
	shl.b32 	%r10, %r10, 4;
	and.b32 	%r11, %r1, 31;
	shr.u32 	%r12, %r11, 2;
	add.s32 	%r10, %r10, %r12;
	and.b32 	%r13, %r11, 3;
	shl.b32 	%r10, %r10, 8;
	shl.b32 	%r13, %r13, 3;
	add.s32 	%r10, %r10, %r13;
	cvt.u64.u32 	%rd5, %r10;
	add.s64 	%rd6, %rd3, %rd5;
)";
  for (int i = 0; i < 32; ++i)
    text += "	st.global.b32 	[%rd6+" +
            std::to_string(i / 4 * 32 + i / 2 % 2 * 8 * 256 + i % 2 * 4) +
            "], %f" + std::to_string(i) + ";\n";
  return text + "	ret;\n}\n";
}

/// Returns what the kernel computes, or throws Fault.
std::vector<float> run(const Parts &parts, const Matrix &lhs, const Matrix &rhs,
                       uint64_t seed = 0) {
  Module module = parseModule(makeKernel(parts));
  const Function &function = module.functions.find("k")->second;
  std::vector<float> result(rows * rows);
  std::vector<uint8_t> parameters(function.parameterBytes);
  TensorMap maps[] = {makeMap(lhs, 64), makeMap(rhs, 64)};
  std::memcpy(parameters.data(), &maps[0], sizeof(maps[0]));
  std::memcpy(parameters.data() + 128, &maps[1], sizeof(maps[1]));
  auto address = reinterpret_cast<uint64_t>(result.data());
  std::memcpy(parameters.data() + 256, &address, sizeof(address));
  std::vector<Allocation> allocations = {
      {address, address + result.size() * 4}};
  for (const Matrix *matrix : {&lhs, &rhs}) {
    auto begin = reinterpret_cast<uint64_t>(matrix->data.data());
    allocations.push_back({begin, begin + matrix->data.size() * 2});
  }
  runKernel({module, function, 1, 128, parameters, allocations, seed, true,
             barrierPlace + 64});
  return result;
}

std::string findFault(const Parts &parts) {
  Matrix lhs(rows, inner, 1), rhs(rows, inner, 2);
  try {
    run(parts, lhs, rhs);
  } catch (const Fault &fault) {
    return fault.what();
  }
  return "";
}

TEST(Async, ProductsInAllLayouts) {
  for (bool transposesLhs : {false, true})
    for (bool transposesRhs : {false, true}) {
      Parts parts;
      parts.transposesLhs = transposesLhs;
      parts.transposesRhs = transposesRhs;
      Matrix lhs(rows, inner, 1), rhs(rows, inner, 2);
      std::vector<float> got = run(parts, lhs, rhs, /*seed=*/transposesLhs);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < rows; ++j) {
          float sum = 0;
          for (int k = 0; k < inner; ++k)
            sum += (transposesLhs ? lhs.at(k, i) : lhs.at(i, k)) *
                   (transposesRhs ? rhs.at(k, j) : rhs.at(j, k));
          ASSERT_EQ(got[i * rows + j], sum)
              << transposesLhs << transposesRhs << " " << i << " " << j;
        }
    }
}

/// Elements outside of a tensor are 0, and are counted.
TEST(Async, LoadsBeyondTheEnd) {
  Matrix lhs(40, 24, 1), rhs(rows, inner, 2);
  std::vector<float> got = run(Parts(), lhs, rhs);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < rows; ++j) {
      float sum = 0;
      for (int k = 0; k < 24 && i < 40; ++k)
        sum += lhs.at(i, k) * rhs.at(j, k);
      ASSERT_EQ(got[i * rows + j], sum) << i << " " << j;
    }
}

TEST(Async, RegistersBeforeTheWait) {
  Parts parts;
  parts.wait = "";
  EXPECT_NE(findFault(parts).find("uses a register of a product before"),
            std::string::npos);
  // Even where nothing is stored yet.
  parts = Parts();
  parts.beforeWait = "mov.b32 %r15, %f3;\n";
  EXPECT_NE(findFault(parts).find("uses a register of a product before"),
            std::string::npos);
}

TEST(Async, ProductsThatAreNotCommitted) {
  Parts parts;
  parts.commit = "";
  EXPECT_NE(findFault(parts).find("uses a register of a product before"),
            std::string::npos);
}

TEST(Async, RegistersWithoutFence) {
  Parts parts;
  parts.fence = "";
  EXPECT_NE(findFault(parts).find("no wgmma.fence"), std::string::npos);
}

TEST(Async, MemoryBeforeTheLoad) {
  Parts parts;
  parts.waitForLoad = "";
  std::string fault = findFault(parts);
  EXPECT_TRUE(fault.find("is being loaded") != std::string::npos ||
              fault.find("no barrier orders") != std::string::npos)
      << fault;
}

/// A load into what a product reads, before it has been waited for.
TEST(Async, MemoryThatAProductReads) {
  Parts parts;
  parts.beforeWait =
      "@%p1 bra $AFTER;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_"
      "tx::bytes [%r7], [%rd2, {0, 0}], [%r5];\n$AFTER:\n";
  EXPECT_NE(findFault(parts).find("is loaded while a product reads it"),
            std::string::npos);
  parts.beforeWait = "st.shared.b32 [%r7], %r1;\n";
  EXPECT_NE(findFault(parts).find("is written while a product reads it"),
            std::string::npos);
}

/// Thread 0 has waited for its own warp's products only.
TEST(Async, MemoryThatOtherWarpsRead) {
  Parts parts;
  parts.wait += "@%p1 bra $AFTER;\n"
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
                "complete_tx::bytes [%r7], [%rd2, {0, 0}], [%r5];\n$AFTER:\n";
  std::string fault = findFault(parts);
  EXPECT_TRUE(fault.find("is loaded while a product reads it") !=
                  std::string::npos ||
              fault.find("no barrier is between them") != std::string::npos)
      << fault;
}

TEST(Async, BarrierWithoutFence) {
  Parts parts;
  parts.fenceBarrier = "";
  EXPECT_NE(findFault(parts).find("no fence is between"), std::string::npos);
}

TEST(Async, BytesThatNeverCome) {
  Parts parts;
  parts.expected = "16400";
  EXPECT_NE(findFault(parts).find("all warps wait for ever"),
            std::string::npos);
}

TEST(Async, MisalignedLoad) {
  std::string text = makeKernel(Parts());
  text.replace(text.find("%r7, 8192"), 9, "%r7, 8208");
  Module module = parseModule(text);
  Matrix lhs(rows, inner, 1), rhs(rows, inner, 2);
  const Function &function = module.functions.find("k")->second;
  std::vector<uint8_t> parameters(function.parameterBytes);
  TensorMap maps[] = {makeMap(lhs, 64), makeMap(rhs, 64)};
  std::memcpy(parameters.data(), &maps[0], sizeof(maps[0]));
  std::memcpy(parameters.data() + 128, &maps[1], sizeof(maps[1]));
  EXPECT_THROW(runKernel({module,
                          function,
                          1,
                          128,
                          parameters,
                          {},
                          0,
                          false,
                          barrierPlace + 64}),
               Fault);
}

TEST(Async, UnknownForms) {
  for (const char *code :
       {"wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {%f0}, 1, 1, p, "
        "1, 1;",
        "mbarrier.test_wait.shared.b64 %p1, [%r5], %rd1;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r6], [%rd1], 16, [%r5];"}) {
    std::string text = makeKernel(Parts());
    text.insert(text.find("	ret;"), std::string(code) + "\n");
    EXPECT_THROW(parseModule(text), ParseError) << code;
  }
}

} // namespace
