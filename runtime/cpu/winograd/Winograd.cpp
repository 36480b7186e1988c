// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/winograd/Winograd.h"

#include "runtime/core/machine/Features.h"
#include "runtime/cpu/plan/ConvolutionAlgorithms.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/winograd/WinogradKernels.h"

#include <algorithm>
#include <numeric>

using namespace ingot::runtime;
using namespace ingot::runtime::winograd;
using ingot::abi::alignTo;
using ingot::abi::divideCeil;

namespace {

const Kernels &getKernels() {
  static const Kernels &kernels = INGOT_CHOOSE_KERNELS();
  return kernels;
}

Elements getElements(const void *data, const ingot_conv_desc &desc) {
  return {static_cast<char *>(const_cast<void *>(data)), desc.type};
}

/// An image [batch, height, width, channels], divided into tiles whose outputs
/// do not overlap.
struct Image {
  int64_t height, width, channels;

  /// The tile of `size` pixels whose first is (y, x), which may lie outside.
  Tile getTile(Elements data, int64_t image, int64_t y, int64_t x,
               int64_t size) const {
    Tile tile;
    tile.rowStride = width * channels;
    tile.columnStride = channels;
    tile.first = data + ((image * height + y) * width + x) * channels;
    tile.firstRow = std::max<int64_t>(0, -y);
    tile.lastRow = std::min(size, height - y);
    tile.firstColumn = std::max<int64_t>(0, -x);
    tile.lastColumn = std::min(size, width - x);
    return tile;
  }
};

/// The convolution to compute: the forward pass, or the gradient of the input
/// as the convolution of the output's gradient with the rotated filter.
struct Problem {
  Image in, out;
  int64_t batch, padTop, padLeft;
  int64_t tileRows, tileColumns, tiles;
  /// Elements of the filter from an output channel to the next, and from an
  /// input channel to the next.
  int64_t filterOut, filterIn;
  bool flipped = false;

  static Problem forward(const ingot_conv_desc &d) {
    constexpr int64_t taps = kTaps * kTaps;
    Problem p;
    p.in = {d.in[0], d.in[1], d.in_channels};
    p.out = {d.out[0], d.out[1], d.out_channels};
    p.batch = d.batch;
    p.padTop = d.pad_low[0];
    p.padLeft = d.pad_low[1];
    p.filterOut = d.in_channels * taps;
    p.filterIn = taps;
    p.countTiles();
    return p;
  }
  static Problem inputGrad(const ingot_conv_desc &d) {
    Problem p = forward(d);
    std::swap(p.in, p.out);
    std::swap(p.filterOut, p.filterIn);
    p.padTop = kTaps - 1 - p.padTop;
    p.padLeft = kTaps - 1 - p.padLeft;
    p.flipped = true;
    p.countTiles();
    return p;
  }
  void countTiles() {
    tileRows = divideCeil(out.height, kOut);
    tileColumns = divideCeil(out.width, kOut);
    tiles = batch * tileRows * tileColumns;
  }

  Tile getIn(Elements data, int64_t tile) const {
    return in.getTile(data, image(tile), y(tile) - padTop, x(tile) - padLeft,
                      kIn);
  }
  Tile getOut(Elements data, int64_t tile) const {
    return out.getTile(data, image(tile), y(tile), x(tile), kOut);
  }

  int64_t image(int64_t tile) const { return tile / (tileRows * tileColumns); }
  int64_t y(int64_t tile) const { return tile / tileColumns % tileRows * kOut; }
  int64_t x(int64_t tile) const { return tile % tileColumns * kOut; }
};

Blocking getBlocking(const Problem &p, bool isFilterGrad,
                     int64_t threads = getThreadCount()) {
  return {p.tiles, p.in.channels, p.out.channels, threads, isFilterGrad};
}

/// Into how many parts the tiles, or the input channels, of a panel of filters
/// are split, where there are fewer panels than threads can share evenly, in
/// more tasks than threads.
int64_t countSplits(const Blocking &b) {
  if (!b.isShared)
    return 1;
  // With one block, each task transforms the filters of its panel.
  int64_t tasks = b.isOneBlock ? b.threads : kRangesPerThread * b.threads;
  return tasks / std::gcd(tasks, b.panels);
}

void transformFilters(const Problem &p, Elements filter, int64_t panel,
                      float *to) {
  for (int64_t half = 0; half < kColumns; half += kLanes) {
    int64_t o = panel * kColumns + half;
    if (o >= p.out.channels)
      return;
    for (int64_t c = 0; c < p.in.channels; ++c)
      getKernels().transformFilter(
          filter + (o * p.filterOut + c * p.filterIn), p.filterOut, p.flipped,
          to + c * kColumns + half, p.in.channels * kColumns);
  }
}

/// The forward pass, or the gradient of the input.
struct DataPass {
  const Problem &p;
  Blocking b;
  Elements input, filter, output;
  float *scratch;

