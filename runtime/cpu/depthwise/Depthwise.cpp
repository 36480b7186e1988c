// SPDX-License-Identifier: Apache-2.0

//===----------------------------------------------------------------------===//
//
// The forward pass, and the gradient of the input: sums of neighbouring pixels,
// for each phase of positions.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/depthwise/Depthwise.h"

#include "runtime/cpu/depthwise/DepthwiseFilterGrad.h"
#include "runtime/cpu/depthwise/DepthwiseRows.h"
#include "runtime/cpu/direct/Phases.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>
#include <atomic>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::depthwise;
using namespace ingot::runtime::direct;
using ingot::cpu::ConvKind;
using ingot::cpu::DepthwiseBlocking;
using ingot::cpu::kDepthwiseBlock;

namespace {

void combine(const depthwise::Kernels &kernels, const Line &line) {
  return line.inputs == 1 ? kernels.combine(line) : kernels.combineGroups(line);
}

/// Copies the filter to [tap][summed channel of a group][channel].
void packFilter(const ingot_conv_desc &d, const DepthwiseBlocking &blocking,
                bool isForward, const void *filter, float *to) {
  int64_t channels = d.in_channels, inputs = blocking.inputs;
  int64_t count = blocking.taps * inputs * channels;
  std::vector<float> wide(d.type == INGOT_F32 ? 0 : count);
  const auto *from = static_cast<const float *>(filter);
  if (d.type != INGOT_F32) {
    widenToF32(filter, d.type, wide.data(), count);
    from = wide.data();
  }
  parallelFor(blocking.taps * inputs, /*grain=*/8,
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  int64_t tap = row / inputs, other = row % inputs;
                  float *line = to + row * blocking.width;
                  for (int64_t channel = 0; channel < channels; ++channel) {
                    int64_t own = channel % inputs, first = channel - own;
                    line[channel] = from[getFilterIndex(
                        d, blocking, isForward ? channel : first + other,
                        isForward ? other : own, tap)];
                  }
                  std::fill(line + channels, line + blocking.width, 0.0f);
                }
              });
}

/// Where a line, and a pixel of it whose window reaches over an edge, find rows
/// and filters. A thread keeps one for all lines.
struct Sources {
  std::vector<const float *> rows, filters, edgeRows, edgeFilters;
};

/// Computes the pixels of a line whose windows reach over an edge, from the
/// taps that are inside. The sources are those of the first pixel whose window
/// does not. The line is that of the last such pixel afterwards.
void combineEdges(const Edges &edges, const Phase &phase, Sources &sources,
                  int64_t columns, Line &line) {
  float *row = line.to;
  int64_t channels = line.channels, taps = line.taps;
  auto perRow = static_cast<int64_t>(phase.taps.size()) / taps;
  line.pixels = line.step = 1;
  line.columnStep = channels;
  std::vector<const float *> &from = sources.edgeRows,
                             &filters = sources.edgeFilters;
  edges.forEach([&](int64_t p) {
    from.clear();
    filters.clear();
    line.taps = 1;
    for (size_t i = 0; i < sources.rows.size(); ++i) {
      int64_t shift = phase.taps[int64_t(i) % perRow * taps].shift;
      TapsInside inside(p * phase.step + shift, 1, taps, columns);
      if (inside.begin == inside.end)
        continue;
      // Where a row is one run, the same ones of every row.
      line.taps = inside.end - inside.begin;
      from.push_back(sources.rows[i] +
                     ((p - edges.begin) * phase.step + inside.begin) *
                         channels);
      filters.push_back(sources.filters[i] + inside.begin * line.filterStep);
    }
    line.rows = static_cast<int64_t>(from.size());
    line.from = from.data();
    line.filters = filters.data();
    line.to = row + p * line.toStep;
    combine(getKernels(channels), line);
  });
}

/// Computes the results of one phase of positions.
class Combination {
public:
  Combination(const DepthwiseBlocking &blocking, const Axes &axes,
              const Images &from, const Images &to, const Phase (&phases)[3],
              const float *filters);

