// SPDX-License-Identifier: Apache-2.0

#include "test/runtime/cpu/tiles/TileEmulator.h"

#include "runtime/core/machine/Features.h"
#include "runtime/cpu/vectors/TileUnits.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace ingot::runtime;

// Kernels also use vector instructions that all CPUs with tile units have.
bool ingot::runtime::hasTileUnits() {
  static const bool has = getCpuLevel() >= ingot::abi::CpuLevel::V4 &&
                          findMissingFeatures({"avx512bf16"}).empty();
  return has;
}

namespace {

constexpr int kTiles = 8, kMostRows = 16, kMostBytes = 64,
              kColumns = kMostBytes / 4;

struct Register {
  int rows = 0, bytes = 0;
  std::array<std::array<uint8_t, kMostBytes>, kMostRows> data = {};

  template <typename Element> Element get(int row, int at) const {
    Element element;
    std::memcpy(&element, data[row].data() + at * sizeof(Element),
                sizeof(Element));
    return element;
  }
  void set(int row, int at, float value) {
    std::memcpy(data[row].data() + at * sizeof(float), &value, sizeof(float));
  }
};

/// The operand of LDTILECFG.
struct Config {
  uint8_t palette, startRow, reserved[14];
  uint16_t rowBytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(Config) == 64);

thread_local bool isConfigured = false;
thread_local std::array<Register, kTiles> registers;
std::atomic<int64_t> products = 0;

void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "error: tile units: %s\n", what);
  std::abort();
}

Register &getTile(int tile) {
  require(isConfigured, "there is no configuration");
  require(tile >= 0 && tile < kTiles, "there is no such register");
  require(registers[tile].rows > 0, "the register has no rows");
  return registers[tile];
}

float widen(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// While it lives, numbers below 2^-126 count as zero, as operands and as
/// results.
class FlushSubnormals {
public:
  FlushSubnormals() : before(_mm_getcsr()) {
    constexpr unsigned flushToZero = 1 << 15, denormalsAreZero = 1 << 6;
    _mm_setcsr(before | flushToZero | denormalsAreZero);
  }
  ~FlushSubnormals() { _mm_setcsr(before); }
  FlushSubnormals(const FlushSubnormals &) = delete;
  FlushSubnormals &operator=(const FlushSubnormals &) = delete;

private:
  unsigned before;
};

/// Adds the products of pairs of a row of `a` and of the columns of `b`. Each
/// of the two elements of pairs has a sum of its own.
__attribute__((target_clones("avx512f", "default"))) void
multiplyRow(const float *a, const float (&b)[kMostRows][2][kColumns], int pairs,
            float *c) {
  float sums[2][kColumns] = {};
  for (int pair = 0; pair < pairs; ++pair)
    for (int i = 0; i < 2; ++i)
      for (int column = 0; column < kColumns; ++column)
        sums[i][column] = __builtin_fmaf(a[2 * pair + i], b[pair][i][column],
                                         sums[i][column]);
  for (int column = 0; column < kColumns; ++column)
    c[column] += sums[0][column] + sums[1][column];
}

} // namespace

int64_t tests::countTileProducts() { return products; }

void tests::loadConfig(const void *from) {
  Config config;
  std::memcpy(&config, from, sizeof(config));
  require(config.palette == 1 && config.startRow == 0,
          "the configuration is not of palette 1");
  for (uint8_t byte : config.reserved)
    require(byte == 0, "reserved bytes of the configuration are not zero");
  for (int i = 0; i < 16; ++i) {
    bool isEmpty = config.rows[i] == 0 && config.rowBytes[i] == 0;
    bool isFull = config.rows[i] != 0 && config.rowBytes[i] != 0;
    require(isEmpty || isFull, "a register has rows or columns only");
    require(i < kTiles || isEmpty, "there are eight registers");
    require(config.rows[i] <= kMostRows && config.rowBytes[i] <= kMostBytes,
            "a register is too large");
  }
  for (int i = 0; i < kTiles; ++i) {
    registers[i] = {};
    registers[i].rows = config.rows[i];
    registers[i].bytes = config.rowBytes[i];
  }
  isConfigured = true;
}

void tests::releaseTiles() { isConfigured = false; }

void tests::zeroTile(int tile) { getTile(tile).data = {}; }

void tests::loadTile(int tile, const void *from, int64_t stride) {
  Register &to = getTile(tile);
  to.data = {};
  for (int row = 0; row < to.rows; ++row)
    std::memcpy(to.data[row].data(),
                static_cast<const char *>(from) + row * stride, to.bytes);
}

void tests::storeTile(int tile, void *to, int64_t stride) {
  const Register &from = getTile(tile);
  for (int row = 0; row < from.rows; ++row)
    std::memcpy(static_cast<char *>(to) + row * stride, from.data[row].data(),
                from.bytes);
}

void tests::multiplyTiles(int first, int second, int third) {
  Register &c = getTile(first);
  const Register &a = getTile(second), &b = getTile(third);
  require(first != second && first != third && second != third,
          "operands share a register");
  require(c.rows == a.rows, "sums and the left operand differ in rows");
  require(c.bytes == b.bytes, "sums and the right operand differ in columns");
  require(a.bytes == 4 * b.rows, "operands differ in the inner dimension");
  require(a.bytes % 4 == 0 && b.bytes % 4 == 0, "half a pair");
  FlushSubnormals flush;
  float right[kMostRows][2][kColumns] = {};
  for (int pair = 0; pair < b.rows; ++pair)
    for (int i = 0; i < 2; ++i)
      for (int column = 0; column < b.bytes / 4; ++column)
        right[pair][i][column] = widen(b.get<uint16_t>(pair, 2 * column + i));
  for (int row = 0; row < c.rows; ++row) {
    float left[2 * kMostRows], sums[kColumns];
    for (int i = 0; i < 2 * b.rows; ++i)
      left[i] = widen(a.get<uint16_t>(row, i));
    for (int column = 0; column < kColumns; ++column)
      sums[column] = c.get<float>(row, column);
    multiplyRow(left, right, b.rows, sums);
    for (int column = 0; column < c.bytes / 4; ++column)
      c.set(row, column, sums[column]);
  }
  ++products;
}