  void run() const;

private:
  /// Computes `count` tiles from number `first` on, as block number `slot` of
  /// those that are computed at the same time.
  void computeBlock(int64_t slot, int64_t first, int64_t count) const;
  void transformTile(int64_t tile, float *to) const;
  /// Computes the tiles [from, to) of a block for a panel of filters.
  void multiplyPanel(int64_t panel, int64_t first, int64_t from, int64_t to,
                     const float *inTiles, const float *filters,
                     float *products) const;
};

void DataPass::transformTile(int64_t tile, float *to) const {
  Tile from = p.getIn(input, tile);
  for (int64_t c = 0; c < p.in.channels; c += kLanes) {
    getKernels().transformInput(from, to, b.inPoint);
    from.first = from.first + kLanes;
    to += kRows * kLanes;
  }
}

void DataPass::multiplyPanel(int64_t panel, int64_t first, int64_t from,
                             int64_t to, const float *inTiles,
                             const float *filters, float *products) const {
  for (int64_t point = 0; point < kPoints; ++point)
    for (int64_t t = from; t < to; t += kRows)
      getKernels().multiply(std::min(kRows, to - t), p.in.channels,
                            inTiles + point * b.inPoint + t * p.in.channels,
                            filters + point * p.in.channels * kColumns,
                            products + point * b.outPoint + t * kColumns);
  int64_t channels = std::min(kColumns, p.out.channels - panel * kColumns);
  for (int64_t t = from; t < to; ++t) {
    Tile tile = p.getOut(output, first + t);
    tile.first = tile.first + panel * kColumns;
    for (int64_t c = 0; c < channels; c += kLanes) {
      getKernels().transformOutput(products + t * kColumns + c, b.outPoint,
                                   tile);
      tile.first = tile.first + kLanes;
    }
  }
}

void DataPass::computeBlock(int64_t slot, int64_t first, int64_t count) const {
  float *inTiles = scratch + b.getInOffset(slot);
  parallelFor(count, 1, [&](int64_t begin, int64_t end) {
    // As `multiply` wants it: [rows][channels / 16][kRows][16].
    for (int64_t t = begin; t < end; ++t)
      transformTile(first + t, inTiles + t / kRows * kRows * p.in.channels +
                                   t % kRows * kLanes);
  });
  int64_t splits = countSplits(b);
  int64_t groups = divideCeil(count, kRows), tasks = b.panels * splits;
  parallelTasks(
      tasks, 1, tasks, [&](int64_t thread, int64_t begin, int64_t end) {
        float *products =
            scratch + b.getOthersOffset(b.isShared ? thread : slot);
        for (int64_t task = begin; task < end; ++task) {
          int64_t panel = task / splits, split = task % splits;
          float *filters =
              scratch + (b.isOneBlock ? thread : panel) * b.filterPanel;
          if (b.isOneBlock)
            transformFilters(p, filter, panel, filters);
          multiplyPanel(panel, first, groups * split / splits * kRows,
                        std::min(count, groups * (split + 1) / splits * kRows),
                        inTiles, filters, products);
        }
      });
}

void DataPass::run() const {
  if (!b.isOneBlock)
    parallelFor(b.panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel)
        transformFilters(p, filter, panel, scratch + panel * b.filterPanel);
    });
  if (b.isShared) {
    for (int64_t first = 0; first < p.tiles; first += b.block)
      computeBlock(0, first, std::min(b.block, p.tiles - first));
    return;
  }
  // As many for each thread.
  int64_t blocks = alignTo(divideCeil(p.tiles, b.block), b.threads);
  int64_t size = alignTo(divideCeil(p.tiles, blocks), kRows);
  blocks = divideCeil(p.tiles, size);
  parallelTasks(
      blocks, 1, blocks, [&](int64_t thread, int64_t begin, int64_t end) {
        for (int64_t first = begin * size;
             first < std::min(end * size, p.tiles); first += size)
          computeBlock(thread, first, std::min(size, p.tiles - first));
      });
}

