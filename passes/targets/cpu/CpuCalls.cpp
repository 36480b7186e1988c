// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cpu/CpuCalls.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/CallDescriptor.h"
#include "dialects/ingot/ir/Dialect.h"
#include "passes/targets/MathAttribute.h"
#include "passes/targets/cpu/CpuScratch.h"

using namespace mlir;
using namespace ingot;

/// Chooses Strassen's algorithm for a matmul on vector units where the machine
/// is faster with it, and where the multiply-adds that it saves take longer
/// than the additions that it costs.
static void chooseStrassen(const ingot_matmul_desc &desc,
                           const Machine &machine, bool isExact,
                           LibrarySupport &support) {
  bool isDot = machine.multipliesBf16 != 0 && desc.a_type == INGOT_BF16 &&
               desc.b_type == INGOT_BF16;
  if (support.math != INGOT_MATH_EXACT || desc.c_type == INGOT_F64 ||
      desc.batch != 1 || isDot)
    return;
  // Seven products for eight, of whole tiles. Operands are read, and combined
  // with each other, while they are packed: packedBytes more of each element
  // pass through the caches. Sums of short products are soon added to c.
  constexpr double packedBytes = 12, leastDepth = 256;
  cpu::GemmBlocking blocking = cpu::getStrassenBlocking(cpu::kVectorBlocking);
  double m = desc.m, n = desc.n, k = desc.k;
  double padded = double(abi::alignTo(desc.m, blocking.tileRows)) *
                  abi::alignTo(desc.n, blocking.tileColumns);
  double saved = 2 * k * (m * n - padded * 7 / 8) / machine.matmulF32;
  double added = packedBytes * k * (m + n) / machine.cacheBandwidth;
  if (k < leastDepth || saved <= added) {
    support.mathReason = "Strassen's algorithm would add more time than it "
                         "saves: the matmul is small, or its sums are short";
    return;
  }
  // What is nearly equal is not worth the larger errors.
  constexpr double mostShare = 0.97;
  if (machine.strassenShare == 0) {
    support.mathReason = "nobody has measured whether Strassen's algorithm is "
                         "faster on this CPU: --machine gives a profile with "
                         "strassen_share";
    return;
  }
  if (machine.strassenShare > mostShare) {
    support.mathReason = "Strassen's algorithm is not faster on this CPU "
                         "(strassen_share of its profile)";
    return;
  }
  if (isExact) {
    support.mathReason = "Strassen's algorithm would be faster, but "
                         "--exact-math asks for sums of products";
    return;
  }
  support.math = INGOT_MATH_STRASSEN;
  support.mathReason = "Strassen's algorithm saves an eighth of the products";
}

static LibrarySupport describeSupport(ingot_matmul_desc desc, StringRef,
                                      const Machine &machine, bool isExact) {
  for (int32_t type : {desc.a_type, desc.b_type})
    if (type == INGOT_F8E4M3 || type == INGOT_F8E5M2)
      return {"CPUs do not multiply 8-bit floats"};
  cpu::ScratchMachine scratch = getScratchMachine(machine);
  LibrarySupport support;
  support.math = getMath(desc, scratch);
  chooseStrassen(desc, machine, isExact, support);
  desc.math = support.math;
  support.scratchBytes = cpu::getScratchBytes(desc, scratch);
  return support;
}

static LibrarySupport describeSupport(ingot_decoded_matmul_desc desc, StringRef,
                                      const Machine &machine,
                                      bool /*isExact*/) {
  cpu::ScratchMachine scratch = getScratchMachine(machine);
  LibrarySupport support;
  support.math = getMath(cpu::getDense(desc), scratch);
  desc.math = support.math;
  support.scratchBytes = cpu::getScratchBytes(cpu::getDense(desc), scratch);
  return support;
}

static LibrarySupport describeSupport(ingot_conv_desc desc, StringRef entry,
                                      const Machine &figures, bool isExact) {
  cpu::ScratchMachine machine = getScratchMachine(figures);
  cpu::ConvKind kind = entry == "ingot_conv" ? cpu::ConvKind::Forward
                       : entry == "ingot_conv_input_grad"
                           ? cpu::ConvKind::InputGrad
                           : cpu::ConvKind::FilterGrad;
  LibrarySupport support;
  desc.math = support.math = getMath(desc, kind, machine);
  if (support.math != INGOT_MATH_EXACT) {
    support.scratchBytes =
        isIm2col(desc, kind)
            ? cpu::Im2colGemm(desc, kind, machine.threads).getScratchBytes()
            : cpu::getScratchBytes(desc, machine);
    return support;
  }
  if (cpu::hasWinogradForm(desc)) {
    if (isExact) {
      support.mathReason = "Winograd's algorithm would be faster, but "
                           "--exact-math asks for sums of products";
    } else {
      support.math = INGOT_MATH_WINOGRAD;
      support.mathReason = "Winograd's algorithm saves three quarters of the "
                           "products";
    }
  }
  // Gathering pixels for the forward pass would take the time that is saved.
  if (cpu::isPointwise(desc) ||
      (cpu::isGathered(desc, kind) && kind == cpu::ConvKind::FilterGrad))
    chooseStrassen(getPointwiseMatmul(desc, kind), figures, isExact, support);
  desc.math = support.math;
  support.scratchBytes = cpu::getScratchBytes(desc, machine);
  return support;
}

static LibrarySupport describeSupport(const ingot_attention_desc &desc,
                                      StringRef, const Machine &figures,
                                      bool /*isExact*/) {
  cpu::ScratchMachine machine = getScratchMachine(figures);
  return {"", cpu::getScratchBytes(desc, machine), getMath(desc, machine)};
}

LibrarySupport CpuCalls::getSupport(LibraryCall call, const Machine &machine) {
  if (StringRef reason = call.refuseCall(); !reason.empty())
    return {reason.str()};
  if (isa<ConvStatisticsOp, ConvScaledFilterGradOp>(call.getOperation()))
    return {"convolutions on CPUs normalize nothing"};
  CallDescriptor descriptor = CallDescriptor::of(call);
  auto module = call->getParentOfType<ModuleOp>();
  bool isExact = module && module->hasAttr(kExactMathAttr);
  LibrarySupport support;
  descriptor.match<ingot_matmul_desc, ingot_decoded_matmul_desc,
                   ingot_conv_desc, ingot_attention_desc>(
      [&](const auto &desc) {
        support = describeSupport(desc, call.getEntry(), machine, isExact);
      });
  // Other entry points work in place or in their buffers.
  return support;
}

bool CpuCalls::prefersChannelsLast(LibraryCall call) const {
  // Kernels keep a vector of channels for each position. With few
  // channels, the vector is not filled; f64 is computed by simple loops.
  constexpr int64_t vector = 16;
  CallDescriptor descriptor = CallDescriptor::of(call);
  if (!descriptor.is<ingot_conv_desc>())
    return false;
  auto desc = descriptor.get<ingot_conv_desc>();
  return !desc.channels_last && desc.type != INGOT_F64 &&
         std::max(desc.in_channels, desc.out_channels) >= vector;
}
