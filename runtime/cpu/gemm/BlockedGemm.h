// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A panel of a times a block of b: what the schedules of a GEMM share.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_BLOCKEDGEMM_H
#define INGOT_RUNTIME_CPU_GEMM_BLOCKEDGEMM_H

#include "runtime/abi/Align.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/gemm/kernels/GemmKernels.h"

#include <algorithm>
#include <cstdint>

namespace ingot::runtime::gemm {

/// Prefetches a part of a matrix a few cache lines at a time, while the units
/// that multiply are busy.
class Prefetch {
public:
  Prefetch() = default;
  /// Prefetches `rows` of `rowBytes`, all of them within `calls` calls. Rows
  /// begin anywhere in a cache line, as the first one does.
  Prefetch(const void *data, int64_t rows, int64_t rowBytes, int64_t stride,
           int64_t calls)
      : rows(rows), stride(stride) {
    int64_t skipped = reinterpret_cast<intptr_t>(data) % kLineBytes;
    row = static_cast<const char *>(data) - skipped;
    lines = abi::divideCeil(skipped + rowBytes, kLineBytes);
    each = abi::divideCeil(rows * lines, calls);
  }

  void prefetchForRead() {
    advance([](const char *at) { __builtin_prefetch(at, 0, 2); });
  }
  void prefetchForWrite() {
    advance([](const char *at) { __builtin_prefetch(at, 1, 2); });
  }

private:
  static constexpr int64_t kLineBytes = 64;

  template <typename Fetch> void advance(Fetch fetch) {
    for (int64_t i = 0; i < each && rows > 0; ++i) {
      fetch(row + line * kLineBytes);
      if (++line < lines)
        continue;
      line = 0;
      row += stride;
      --rows;
    }
  }

  const char *row = nullptr;
  int64_t rows = 0, lines = 0, stride = 0, each = 0, line = 0;
};

/// Packs a panel of an operand between the tiles that are multiplied before it
/// is needed, so that memory and arithmetic units are busy at once. A part is
/// prefetched during one tile and packed before the next one: what all tiles of
/// a panel prefetch would not stay in the cache, where columns are far apart.
/// Kernels whose panels have no parts have all of it prefetched.
class PanelPacker {
public:
  /// The panel to be packed, of a or of b: `lines` x `size` elements.
  struct Panel {
    bool isOfA;
    Elements from;
    int64_t lineStride, innerStride, lines, size;
  };

  PanelPacker() = default;
  /// Packs a panel to `to`. All but the last part of it is packed within
  /// `calls` calls.
  PanelPacker(const Kernels &kernels, const Panel &panel, char *to,
              int64_t calls);

  /// Packs a part, and returns what the next tile prefetches of the next part.
  const Fetches &advance() {
    if (part != 0)
      advancePart();
    else
      all.prefetchForRead();
    return fetches;
  }
  /// Packs what is left. Returns whether there was a panel.
  bool finish();

private:
  Fetches getFetches(int64_t first, int64_t size) const;
  void packUntil(int64_t end);
  void advancePart();

  const Kernels *kernels = nullptr;
  Panel panel = {};
  char *to = nullptr;
  /// For kernels whose panels have no parts.
  Prefetch all;
  Fetches fetches;
  bool packsParts = false;
  int64_t part = 0, packed = 0, fetched = 0;
};

/// The blocking of a GEMM, and what its schedules share.
struct BlockedGemm {
  BlockedGemm(const Gemm &g, const Kernels &kernels)
      : g(g), kernels(kernels),
        inner(g.onTiles ? std::min(g.k, kernels.inner) : kernels.getInner(g.k)),
        columns(kernels.columns) {}

  /// Whether sums are complete after one panel and one block.
  bool isWhole() const { return inner == g.k; }
  bool rounds() const { return g.roundedType != INGOT_F32; }
  /// Bytes of a thread's sums that are rounded before they go to memory.
  int64_t getSumsBytes() const {
    return rounds() ? kernels.tileRows * columns *
                          static_cast<int64_t>(sizeof(float))
                    : 0;
  }
  int64_t getPanelBytes() const {
    return kernels.tileRows * kernels.getLineBytes(inner);
  }
  int64_t getBlockBytes() const {
    return columns * kernels.getLineBytes(inner);
  }
  int64_t countCalls(int64_t size, int64_t count) const {
    return abi::divideCeil(size, getDepth(size)) *
           abi::divideCeil(count, kernels.tileColumns);
  }

  void packPanel(int64_t batch, int64_t row, int64_t start, char *a) const {
    kernels.packA(g.a + batch * g.aBatch + row * g.aRow + start * g.aInner,
                  g.aRow, g.aInner, std::min(kernels.tileRows, g.m - row),
                  std::min(inner, g.k - start), a);
  }
  /// Packs what packPanel would, within `calls` calls.
  PanelPacker getPacker(int64_t row, int64_t start, char *a,
                        int64_t calls) const;

  /// Multiplies a packed panel by `count` columns of a packed block, for
  /// elements from `start` on of the inner dimension; rounds complete sums and
  /// applies the epilogue to them. `next` advances before every tile.
  void multiply(int64_t batch, int64_t row, int64_t column, int64_t count,
                int64_t start, const char *a, const char *b, float *sums,
                PanelPacker &next) const;

  const Gemm &g;
  const Kernels &kernels;
  /// The extents of a block of b.
  int64_t inner, columns;

private:
  /// The inner extent of the part of a panel that stays in the L1 cache.
  int64_t getDepth(int64_t size) const {
    return kernels.isChain ? kernels.depth : size;
  }
};

} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_BLOCKEDGEMM_H