/// The gradient of the filter.
struct FilterGradPass {
  const Problem &p;
  Blocking b;
  Elements input, outputGrad, filterGrad;
  float *scratch;

  void run() const;

private:
  /// Sums a part of the tiles, as number `slot` of those that are computed at
  /// the same time.
  void sumPart(int64_t slot, int64_t part) const;
  void transformTile(int64_t tile, float *inTile, float *outTile) const;
  /// Multiplies `count` tiles at a point: the gradients of a panel's filters,
  /// of the input channels [from, to).
  void multiplyPoint(int64_t point, int64_t panel, int64_t from, int64_t to,
                     int64_t count, const float *inTiles, const float *outTiles,
                     float *filters, bool adds) const;
  /// Transforms the input channels [from, to) of a panel back.
  void transformPanel(int64_t panel, int64_t from, int64_t to,
                      const float *filters) const;
};

void FilterGradPass::transformTile(int64_t number, float *inTile,
                                   float *outTile) const {
  Tile tile = p.getIn(input, number);
  for (int64_t c = 0; c < p.in.channels; c += kLanes) {
    getKernels().transformInput(tile, inTile + c, b.inPoint);
    tile.first = tile.first + kLanes;
  }
  tile = p.getOut(outputGrad, number);
  for (int64_t o = 0; o < p.out.channels; o += kLanes) {
    getKernels().transformOutputGrad(
        tile, outTile + o / kColumns * kPoints * b.outPoint + o % kColumns,
        b.outPoint);
    tile.first = tile.first + kLanes;
  }
}

void FilterGradPass::transformPanel(int64_t panel, int64_t from, int64_t to,
                                    const float *filters) const {
  for (int64_t half = 0; half < kColumns; half += kLanes) {
    int64_t o = panel * kColumns + half;
    if (o >= p.out.channels)
      return;
    for (int64_t c = from; c < to; ++c)
      getKernels().transformFilterGrad(
          filters + c * kColumns + half, p.in.channels * kColumns,
          filterGrad + (o * p.filterOut + c * p.filterIn), p.filterOut);
  }
}

void FilterGradPass::multiplyPoint(int64_t point, int64_t panel, int64_t from,
                                   int64_t to, int64_t count,
                                   const float *inTiles, const float *outTiles,
                                   float *filters, bool adds) const {
  for (int64_t c = from; c < to; c += kRows)
    getKernels().multiplyTransposed(
        std::min(kRows, to - c), count, inTiles + point * b.inPoint + c,
        p.in.channels, outTiles + (panel * kPoints + point) * b.outPoint,
        filters + (point * p.in.channels + c) * kColumns, adds);
}

