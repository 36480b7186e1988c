// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/gemm/RegionGemm.h"

#include "runtime/cpu/ThreadPool.h"

#include <algorithm>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;
using namespace ingot::abi;

/// Rows and columns of a task, and its range of the inner dimension.
struct RegionGemm::Task {
  int64_t firstPanel, lastPanel;
  int64_t firstColumn, lastColumn;
  int64_t start, end;
  /// The number of the group.
  int64_t group;

  bool isEmpty() const {
    return firstPanel >= lastPanel || firstColumn >= lastColumn;
  }
};

RegionGemm::RegionGemm(const Gemm &g, const Kernels &kernels)
    : BlockedGemm(g, kernels),
      regions(kernels, {g.m, g.n, g.k, g.aInner == 1, rounds()},
              getThreadCount()) {
  inner = regions.inner;
  columns = regions.columns;
}

int64_t RegionGemm::getScratchBytes() const {
  return getThreadCount() * regions.getThreadBytes();
}

RegionGemm::Task RegionGemm::getTask(int64_t number, int64_t start) const {
  const GemmRegions &r = regions;
  int64_t part = number % r.groupTasks;
  int64_t group = number / r.groupTasks % r.groups;
  int64_t region = number / r.groupTasks / r.groups;
  int64_t rowRegion = region % r.rowRegions;
  int64_t columnRegion = region / r.rowRegions;
  int64_t firstPanel = rowRegion * r.regionPanels;
  int64_t lastPanel = std::min(firstPanel + r.regionPanels, r.panels);
  int64_t width = r.regionTiles * kernels.tileColumns;
  int64_t first = columnRegion * width;
  int64_t last = std::min(first + width, g.n);
  firstPanel += part * r.taskPanels;
  first += group * r.blocks * columns;
  return {firstPanel,
          std::min(firstPanel + r.taskPanels, lastPanel),
          first,
          std::min(first + r.blocks * columns, last),
          start,
          std::min(start + r.depth, g.k),
          columnRegion * r.groups + group};
}

void RegionGemm::packGroup(const Task &task, char *b) const {
  for (int64_t column = task.firstColumn; column < task.lastColumn;
       column += columns)
    for (int64_t at = task.start; at < task.end; at += inner) {
      kernels.packB(g.b + at * g.bInner + column * g.bColumn, g.bInner,
                    g.bColumn, std::min(inner, task.end - at),
                    std::min(columns, task.lastColumn - column), b);
      b += regions.getBlockBytes();
    }
}

void RegionGemm::multiplyPanel(const Task &task, int64_t panel, int64_t block,
                               int64_t at, char *memory) const {
  const GemmRegions &r = regions;
  int64_t column = task.firstColumn + block * columns;
  int64_t count = std::min(columns, task.lastColumn - column);
  int64_t row = panel * kernels.tileRows, step = (at - task.start) / inner;
  const char *b =
      memory +
      (block * r.countSteps(task.end - task.start) + step) * r.getBlockBytes();
  char *a = memory + r.getGroupBytes();
  auto *sums = reinterpret_cast<float *>(a + r.getTaskBytes());
  if (r.blocks > 1)
    a += ((panel - task.firstPanel) * r.countKeptSteps() +
          (r.completes ? step : 0)) *
         r.getPanelBytes();
  Prefetch next;
  if (block == 0) {
    packPanel(/*batch=*/0, row, at, a);
    int64_t calls = countCalls(std::min(inner, g.k - at), count);
    if (r.completes && at + inner < task.end)
      next = getPanel(row, at + inner, calls);
    else if (panel + 1 < task.lastPanel)
      next = getPanel(row + kernels.tileRows, r.completes ? task.start : at,
                      calls);
  }
  multiply(/*batch=*/0, row, column, count, at, a, b, sums, next);
}

void RegionGemm::runTask(const Task &task, char *memory) const {
  int64_t blocks = divideCeil(task.lastColumn - task.firstColumn, columns);
  if (regions.completes) {
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t panel = task.firstPanel; panel < task.lastPanel; ++panel)
        for (int64_t at = task.start; at < task.end; at += inner)
          multiplyPanel(task, panel, block, at, memory);
    return;
  }
  for (int64_t at = task.start; at < task.end; at += inner)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t panel = task.firstPanel; panel < task.lastPanel; ++panel)
        multiplyPanel(task, panel, block, at, memory);
}

void RegionGemm::run(char *scratch) const {
  const GemmRegions &r = regions;
  int64_t perRegion = r.groups * r.groupTasks;
  for (int64_t start = 0; start < g.k; start += r.depth) {
    std::vector<int64_t> packed(static_cast<size_t>(getThreadCount()), -1);
    parallelTasks(r.rowRegions * r.columnRegions * perRegion, /*grain=*/1,
                  perRegion, [&](int64_t thread, int64_t begin, int64_t end) {
                    char *memory = scratch + thread * r.getThreadBytes();
                    int64_t &group = packed[static_cast<size_t>(thread)];
                    kernels.begin();
                    for (int64_t number = begin; number < end; ++number) {
                      Task task = getTask(number, start);
                      if (task.isEmpty())
                        continue;
                      if (group != task.group)
                        packGroup(task, memory);
                      group = task.group;
                      runTask(task, memory);
                    }
                    kernels.end();
                  });
  }
}
