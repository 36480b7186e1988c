// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The model of GPUs: waves of tiles and blocks, what is in the cache, what the
// loops of a kernel do, and the timeline of a step.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "passes/cost/gpu/CacheModel.h"
#include "passes/cost/gpu/KernelWork.h"
#include "passes/cost/gpu/Timeline.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::gpu_model;

namespace {

Machine getMachine(llvm::StringRef name) {
  registerIngotTargets();
  auto target = llvm::cantFail(Target::get({"cuda", "", MathMode::Exact, {}}));
  Machine machine;
  llvm::cantFail(machine.readJson(target->findMachine(name)));
  return machine;
}

double getMatmulSeconds(const GpuModel &model, double m, double n, double k) {
  return model.getMatmul({1, m, n, k}, Traffic()).seconds;
}

TEST(GpuModel, MachinesAreComplete) {
  for (const char *name : {"a100", "b200", "h100", "h200"}) {
    Machine machine = getMachine(name);
    ASSERT_TRUE(machine.gpu) << name;
    EXPECT_GT(machine.gpu->multiprocessors, 0) << name;
    EXPECT_GT(machine.gpu->peakBf16, machine.matmulBf16) << name;
    EXPECT_GT(machine.gpu->memoryBytes, 1e10) << name;
    EXPECT_GT(machine.gpu->sustainedShare, 0.5) << name;
    EXPECT_GT(machine.gpu->latencySeconds, 0) << name;
    EXPECT_GT(machine.gpu->streamingShare, 0) << name;
    EXPECT_GT(machine.gpu->concurrentShare, 0.5) << name;
  }
}

TEST(GpuModel, MatmulsAreQuantized) {
  Machine machine = getMachine("h100");
  GpuModel model(machine, /*isSustained=*/false);
  // As many tiles of 256 x 128 as multiprocessors, and some more rows.
  double wave = getMatmulSeconds(model, 12 * 256, 11 * 128, 8192);
  double same = getMatmulSeconds(model, 12 * 256 - 100, 11 * 128, 8192);
  double more = getMatmulSeconds(model, 13 * 256, 11 * 128, 8192);
  EXPECT_EQ(wave, same);
  EXPECT_GT(more, 1.2 * wave);
  // Few tiles with many columns are split.
  double split = getMatmulSeconds(model, 256, 128, 65536);
  EXPECT_LT(split, 0.2 * (2.0 * 256 * 128 * 65536) /
                       (machine.matmulBf16 / machine.gpu->multiprocessors));
  // Rows of 2 x 50257 bytes begin anywhere.
  EXPECT_GT(getMatmulSeconds(model, 8192, 50257, 768),
            1.5 * getMatmulSeconds(model, 8192, 50304, 768));
  // A matmul that moves much is limited by that.
  EXPECT_EQ(model.getMatmul({1, 128, 128, 64}, Traffic::ofMemory(1e9)).limit,
            Limit::Memory);
  // Long runs have a slower clock.
  EXPECT_GT(getMatmulSeconds(GpuModel(machine), 8192, 8192, 8192),
            1.2 * getMatmulSeconds(model, 8192, 8192, 8192));
}

TEST(GpuModel, GeneratedMatmuls) {
  Machine machine = getMachine("h100");
  GpuModel model(machine, /*isSustained=*/false);
  auto getSeconds = [&](double side, Traffic epilogue) {
    return model
        .getGeneratedMatmul({1, side, side, side}, 128, 256, Traffic(),
                            epilogue)
        .seconds;
  };
  // Between two published kernels, without and with barriers like its own
  // (fast.cu, kernels 5 and 6).
  for (auto [side, without, with] :
       {std::tuple(8192.0, 658.4e12, 777.5e12), {6144, 625.8e12, 766.3e12}}) {
    double rate = 2 * side * side * side / getSeconds(side, Traffic());
    EXPECT_LT(rate, with) << side;
    EXPECT_GT(rate, 0.9 * without) << side;
    EXPECT_GT(getSeconds(side, Traffic()),
              1.1 * getMatmulSeconds(model, side, side, side));
  }
  // What the epilogue moves is not hidden.
  EXPECT_NEAR(getSeconds(8192, Traffic::ofMemory(1e9)) -
                  getSeconds(8192, Traffic()),
              1e9 / machine.memoryBandwidth, 1e-7);
  // Only Hopper's profiles have generated matmuls.
  EXPECT_EQ(getMachine("a100").gpu->generatedMatmulShare, 0);
  EXPECT_EQ(getMachine("b200").gpu->generatedMatmulShare, 0);
}

TEST(GpuModel, ConvolutionsAreMatmuls) {
  Machine machine = getMachine("h100");
  GpuModel model(machine);
  ingot_conv_desc desc = {};
  desc.spatial_rank = 2;
  desc.batch = 256;
  desc.in_channels = desc.out_channels = 64;
  desc.groups = 1;
  desc.type = INGOT_BF16;
  for (int i : {0, 1}) {
    desc.in[i] = desc.out[i] = 56;
    desc.kernel[i] = 3;
    desc.stride[i] = desc.dilation[i] = 1;
  }
  NodeTime forward =
      model.getConvolution(desc, ConvolutionPart::Forward, Traffic());
  EXPECT_EQ(forward.flops, 2.0 * 256 * 56 * 56 * 64 * 64 * 9);
  EXPECT_GT(forward.seconds, forward.flops / machine.convolutionBf16);
  desc.in_channels = 3;
  NodeTime stem =
      model.getConvolution(desc, ConvolutionPart::Forward, Traffic());
  // Three channels are multiplied as eight.
  EXPECT_GT(stem.seconds / forward.seconds, 1.5 * 3 / 64);
}

TEST(GpuModel, AttentionDependsOnMaskAndDirection) {
  Machine machine = getMachine("h100");
  GpuModel model(machine);
  auto getSeconds = [&](bool causal, bool gradient, bool ordered, double size) {
    Attention attention = {8, 12, 1024, 1024, size, size};
    attention.isCausal = causal;
    attention.isGradient = gradient;
    attention.isOrdered = ordered;
    return model.getAttention(attention, Traffic()).seconds;
  };
  EXPECT_LT(getSeconds(true, false, false, 128),
            getSeconds(false, false, false, 128));
  EXPECT_GT(getSeconds(true, true, false, 128),
            2 * getSeconds(true, false, false, 128));
  EXPECT_GT(getSeconds(true, true, true, 128),
            getSeconds(true, true, false, 128));
  // One block more than there are multiprocessors is another wave, and hardly
  // any where blocks are of different lengths.
  auto getWaves = [&](double heads, bool causal) {
    Attention attention = {1, heads, 2048, 2048, 128, 128};
    attention.isCausal = causal;
    return model.getAttention(attention, Traffic()).seconds;
  };
  // 16 blocks for each head on 132 multiprocessors: 4 waves, and 4.1.
  EXPECT_GT(getWaves(34, false), 1.2 * getWaves(33, false));
  EXPECT_EQ(getWaves(40, false), getWaves(34, false));
  EXPECT_LT(getWaves(34, true), 1.15 * getWaves(33, true));
  // Half of the columns are more than half of the time.
  EXPECT_GT(getSeconds(false, false, false, 64),
            0.55 * getSeconds(false, false, false, 128));
}

TEST(GpuModel, KernelsWaitForMemory) {
  Machine machine = getMachine("h100");
  GpuModel model(machine);
  KernelWork serial = {3, 256, 0, 1e4, 8192};
  NodeTime time = model.getKernel(serial, Traffic::ofMemory(1e6));
  EXPECT_EQ(time.limit, Limit::Latency);
  EXPECT_GT(time.seconds, 8192 * machine.gpu->latencySeconds);
  KernelWork wide = {1e4, 256, 0, 10, 1};
  EXPECT_EQ(model.getKernel(wide, Traffic::ofMemory(1e9)).limit, Limit::Memory);
  // In the cache the same bytes are read faster.
  EXPECT_EQ(model.getKernel(wide, {0, 1e9}).limit, Limit::Cache);
  KernelWork long_ = {1e4, 256, 0, 1e5, 1};
  EXPECT_EQ(model.getKernel(long_, Traffic()).limit, Limit::Compute);
  EXPECT_EQ(model.getKernel({1, 256, 0, 1, 1}, Traffic()).limit, Limit::Launch);
}

TEST(GpuModel, NodesAtTheSameTimeShareTheGpu) {
  Machine machine = getMachine("h100");
  GpuModel model(machine);
  // A whole wave of tiles, and one and a bit.
  NodeTime full = model.getMatmul({1, 12 * 256, 11 * 128, 8192}, Traffic());
  NodeTime half = model.getMatmul({1, 13 * 256, 11 * 128, 8192}, Traffic());
  EXPECT_NEAR(full.multiprocessors, 1, 1e-6);
  EXPECT_LT(half.multiprocessors, 0.95);
  NodeTime update =
      model.getKernel({4096, 256, 0, 50, 1}, Traffic::ofMemory(1e9));
  EXPECT_EQ(update.memory, 1);
  EXPECT_LT(update.multiprocessors, 0.6);
  // Two that fill the GPU gain nothing; others do.
  EXPECT_NEAR(model.getSpeedTogether(full, full), 0.5, 1e-6);
  EXPECT_GT(model.getSpeedTogether(half, half), 0.52);
  EXPECT_GT(model.getSpeedTogether(half, update), 0.7);
  EXPECT_NEAR(model.getSpeedTogether(update, update), 0.45, 1e-6);
}

TEST(CacheModel, KeepsWhatWasUsedLast) {
  CacheModel cache(100);
  cache.use(0, 60);
  EXPECT_EQ(cache.countHits(0, 60), 60);
  EXPECT_EQ(cache.countHits(50, 90), 10);
  cache.use(200, 230);
  // Together too much: the first one leaves.
  cache.use(300, 320);
  EXPECT_EQ(cache.countHits(0, 60), 0);
  EXPECT_EQ(cache.countHits(200, 320), 50);
  // An interval that is used again is there once.
  cache.use(200, 230);
  EXPECT_EQ(cache.countHits(200, 230), 30);
  // Part of it is written elsewhere.
  cache.use(210, 215);
  EXPECT_EQ(cache.countHits(200, 230), 30);
  // What is larger than the cache leaves nothing.
  cache.use(1000, 2000);
  EXPECT_EQ(cache.countHits(200, 230) + cache.countHits(1000, 2000), 0);
}

constexpr const char *kStep = R"mlir(
module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90">, ingot.batch = 4 : i64} {
  gpu.module @device {
    gpu.func @twice(%x: memref<1048576xf32>, %y: memref<1048576xf32>) kernel {
      %c256 = arith.constant 256 : index
      %n = arith.constant 1048576 : index
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %g = gpu.grid_dim x
      %s = arith.muli %b, %c256 : index
      %i = arith.addi %s, %t : index
      %step = arith.muli %g, %c256 : index
      scf.for %j = %i to %n step %step {
        %a = memref.load %x[%j] : memref<1048576xf32>
        %d = arith.addf %a, %a : f32
        memref.store %d, %y[%j] : memref<1048576xf32>
      }
      scf.for %j = %i to %n step %step {
        %a = memref.load %x[%j] : memref<1048576xf32>
        memref.store %a, %y[%j] : memref<1048576xf32>
      }
      gpu.return
    }
    gpu.func @serial(%x: memref<1024xf32>, %y: memref<1xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 1024 : index
      scf.for %j = %c0 to %n step %c1 {
        %a = memref.load %x[%j] : memref<1024xf32>
        %b = memref.load %y[%c0] : memref<1xf32>
        %d = arith.addf %a, %b : f32
        memref.store %d, %y[%c0] : memref<1xf32>
      }
      gpu.return
    }
    gpu.func @group(%x: memref<1024xf32>, %y: memref<1024xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %b = gpu.block_id x
      %first = arith.cmpi slt, %b, %c3 : index
      scf.if %first {
        %a = memref.load %x[%b] : memref<1024xf32>
        %d = arith.addf %a, %a : f32
        memref.store %d, %y[%b] : memref<1024xf32>
      } else {
        %e = arith.subi %b, %c3 : index
        %a = memref.load %x[%e] : memref<1024xf32>
        memref.store %a, %y[%e] : memref<1024xf32>
      }
      gpu.return
    }
  }
  exec.step @train_step attributes {arena_bytes = 12582912 : i64} {
    %x = exec.buffer arena 0 : memref<1048576xf32>
    %y = exec.buffer arena 4194304 : memref<1048576xf32>
    %z = exec.buffer arena 8388608 : memref<1048576xf32>
    exec.launch_grid @device::@twice blocks 512 of 256(%x) -> (%y) {flops = 1048576 : i64} : memref<1048576xf32> -> memref<1048576xf32>
    exec.launch_grid @device::@twice blocks 512 of 256(%y) -> (%z) {flops = 1048576 : i64} : memref<1048576xf32> -> memref<1048576xf32>
  }
}
)mlir";