void FilterGradPass::sumPart(int64_t slot, int64_t part) const {
  float *inTiles = scratch + b.getInOffset(slot);
  float *outTiles = scratch + b.getOthersOffset(slot);
  float *sums = scratch + part * b.panels * b.filterPanel;
  int64_t begin = p.tiles * part / b.parts;
  int64_t end = p.tiles * (part + 1) / b.parts;
  int64_t splits = countSplits(b), tasks = b.panels * splits;
  int64_t groups = divideCeil(p.in.channels, kRows);
  // Blocks are equal.
  int64_t size = divideCeil(end - begin, divideCeil(end - begin, b.block));
  for (int64_t first = begin; first < end; first += size) {
    int64_t count = std::min(size, end - first);
    parallelFor(count, 1, [&](int64_t from, int64_t to) {
      for (int64_t t = from; t < to; ++t)
        transformTile(first + t, inTiles + t * p.in.channels,
                      outTiles + t * kColumns);
    });
    if (!b.isShared && !b.isOneBlock) {
      // Point by point, since what a thread has of all of them is larger than
      // its cache.
      for (int64_t point = 0; point < kPoints; ++point)
        for (int64_t panel = 0; panel < b.panels; ++panel)
          multiplyPoint(point, panel, 0, p.in.channels, count, inTiles,
                        outTiles, sums + panel * b.filterPanel, first != begin);
      continue;
    }
    // A task is a panel of filters and part of the input channels.
    parallelTasks(tasks, 1, tasks,
                  [&](int64_t thread, int64_t firstTask, int64_t lastTask) {
                    for (int64_t task = firstTask; task < lastTask; ++task) {
                      int64_t panel = task / splits, split = task % splits;
                      int64_t from = groups * split / splits * kRows;
                      int64_t to = std::min(
                          p.in.channels, groups * (split + 1) / splits * kRows);
                      float *filters = sums + (b.isOneBlock ? thread : panel) *
                                                  b.filterPanel;
                      for (int64_t point = 0; point < kPoints; ++point)
                        multiplyPoint(point, panel, from, to, count, inTiles,
                                      outTiles, filters, first != begin);
                      if (b.isOneBlock)
                        transformPanel(panel, from, to, filters);
                    }
                  });
  }
}

void FilterGradPass::run() const {
  auto sumParts = [&](int64_t thread, int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      sumPart(thread, part);
  };
  if (b.isShared)
    sumParts(0, 0, b.parts);
  else
    parallelTasks(b.parts, 1, b.parts, sumParts);
  if (b.isOneBlock)
    return;
  int64_t sums = b.panels * b.filterPanel;
  if (b.parts > 1)
    parallelFor(sums, 1 << 12, [&](int64_t begin, int64_t end) {
      for (int64_t part = 1; part < b.parts; ++part)
        for (int64_t i = begin; i < end; ++i)
          scratch[i] += scratch[part * sums + i];
    });
  parallelFor(b.panels * p.in.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t panel = i / p.in.channels, channel = i % p.in.channels;
      transformPanel(panel, channel, channel + 1,
                     scratch + panel * b.filterPanel);
    }
  });
}

} // namespace

size_t ingot::runtime::getWinogradScratchBytes(const ingot_conv_desc &d,
                                               int64_t threads) {
  int64_t floats = getBlocking(Problem::forward(d), true, threads).size;
  for (const Problem &p : {Problem::forward(d), Problem::inputGrad(d)})
    floats = std::max(floats, getBlocking(p, false, threads).size);
  return floats * sizeof(float);
}

/// Computes the forward pass, or the gradient of the input.
static void convolve(const Problem &p, const ingot_conv_desc &desc,
                     const void *input, const void *filter, void *output,
                     char *scratch) {
  DataPass{p,
           getBlocking(p, /*isFilterGrad=*/false),
           getElements(input, desc),
           getElements(filter, desc),
           getElements(output, desc),
           reinterpret_cast<float *>(scratch)}
      .run();
}

void ingot::runtime::convolveWinograd(const ingot_conv_desc &desc,
                                      const void *input, const void *filter,
                                      void *output, char *scratch) {
  convolve(Problem::forward(desc), desc, input, filter, output, scratch);
}

void ingot::runtime::convolveInputGradWinograd(const ingot_conv_desc &desc,
                                               const void *outputGrad,
                                               const void *filter,
                                               void *inputGrad, char *scratch) {
  convolve(Problem::inputGrad(desc), desc, outputGrad, filter, inputGrad,
           scratch);
}

void ingot::runtime::convolveFilterGradWinograd(const ingot_conv_desc &desc,
                                                const void *outputGrad,
                                                const void *input,
                                                void *filterGrad,
                                                char *scratch) {
  Problem p = Problem::forward(desc);
  FilterGradPass{p,
                 getBlocking(p, /*isFilterGrad=*/true),
                 getElements(input, desc),
                 getElements(outputGrad, desc),
                 getElements(filterGrad, desc),
                 reinterpret_cast<float *>(scratch)}
      .run();
}
