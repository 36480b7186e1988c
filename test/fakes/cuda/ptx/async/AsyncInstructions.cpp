// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Instructions of the PTX ISA that order, begin and await what runs
// concurrently with the others: mbarrier, cp.async.bulk.tensor, wgmma, fences
// and setmaxnreg.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/ptx/Block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

using namespace fakes::ptx;

namespace {
[[noreturn]] void refuse(const std::string &what) {
  throw Fault(Fault::LaunchFailed, what);
}

uint32_t getIndex(const Warp &warp) { return warp.firstThread / lanes; }

const AsyncCall &getCall(const Warp &warp, const Instruction &instruction) {
  return warp.block.getLaunch().function.calls[instruction.number];
}

/// The address in one lane.
uint64_t getAddress(const Warp &warp, const Address &address, int lane) {
  auto offset = static_cast<uint64_t>(address.offset);
  if (address.baseBytes == sizeof(uint64_t))
    return offset + warp.read<uint64_t>(address.base)[lane];
  return address.baseBytes == 0
             ? offset
             : offset + warp.read<uint32_t>(address.base)[lane];
}

template <typename Visit> void forEachLane(const Warp &warp, Visit visit) {
  for (int lane = 0; lane < lanes; ++lane)
    if (warp.active >> lane & 1)
      visit(lane);
}

/// A value that all lanes must have.
template <typename T> T getUniform(const Warp &warp, const Operand &operand) {
  int first = std::countr_zero(warp.active);
  const T *values = warp.read<T>(operand);
  forEachLane(warp, [&](int lane) {
    if (values[lane] != values[first])
      refuse("the lanes have different operands");
  });
  return values[first];
}

void initialize(Warp &warp, const Instruction &instruction) {
  const AsyncCall &call = getCall(warp, instruction);
  const uint32_t *count = warp.read<uint32_t>(call.operands[0]);
  forEachLane(warp, [&](int lane) {
    warp.block.getAsync().initialize(
        getIndex(warp), getAddress(warp, call.addresses[0], lane), count[lane]);
  });
}

template <bool expects>
void arrive(Warp &warp, const Instruction &instruction) {
  const AsyncCall &call = getCall(warp, instruction);
  AsyncMemory &async = warp.block.getAsync();
  forEachLane(warp, [&](int lane) {
    uint64_t barrier = getAddress(warp, call.addresses[0], lane);
    uint32_t operand =
        call.operands.empty() ? 1 : warp.read<uint32_t>(call.operands[0])[lane];
    if (expects)
      async.expect(barrier, operand);
    async.arrive(getIndex(warp), barrier, expects ? 1 : operand);
  });
}

void tryWait(Warp &warp, const Instruction &instruction) {
  const AsyncCall &call = getCall(warp, instruction);
  const uint32_t *parity = warp.read<uint32_t>(call.operands[0]);
  uint32_t done = 0;
  forEachLane(warp, [&](int lane) {
    bool isDone = warp.block.getAsync().tryWait(
        getIndex(warp), getAddress(warp, call.addresses[0], lane),
        parity[lane]);
    done |= uint32_t(isDone) << lane;
  });
  warp.writePredicate(instruction.to[0], done);
  warp.isStalled = done != warp.active;
}

void load(Warp &warp, const Instruction &instruction) {
  const AsyncCall &call = getCall(warp, instruction);
  forEachLane(warp, [&](int lane) {
    uint64_t place = getAddress(warp, call.addresses[1], lane);
    if (place % TensorMap::alignment != 0)
      throw Fault(Fault::Misaligned, "a tensor map is not aligned to 64 bytes");
    if (!warp.block.isParameter(place, sizeof(TensorMap)))
      refuse("a tensor map that is no parameter of the kernel");
    TensorMap map;
    std::memcpy(&map, reinterpret_cast<const void *>(place), sizeof(map));
    if (map.magic != TensorMap::valid || map.rank != call.operands.size())
      refuse("no tensor map of as many dimensions as the load has");
    std::array<int32_t, TensorMap::mostDims> at = {};
    for (size_t i = 0; i < call.operands.size(); ++i)
      at[i] = warp.read<int32_t>(call.operands[i])[lane];
    warp.block.getAsync().load(getIndex(warp),
                               getAddress(warp, call.addresses[0], lane), map,
                               at, getAddress(warp, call.addresses[2], lane));
  });
}

void fenceProxy(Warp &warp, const Instruction &) {
  warp.block.getAsync().fenceProxy(getIndex(warp));
}

void fenceProducts(Warp &warp, const Instruction &) {
  warp.block.getProducts().fence(getIndex(warp));
}

void commit(Warp &warp, const Instruction &) {
  warp.block.getProducts().commit(getIndex(warp));
}

void wait(Warp &warp, const Instruction &instruction) {
  warp.block.getProducts().wait(warp, instruction.number);
}

void multiply(Warp &warp, const Instruction &instruction) {
  const AsyncCall &call = getCall(warp, instruction);
  uint32_t accumulates = warp.readPredicate(call.operands[2]);
  if (accumulates != 0 && accumulates != allLanes)
    refuse("the lanes have different operands");
  warp.block.getProducts().issue(
      warp, call, getUniform<uint64_t>(warp, call.operands[0]),
      getUniform<uint64_t>(warp, call.operands[1]), accumulates != 0);
}

template <bool increases>
void setRegisters(Warp &warp, const Instruction &instruction) {
  warp.isRepeated = !warp.block.getAsync().setRegisters(
      getIndex(warp), static_cast<uint32_t>(instruction.number), increases);
  warp.isStalled = warp.isRepeated;
}

void doNothing(Warp &, const Instruction &) {}

std::string join(const Opcode &opcode) {
  std::string text;
  for (std::string_view part : opcode.parts)
    text += (text.empty() ? "" : ".") + std::string(part);
  return text;
}

bool matches(const Opcode &opcode, std::initializer_list<const char *> all) {
  return std::all_of(all.begin(), all.end(),
                     [&](const char *part) { return opcode.has(part); });
}
} // namespace