class GpuStep : public ::testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registerIngotDialects(registry);
    registry
        .insert<arith::ArithDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                math::MathDialect, memref::MemRefDialect, scf::SCFDialect>();
    registerIngotTargets();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(kStep, &context);
    ASSERT_TRUE(module);
  }
  FunctionWork count(llvm::StringRef name, int64_t blocks) {
    FunctionWork work;
    module->walk([&](gpu::GPUFuncOp function) {
      if (function.getName() == name)
        work = countWork(function, blocks, 256, 0);
    });
    return work;
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(GpuStep, LoopsAreCounted) {
  FunctionWork twice = count("twice", 512);
  // Two loops read all of it; a thread has 8 elements in each.
  EXPECT_NEAR(twice.passes[0], 2, 0.01);
  EXPECT_EQ(twice.passes[1], 0);
  EXPECT_NEAR(twice.kernel.waits, 4, 0.1);
  EXPECT_GT(twice.kernel.instructions, 8 + 4 * 8 / 4);
  // A sum in memory waits for itself.
  EXPECT_EQ(count("serial", 1).kernel.waits, 1024);
  // A block runs one of the parts: 3 of 12 the first one.
  double part = count("group", 12).kernel.instructions;
  EXPECT_DOUBLE_EQ(part, 0.25 + 1 + 2 + 0.25 * 1 + 0.75 * 0.25);
}

/// Counts the work of threads in bodies of kernels of 256 threads.
class BodyOfKernel : public GpuStep {
protected:
  KernelWork count(const std::string &body) {
    std::string text = R"mlir(
      gpu.module @device {
        gpu.func @kernel(%x: memref<1024xf32>, %h: memref<1024xbf16>, %n: memref<1024xi64>,
                         %a: f32, %b: f32, %c: f32, %i: index) kernel {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %c3 = arith.constant 3 : index
          %c32 = arith.constant 32 : index
          %c64 = arith.constant 64 : index
          %t = gpu.thread_id x
)mlir" + body + "\n gpu.return } }";
    auto parsed = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(parsed);
    KernelWork work;
    if (parsed)
      parsed->walk([&](gpu::GPUFuncOp function) {
        // The thread's number is an index.
        work = countWork(function, 1, 256, 0).kernel;
        work.instructions -= 0.25;
      });
    return work;
  }
  double countInstructions(const std::string &body) {
    return count(body).instructions;
  }
  static std::string inLoop(const std::string &body,
                            const std::string &annotation = "") {
    return "scf.for %j = %c0 to %c64 step %c1 {" + body + "}" + annotation;
  }
};