  int64_t countRows(int axis) const { return phases[axis].count; }
  /// Whether rows are read where they are, so that nothing is kept of them.
  bool isInPlace() const { return reader.getRowSize() == 0; }
  /// Computes a row of results, if there is one of that number.
  void runRow(int64_t image, int64_t d, int64_t h, const Room &room,
              Sources &sources) const;

private:
  const DepthwiseBlocking &blocking;
  const Axes &axes;
  const Images &from, &to;
  Phase phases[3];
  const float *filters;
  int64_t channels;
  const depthwise::Kernels &kernels;
  Edges edges;
  /// Whether windows over the edges have fewer taps, rather than zeros.
  bool hasWindows;
  RowReader reader;
  int64_t slots[2];
  /// Taps that are combined, and the distance of their filters.
  int64_t runTaps, tapStep;
};

Combination::Combination(const DepthwiseBlocking &blocking, const Axes &axes,
                         const Images &from, const Images &to,
                         const Phase (&phases)[3], const float *filters)
    : blocking(blocking), axes(axes), from(from), to(to),
      phases{phases[0], phases[1], phases[2]}, filters(filters),
      channels(from.channels), kernels(getKernels(channels)),
      edges(phases[2].count, phases[2].step, phases[2].getLow(),
            phases[2].getLow() + phases[2].getReach(), from.extents[2]),
      hasWindows(from.isPlain() && areWhole(channels) &&
                 edges.areFewer(phases[0].taps.size() * phases[1].taps.size() *
                                    phases[2].taps.size(),
                                from.extents[2] * phases[1].step)),
      reader(from, hasWindows ? 0 : phases[2].getLow(),
             hasWindows ? from.extents[2] : phases[2].getHigh(), phases[2].step,
             channels, kNoConflict,
             /*canBeInPlace=*/areWhole(channels)) {
  for (int i = 0; i < 2; ++i)
    slots[i] = std::min(phases[i].getReach(), from.extents[i]);
  checkMemory(reader.getRowSize() * slots[0] * slots[1] + kDepthwiseBlock <=
                  blocking.rows &&
              slots[0] * slots[1] <= blocking.tags);
  const auto &inner = phases[2].taps;
  runTaps = static_cast<int64_t>(inner.size());
  // Neighbouring taps in the order of the filter.
  bool isRun = combinesTaps(runTaps, phases[2].step, blocking.inputs);
  for (size_t i = 1; i < inner.size(); ++i)
    isRun &= inner[i].shift == inner[i - 1].shift + 1;
  if (!isRun)
    runTaps = 1;
  // From a tap of a run to the next; in the gradient of the input, back.
  tapStep = inner.size() > 1 ? inner[1].index - inner[0].index : 1;
}

void Combination::runRow(int64_t image, int64_t d, int64_t h, const Room &room,
                         Sources &sources) const {
  if (d >= phases[0].count || h >= phases[1].count)
    return;
  const auto &inner = phases[2].taps;
  sources.rows.clear();
  sources.filters.clear();
  for (const Phase::Tap &outer : phases[0].taps)
    for (const Phase::Tap &middle : phases[1].taps) {
      int64_t z = d * phases[0].step + outer.shift;
      int64_t y = h * phases[1].step + middle.shift;
      if (z < 0 || z >= from.extents[0] || y < 0 || y >= from.extents[1])
        continue;
      const float *row = reader.read(image, z, y, /*channel=*/0,
                                     z % slots[0] * slots[1] + y % slots[1],
                                     room.rows, room.tags);
      for (size_t i = 0; i < inner.size(); i += runTaps) {
        sources.rows.push_back(row + inner[i].shift * reader.getPixelStride());
        sources.filters.push_back(
            filters +
            ((outer.index * axes.kernel[1] + middle.index) * axes.kernel[2] +
             inner[i].index) *
                blocking.inputs * blocking.width);
      }
    }
  int64_t z = phases[0].first + d * phases[0].toStep;
  int64_t y = phases[1].first + h * phases[1].toStep;
  Line line = {};
  line.rows = static_cast<int64_t>(sources.rows.size());
  line.taps = runTaps > 0 ? runTaps : 1;
  line.step = line.taps == 1 ? 1 : phases[2].step;
  line.from = sources.rows.data();
  line.columnStep =
      reader.getPixelStride() * (line.taps == 1 ? phases[2].step : 1);
  line.filters = sources.filters.data();
  line.inputs = blocking.inputs;
  line.filterStep = tapStep * blocking.inputs * blocking.width;
  line.inputStep = blocking.width;
  line.channels = channels;
  line.pixels = phases[2].count;
  line.to = room.others;
  line.toStep = channels;
  if (to.isPlain()) {
    line.to = reinterpret_cast<float *>(to.data) + to.getRow(image, z, y) +
              phases[2].first * channels;
    line.toStep = phases[2].toStep * channels;
    line.streams = to.isStreamed();
  }
  if (hasWindows) {
    line.to += edges.begin * line.toStep;
    line.pixels = edges.end - edges.begin;
    for (const float *&row : sources.rows)
      row += edges.begin * phases[2].step * channels;
  }
  if (line.pixels > 0)
    combine(kernels, line);
  if (hasWindows) {
    line.to -= edges.begin * line.toStep;
    combineEdges(edges, phases[2], sources, from.extents[2], line);
  }
  if (!to.isPlain())
    writeRow(to, image, z, y, phases[2].first, phases[2].toStep,
             phases[2].count, 0, channels, room.others);
}

