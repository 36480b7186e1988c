// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/ptx/async/Products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <immintrin.h>

using namespace fakes::ptx;

namespace {
constexpr uint32_t depth = 16, rowsOfWarp = 16, warpsOfGroup = 4;

[[noreturn]] void refuse(const std::string &what) {
  throw Fault(Fault::LaunchFailed, what);
}

/// A matrix in shared memory (PTX ISA, "Matrix Descriptor"), of rows of the
/// result, or columns, by 16 numbers of the inner dimension.
struct Matrix {
  uint64_t begin, leading, stride;
  /// Whether the inner dimension is innermost in memory.
  bool isDeep;

  Matrix(uint64_t descriptor, bool isDeep) : isDeep(isDeep) {
    constexpr uint64_t mask = 0x3FFF, swizzled128 = 1;
    begin = (descriptor & mask) << 4;
    leading = (descriptor >> 16 & mask) << 4;
    stride = (descriptor >> 32 & mask) << 4;
    if (descriptor >> 62 != swizzled128)
      refuse("a matrix descriptor with a swizzle that is not known here");
    if ((descriptor >> 49 & 7) != 0 || (begin >> 7 & 7) != 0)
      refuse("a matrix that does not begin where the swizzle repeats");
  }

  /// Where an element is.
  uint64_t find(uint32_t line, uint32_t k) const {
    constexpr uint32_t elementBytes = 2, row = 128, inRow = 64;
    uint64_t place = isDeep ? begin + line / 8 * stride + line % 8 * row +
                                  uint64_t(k) * elementBytes
                            : begin + line / inRow * leading +
                                  line % inRow * elementBytes + k / 8 * stride +
                                  k % 8 * row;
    return swizzle128(place);
  }

  /// Adds the units of 16 bytes that lines [from, to) are in.
  void addUnits(uint32_t from, uint32_t to, AsyncMemory::Units &units) const {
    uint32_t lineStep = isDeep ? 1 : 8, depthStep = isDeep ? 8 : 1;
    for (uint32_t line = from; line < to; line += lineStep)
      for (uint32_t k = 0; k < depth; k += depthStep)
        units.push_back(
            static_cast<uint32_t>(find(line, k) / AsyncMemory::unitBytes));
  }
};

float toFloat(uint16_t bits, bool isBfloat) {
  return isBfloat ? std::bit_cast<float>(uint32_t(bits) << 16)
                  : _cvtsh_ss(bits);
}
} // namespace

void Products::start() {
  states.assign(warps, State());
  for (State &state : states) {
    state.written.assign(registerBytes / 64 + 1, 0);
    state.isBusy.assign(registerBytes / 64 + 1, 0);
  }
}

void Products::finish() const {
  for (const State &state : states) {
    if (!state.products.empty())
      refuse("a warp ends before its products have");
    size_t first = (&state - states.data()) / warpsOfGroup * warpsOfGroup;
    if (state.history != states[first].history)
      refuse("the warps of a warpgroup compute different products");
  }
}

void Products::check(uint32_t warp, const Instruction &instruction) const {
  const State &state = states[warp];
  if (state.products.empty())
    return;
  auto isBusy = [&](const Operand &operand) {
    return !operand.isConstant && state.isBusy[number(operand)];
  };
  bool uses = isBusy(instruction.base) && instruction.baseBytes != 0;
  for (int i = 0; i < maxValues; ++i)
    uses |= isBusy(instruction.to[i]) || isBusy(instruction.from[i]);
  if (uses)
    refuse("uses a register of a product before wgmma.wait_group");
}

void Products::note(uint32_t warp, const Instruction &instruction) {
  State &state = states[warp];
  ++state.time;
  for (const Operand &to : instruction.to)
    state.written[number(to)] = state.time;
}

void Products::fence(uint32_t warp) { states[warp].fenced = states[warp].time; }

void Products::issue(const Warp &warp, const AsyncCall &call, uint64_t lhs,
                     uint64_t rhs, bool accumulates) {
  uint32_t index = warp.firstThread / lanes;
  State &state = states[index];
  for (const Operand &sum : call.sums) {
    uint32_t place = number(sum);
    // Products into the same registers follow each other.
    if (!state.isBusy[place] && state.written[place] > state.fenced)
      refuse("no wgmma.fence is between the product and what wrote its "
             "registers before");
  }
  Product product = {&call, lhs, rhs, accumulates, /*group=*/0, /*units=*/{}};
  Matrix a(lhs, !call.transposesLhs), b(rhs, !call.transposesRhs);
  uint32_t first = index % warpsOfGroup * rowsOfWarp;
  a.addUnits(first, first + rowsOfWarp, product.units);
  b.addUnits(0, call.columns, product.units);
  memory.beginReads(index, product.units);
  for (const Operand &sum : call.sums)
    state.isBusy[number(sum)] = 1;
  state.history.push_back({reinterpret_cast<uintptr_t>(&call), lhs, rhs});
  state.products.push_back(std::move(product));
}

void Products::commit(uint32_t warp) {
  State &state = states[warp];
  ++state.groups;
  for (Product &product : state.products)
    if (product.group == 0)
      product.group = state.groups;
}

void Products::wait(const Warp &warp, int64_t pending) {
  uint32_t index = warp.firstThread / lanes;
  State &state = states[index];
  size_t done = 0;
  for (const Product &product : state.products) {
    if (product.group == 0 ||
        static_cast<int64_t>(state.groups - product.group) < pending)
      break;
    compute(warp, product);
    memory.endReads(index, product.units);
    ++done;
  }
  state.products.erase(state.products.begin(),
                       state.products.begin() + static_cast<ptrdiff_t>(done));
  std::fill(state.isBusy.begin(), state.isBusy.end(), 0);
  for (const Product &product : state.products)
    for (const Operand &sum : product.call->sums)
      state.isBusy[number(sum)] = 1;
}

/// Lane 4 r + c has, of each 8 columns, numbers 2 c and 2 c + 1 of the rows r
/// and r + 8 of the warp.
void Products::compute(const Warp &warp, const Product &product) const {
  const AsyncCall &call = *product.call;
  Matrix a(product.lhs, !call.transposesLhs),
      b(product.rhs, !call.transposesRhs);
  uint32_t columns = call.columns;
  constexpr uint32_t most = 256;
  static thread_local float sums[rowsOfWarp][most], rhs[depth][most];
  float lhs[rowsOfWarp][depth];
  const uint8_t *shared = memory.getShared();
  auto get = [&](uint64_t place) {
    uint16_t bits = 0;
    std::memcpy(&bits, shared + place, sizeof(bits));
    return toFloat(bits, call.isBfloat);
  };
  uint32_t first = warp.firstThread / lanes % warpsOfGroup * rowsOfWarp;
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t row = 0; row < rowsOfWarp; ++row)
      lhs[row][k] = get(a.find(first + row, k));
    for (uint32_t column = 0; column < columns; ++column)
      rhs[k][column] = get(b.find(column, k));
  }
  auto forEach = [&](auto visit) {
    for (uint32_t i = 0; i < call.sums.size(); ++i) {
      float *values = warp.write<float>(call.sums[i]);
      for (uint32_t lane = 0; lane < lanes; ++lane)
        visit(values[lane],
              sums[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2]);
    }
  };
  forEach(
      [&](float &value, float &sum) { sum = product.accumulates ? value : 0; });
  for (uint32_t row = 0; row < rowsOfWarp; ++row)
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t column = 0; column < columns; ++column)
        sums[row][column] =
            std::fma(lhs[row][k], rhs[k][column], sums[row][column]);
  forEach([](float &value, float &sum) { value = sum; });
}