TEST_F(BodyOfKernel, NeighboursAreOneAccess) {
  auto load = [](const char *memory, const char *type, int at, int apart) {
    std::string name = std::to_string(at);
    return "%o" + name + " = arith.constant " + std::to_string(at * apart) +
           " : index\n%i" + name + " = arith.addi %t, %o" + name +
           " : index\n%v" + name + " = memref.load " + memory + "[%i" + name +
           "] : " + type + "\n";
  };
  auto loads = [&](const char *memory, const char *type, int apart) {
    std::string text;
    for (int i = 0; i < 8; ++i)
      text += load(memory, type, i, apart);
    return countInstructions(text) - 8 * 0.25;
  };
  EXPECT_EQ(loads("%h", "memref<1024xbf16>", 1), 1);
  EXPECT_EQ(loads("%x", "memref<1024xf32>", 1), 2);
  // Apart from each other each is one of its own, however narrow.
  EXPECT_EQ(loads("%h", "memref<1024xbf16>", 32), 8);
}

TEST_F(BodyOfKernel, LoadsOfBranchesAreWaitedFor) {
  std::string test = "%k = arith.cmpi slt, %t, %i : index\n";
  auto branch = [](const char *index) {
    return std::string("scf.if %k { %w = memref.load %x[") + index +
           "] : memref<1024xf32> }\n";
  };
  EXPECT_EQ(count(inLoop(test + branch("%j"))).waits, 16);
  // They are under way with those before them, unless these decide.
  std::string load = "%v = memref.load %n[%t] : memref<1024xi64>\n"
                     "%e = arith.constant 9 : i64\n";
  EXPECT_EQ(count(load + test + branch("%i")).waits, 1);
  EXPECT_EQ(
      count(load + "%k = arith.cmpi slt, %v, %e : i64\n" + branch("%i")).waits,
      2);
  // What another load has found is waited for twice.
  EXPECT_EQ(count(load + "%j = arith.index_cast %v : i64 to index\n"
                         "%w = memref.load %x[%j] : memref<1024xf32>")
                .waits,
            2);
  // The taps of a window are unrolled, and their branches predicated.
  EXPECT_EQ(
      count(inLoop("scf.for %l = %c0 to %c3 step %c1 {" + test +
                   "%m = arith.addi %j, %l : index\n" + branch("%m") + "}"))
          .waits,
      16);
  EXPECT_EQ(
      count("scf.for %j = %c0 to %c3 step %c1 {" + test + branch("%j") + "}")
          .waits,
      1);
}