std::optional<AsyncForm> fakes::ptx::selectAsync(const Opcode &opcode) {
  std::string_view root = opcode.root();
  bool isShared = opcode.has("shared") || opcode.has("shared::cta");
  if (root == "mbarrier") {
    if (!isShared || !opcode.has("b64") || opcode.has("relaxed"))
      throw ParseError("unknown form of " + join(opcode));
    if (opcode.has("init"))
      return AsyncForm{initialize, Flow::Next, AsyncForm::None, 1, 1};
    if (matches(opcode, {"arrive", "expect_tx"}))
      return AsyncForm{arrive<true>, Flow::Next, AsyncForm::Dropped, 1, 1};
    if (opcode.parts[1] == "arrive" && !opcode.has("noComplete"))
      return AsyncForm{arrive<false>, Flow::Next, AsyncForm::Dropped, 1, 1};
    if (matches(opcode, {"try_wait", "parity"}))
      return AsyncForm{tryWait, Flow::Next, AsyncForm::Predicate, 1, 1};
    throw ParseError("unknown form of " + join(opcode));
  }
  if (root == "cp") {
    if (!matches(opcode, {"async", "bulk", "tensor", "shared::cluster",
                          "global", "mbarrier::complete_tx::bytes"}) ||
        opcode.has("multicast::cluster") || opcode.has("im2col"))
      throw ParseError("unknown form of " + join(opcode));
    return AsyncForm{load, Flow::Next, AsyncForm::None, 3, 0};
  }
  if (root == "wgmma") {
    if (!matches(opcode, {"sync", "aligned"}))
      throw ParseError("unknown form of " + join(opcode));
    if (opcode.has("fence"))
      return AsyncForm{fenceProducts, Flow::Converged, AsyncForm::None, 0, 0};
    if (opcode.has("commit_group"))
      return AsyncForm{commit, Flow::Converged, AsyncForm::None, 0, 0};
    if (opcode.has("wait_group"))
      return AsyncForm{wait, Flow::Converged, AsyncForm::Number, 0, 0};
    bool isKnown = opcode.has("mma_async") && opcode.has("f32") &&
                   (matches(opcode, {"bf16"}) || matches(opcode, {"f16"}));
    if (!isKnown)
      throw ParseError("unknown form of " + join(opcode));
    return AsyncForm{multiply, Flow::Converged, AsyncForm::Sums, 0, 0};
  }
  if (root == "setmaxnreg")
    return AsyncForm{opcode.has("inc") ? setRegisters<true>
                                       : setRegisters<false>,
                     Flow::Converged, AsyncForm::Number, 0, 0};
  if (root == "fence" &&
      (matches(opcode, {"proxy", "async"}) || opcode.has("mbarrier_init")))
    return AsyncForm{fenceProxy, Flow::Next, AsyncForm::None, 0, 0};
  if (root == "bar" && matches(opcode, {"warp", "sync"}))
    return AsyncForm{doNothing, Flow::Meeting, AsyncForm::Mask, 0, 0};
  return std::nullopt;
}

AsyncCall fakes::ptx::describeProduct(const Opcode &opcode,
                                      const std::vector<int64_t> &settings) {
  AsyncCall call;
  call.isBfloat = opcode.has("bf16");
  constexpr std::string_view rows = "m64n";
  for (std::string_view part : opcode.parts)
    if (part.starts_with(rows))
      call.columns = static_cast<uint32_t>(
          std::atoi(std::string(part.substr(rows.size())).c_str()));
  // Signs of both operands, and whether they are transposed.
  bool isKnown = call.columns >= 8 && call.columns <= 256 &&
                 call.columns % 8 == 0 && settings.size() == 4 &&
                 settings[0] == 1 && settings[1] == 1;
  if (!isKnown)
    throw ParseError("unknown form of " + join(opcode));
  call.transposesLhs = settings[2] != 0;
  call.transposesRhs = settings[3] != 0;
  return call;
}
