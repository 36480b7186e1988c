// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/winograd/Winograd.h"

#include "runtime/abi/ConvolutionScratch.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/winograd/WinogradKernels.h"

#include <algorithm>
#include <numeric>

using namespace ingot::runtime;
using namespace ingot::runtime::winograd;
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

Blocking getBlocking(const Problem &p, int64_t threads = getThreadCount()) {
  return {p.tiles, p.in.channels, p.out.channels, threads};
}

/// Into how many parts the tiles, or the input channels, of a panel of filters
/// are split, where there are fewer panels than threads can share evenly, in
/// more tasks than threads.
int64_t countSplits(const Blocking &b) {
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

/// Computes the forward pass, or the gradient of the input.
void convolve(const Problem &p, Elements input, Elements filter,
              Elements output, char *base) {
  Blocking b = getBlocking(p);
  int64_t splits = countSplits(b);
  auto *inTiles = reinterpret_cast<float *>(base);
  float *allFilters = inTiles + b.getFiltersOffset();
  float *allProducts = inTiles + b.getProductsOffset();
  if (!b.isOneBlock)
    parallelFor(b.panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel)
        transformFilters(p, filter, panel, allFilters + panel * b.filterPanel);
    });
  for (int64_t first = 0; first < p.tiles; first += b.block) {
    int64_t count = std::min(b.block, p.tiles - first);
    parallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        Tile tile = p.getIn(input, first + t);
        // As `multiply` wants it: [rows][channels / 16][kRows][16].
        float *to =
            inTiles + t / kRows * kRows * p.in.channels + t % kRows * kLanes;
        for (int64_t c = 0; c < p.in.channels; c += kLanes) {
          getKernels().transformInput(tile, to, b.inPoint);
          tile.first = tile.first + kLanes;
          to += kRows * kLanes;
        }
      }
    });
    int64_t groups = divideCeil(count, kRows), tasks = b.panels * splits;
    parallelTasks(
        tasks, 1, tasks, [&](int64_t thread, int64_t begin, int64_t end) {
          float *products = allProducts + thread * kPoints * b.outPoint;
          for (int64_t task = begin; task < end; ++task) {
            int64_t panel = task / splits, split = task % splits;
            int64_t from = groups * split / splits * kRows;
            int64_t to = std::min(count, groups * (split + 1) / splits * kRows);
            float *filters =
                allFilters + (b.isOneBlock ? thread : panel) * b.filterPanel;
            if (b.isOneBlock)
              transformFilters(p, filter, panel, filters);
            for (int64_t point = 0; point < kPoints; ++point)
              for (int64_t t = from; t < to; t += kRows)
                getKernels().multiply(
                    std::min(kRows, to - t), p.in.channels,
                    inTiles + point * b.inPoint + t * p.in.channels,
                    filters + point * p.in.channels * kColumns,
                    products + point * b.outPoint + t * kColumns);
            for (int64_t t = from; t < to; ++t) {
              Tile tile = p.getOut(output, first + t);
              tile.first = tile.first + panel * kColumns;
              int64_t channels =
                  std::min(kColumns, p.out.channels - panel * kColumns);
              for (int64_t c = 0; c < channels; c += kLanes) {
                getKernels().transformOutput(products + t * kColumns + c,
                                             b.outPoint, tile);
                tile.first = tile.first + kLanes;
              }
            }
          }
        });
  }
}

} // namespace

size_t ingot::runtime::getWinogradScratchBytes(const ingot_conv_desc &d,
                                               int64_t threads) {
  int64_t floats = 0;
  for (const Problem &p : {Problem::forward(d), Problem::inputGrad(d)}) {
    Blocking b = getBlocking(p, threads);
    floats = std::max({floats, b.getDataSize(), b.getFilterGradSize()});
  }
  return floats * sizeof(float);
}

void ingot::runtime::convolveWinograd(const ingot_conv_desc &desc,
                                      const void *input, const void *filter,
                                      void *output, char *scratch) {
  convolve(Problem::forward(desc), getElements(input, desc),
           getElements(filter, desc), getElements(output, desc), scratch);
}

void ingot::runtime::convolveInputGradWinograd(const ingot_conv_desc &desc,
                                               const void *outputGrad,
                                               const void *filter,
                                               void *inputGrad, char *scratch) {
  convolve(Problem::inputGrad(desc), getElements(outputGrad, desc),
           getElements(filter, desc), getElements(inputGrad, desc), scratch);
}

void ingot::runtime::convolveFilterGradWinograd(const ingot_conv_desc &desc,
                                                const void *outputGrad,
                                                const void *input,
                                                void *filterGrad, char *base) {
  Problem p = Problem::forward(desc);
  Elements inputs = getElements(input, desc);
  Elements grads = getElements(outputGrad, desc);
  Elements results = getElements(filterGrad, desc);
  Blocking b = getBlocking(p);
  int64_t splits = countSplits(b);
  auto *inTiles = reinterpret_cast<float *>(base);
  float *outTiles = inTiles + b.getOutOffset();
  float *allFilters = inTiles + b.getFilterGradOffset();
  for (int64_t first = 0; first < p.tiles; first += b.block) {
    int64_t count = std::min(b.block, p.tiles - first);
    bool isLast = first + count == p.tiles;
    parallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        Tile tile = p.getIn(inputs, first + t);
        for (int64_t c = 0; c < p.in.channels; c += kLanes) {
          getKernels().transformInput(tile, inTiles + t * p.in.channels + c,
                                      b.inPoint);
          tile.first = tile.first + kLanes;
        }
        tile = p.getOut(grads, first + t);
        for (int64_t o = 0; o < p.out.channels; o += kLanes) {
          getKernels().transformOutputGrad(
              tile,
              outTiles + o / kColumns * kPoints * b.outPoint + t * kColumns +
                  o % kColumns,
              b.outPoint);
          tile.first = tile.first + kLanes;
        }
      }
    });
    // A task is a panel of filters and part of the input channels.
    int64_t groups = divideCeil(p.in.channels, kRows);
    int64_t tasks = b.panels * splits;
    parallelTasks(
        tasks, 1, tasks, [&](int64_t thread, int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            int64_t panel = task / splits, split = task % splits;
            int64_t from = groups * split / splits * kRows;
            int64_t to =
                std::min(p.in.channels, groups * (split + 1) / splits * kRows);
            float *filters =
                allFilters + (b.isOneBlock ? thread : panel) * b.filterPanel;
            const float *out = outTiles + panel * kPoints * b.outPoint;
            for (int64_t point = 0; point < kPoints; ++point)
              for (int64_t c = from; c < to; c += kRows)
                getKernels().multiplyTransposed(
                    std::min(kRows, to - c), count,
                    inTiles + point * b.inPoint + c, p.in.channels,
                    out + point * b.outPoint,
                    filters + (point * p.in.channels + c) * kColumns,
                    first != 0);
            if (!isLast)
              continue;
            for (int64_t half = 0; half < kColumns; half += kLanes) {
              int64_t o = panel * kColumns + half;
              if (o >= p.out.channels)
                break;
              for (int64_t c = from; c < to; ++c)
                getKernels().transformFilterGrad(
                    filters + c * kColumns + half, p.in.channels * kColumns,
                    results + (o * p.filterOut + c * p.filterIn), p.filterOut);
            }
          }
        });
  }
}