TEST_F(BodyOfKernel, LoopsWaitAsOftenAsTheyAreUnrolled) {
  std::string load = "%v = memref.load %x[%j] : memref<1024xf32>\n";
  EXPECT_EQ(count(inLoop(load)).waits, 16);
  EXPECT_EQ(count(inLoop(load, " {loop_annotation = #llvm.loop_annotation<"
                               "unroll = <count = 8 : i32>>}"))
                .waits,
            8);
  // Threads that meet wait in each iteration.
  EXPECT_EQ(count(inLoop(load + "gpu.barrier\n")).waits, 64);
  // What a loop does not change is loaded once.
  EXPECT_EQ(
      count(inLoop("%v = memref.load %x[%c0] : memref<1024xf32>\n")).waits, 1);
}

TEST_F(BodyOfKernel, LoopsRepeatOnlyWhatTheyChange) {
  EXPECT_EQ(countInstructions(inLoop("%v = arith.divf %a, %b : f32\n"
                                     "%w = arith.mulf %v, %c : f32\n")),
            10 + 1);
  EXPECT_EQ(countInstructions(inLoop("%k = arith.index_cast %j : index to i32\n"
                                     "%v = arith.sitofp %k : i32 to f32\n"
                                     "%w = arith.divf %v, %a : f32\n")),
            64 * 12);
}