/// Computes the results of some phases, row by row of all of them.
void combineImages(const DepthwiseBlocking &blocking, const Combination *begin,
                   const Combination *end, char *scratch, int64_t batch,
                   bool streams) {
  for (int64_t thread = 0; thread < getThreadCount(); ++thread)
    std::fill_n(Room(blocking, scratch, thread).tags, blocking.tags,
                int64_t(-1));
  int64_t depth = 0, height = 0;
  for (const Combination *phase = begin; phase != end; ++phase) {
    depth = std::max(depth, phase->countRows(0));
    height = std::max(height, phase->countRows(1));
  }
  int64_t rows = depth * height;
  parallelTasks(batch * rows, /*grain=*/1, /*perThread=*/8,
                [&](int64_t thread, int64_t first, int64_t last) {
                  Room room(blocking, scratch, thread);
                  Sources sources;
                  for (int64_t task = first; task < last; ++task)
                    for (const Combination *phase = begin; phase != end;
                         ++phase)
                      phase->runRow(task / rows, task % rows / height,
                                    task % height, room, sources);
                  // What is stored past the caches is then seen by all.
                  if (streams)
                    std::atomic_thread_fence(std::memory_order_seq_cst);
                });
}

} // namespace

void ingot::runtime::convolveDepthwise(const ingot_conv_desc &d, ConvKind kind,
                                       const void *first, const void *second,
                                       void *result, char *scratch) {
  DepthwiseBlocking blocking(d, kind, getThreadCount());
  Axes axes(d);
  auto imagesOf = [&](const void *data, const int64_t *extents) {
    return Images{static_cast<char *>(const_cast<void *>(data)),
                  d.batch,
                  d.type,
                  d.channels_last != 0,
                  d.in_channels,
                  extents};
  };
  if (kind == ConvKind::FilterGrad)
    return correlateImages(d, blocking, axes, imagesOf(first, axes.out),
                           imagesOf(second, axes.in), result, scratch);
  auto *filters = reinterpret_cast<float *>(scratch);
  bool isForward = kind == ConvKind::Forward;
  packFilter(d, blocking, isForward, second, filters);
  Images from = imagesOf(first, isForward ? axes.in : axes.out);
  Images to = imagesOf(result, isForward ? axes.out : axes.in);
  std::vector<Combination> combinations;
  bool isInPlace = true;
  forEachPhase(axes, kind, [&](const Phase(&phases)[3]) {
    combinations.emplace_back(blocking, axes, from, to, phases, filters);
    isInPlace &= combinations.back().isInPlace();
  });
  // Phases that keep rows of their own are computed one after the other.
  const Combination *begin = combinations.data(),
                    *end = begin + combinations.size();
  for (const Combination *first = begin, *last; first != end; first = last) {
    last = isInPlace ? end : first + 1;
    combineImages(blocking, first, last, scratch, d.batch, to.isStreamed());
  }
}