TEST_F(BodyOfKernel, RoundingToHalvesIsInPairs) {
  std::string pair = "%v = llvm.fptrunc %a : f32 to bf16\n"
                     "%w = llvm.fptrunc %b : f32 to bf16\n";
  EXPECT_EQ(countInstructions(pair), 1);
  EXPECT_EQ(countInstructions("%v = llvm.fptrunc %a : f32 to bf16\n"), 1.5);
  // A choice of constants keeps the rounding for itself.
  std::string choice = "%k = arith.cmpi slt, %t, %i : index\n"
                       "%p = arith.select %k, %a, %b : f32\n"
                       "%q = llvm.fptrunc %p : f32 to bf16\n";
  EXPECT_EQ(countInstructions(choice + pair), 2 + 1.5 + 1);
}

TEST_F(BodyOfKernel, InstructionsAreThoseOfTheMachine) {
  EXPECT_EQ(countInstructions("%v = arith.bitcast %a : f32 to i32"), 0);
  EXPECT_EQ(countInstructions("%v = math.exp %a : f32"), 2);
  EXPECT_EQ(countInstructions("%v = math.sqrt %a : f32"), 10);
  // Nothing is contracted.
  EXPECT_EQ(countInstructions("%v = arith.mulf %a, %b : f32\n"
                              "%w = arith.addf %v, %c : f32\n"),
            2);
  // Integers of 64 bits are two registers, but not indices.
  EXPECT_EQ(countInstructions("%v = memref.load %n[%c0] : memref<1024xi64>\n"
                              "%w = arith.addi %v, %v : i64\n"),
            1 + 2);
  EXPECT_EQ(countInstructions("%v = arith.index_cast %t : index to i64\n"
                              "%e = arith.constant 9 : i64\n"
                              "%w = arith.cmpi slt, %v, %e : i64\n"),
            1 + 1);
}

TEST_F(BodyOfKernel, WarpsTakeBranchesOfTheirThreads) {
  auto branch = [&](const char *test) {
    return countInstructions(std::string("%k = arith.cmpi ") + test +
                             " : index\n scf.if %k { %v = math.exp %a : f32 "
                             "%w = math.exp %b : f32 }");
  };
  // One warp of eight.
  EXPECT_EQ(branch("eq, %t, %c0"), 1 + 4.0 / 8);
  EXPECT_EQ(branch("slt, %t, %c64"), 1 + 4.0 / 4);
  // A thread of each warp.
  EXPECT_EQ(branch("slt, %i, %c3"), 1 + 4);
}

TEST_F(GpuStep, TimelineHasEveryNode) {
  auto timeline = predictStep(*module, /*isOrdered=*/true);
  ASSERT_TRUE(timeline);
  ASSERT_EQ(timeline->nodes.size(), 2u);
  const Node &first = timeline->nodes[0], &second = timeline->nodes[1];
  EXPECT_DOUBLE_EQ(second.start, first.time.seconds);
  EXPECT_DOUBLE_EQ(timeline->seconds, first.time.seconds + second.time.seconds);
  // What the first one wrote is in the cache.
  EXPECT_NEAR(first.traffic.memory, 2.0 * 4194304, 1e3);
  EXPECT_NEAR(second.traffic.memory, 4194304, 1e3);
  EXPECT_EQ(timeline->samples, 4);
  std::string text = describeTimeline(*timeline, "h100");
  EXPECT_NE(text.find("step on h100: "), std::string::npos);
  EXPECT_NE(text.find(" samples/s"), std::string::npos);
}

TEST_F(GpuStep, RegionsRunBesideOtherNodes) {
  constexpr const char *text = R"mlir(
module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90">, ingot.batch = 4 : i64} {
  exec.step @train_step attributes {arena_bytes = 100663296 : i64} {
    %a = exec.buffer arena 0 : memref<2048x2048xbf16>
    %b = exec.buffer arena 8388608 : memref<2048x2048xbf16>
    %c = exec.buffer arena 16777216 : memref<2048x2048xbf16>
    %from = exec.buffer arena 25165824 : memref<8388608xf32>
    %to = exec.buffer arena 58720256 : memref<8388608xf32>
    exec.call @ingot_side_start() <>
    exec.call @ingot_copy(from = %from, to = %to) <bytes = 33554432> : memref<8388608xf32>, memref<8388608xf32>
    exec.call @ingot_side_end() <>
    exec.call @ingot_matmul(a = %a, b = %b, c = %c) <batch = 1, m = 2048, n = 2048, k = 2048, a_type = bf16, b_type = bf16, c_type = bf16>
      : memref<2048x2048xbf16>, memref<2048x2048xbf16>, memref<2048x2048xbf16>
    exec.call @ingot_side_wait() <>
    exec.call @ingot_matmul(a = %a, b = %b, c = %c) <batch = 1, m = 2048, n = 2048, k = 2048, a_type = bf16, b_type = bf16, c_type = bf16>
      : memref<2048x2048xbf16>, memref<2048x2048xbf16>, memref<2048x2048xbf16>
  }
}
)mlir";
  auto other = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(other);
  auto timeline = predictStep(*other, /*isOrdered=*/true);
  ASSERT_TRUE(timeline);
  ASSERT_EQ(timeline->nodes.size(), 3u);
  const Node &copy = timeline->nodes[0], &first = timeline->nodes[1],
             &last = timeline->nodes[2];
  EXPECT_TRUE(copy.isBeside);
  EXPECT_EQ(copy.start, 0);
  EXPECT_EQ(first.start, 0);
  // Both take longer than alone, and less than one after the other.
  double both = std::max(copy.end, first.end);
  EXPECT_GT(both, std::max(copy.time.seconds, first.time.seconds));
  EXPECT_LT(both, copy.time.seconds + first.time.seconds);
  EXPECT_DOUBLE_EQ(last.start, both);
  EXPECT_NE(describeTimeline(*timeline, "h100").find("beside other nodes"),
            std::string::npos);
}

TEST_F(GpuStep, NothingIsPredictedOfNoStep) {
  for (auto step : llvm::make_early_inc_range(module->getOps<exec::StepOp>()))
    step.erase();
  EXPECT_FALSE(predictStep(*module, /*isOrdered=*/true));
}

} // namespace
