// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/gemm/RegionGemm.h"

#include "runtime/cpu/threads/ThreadPool.h"

#include <algorithm>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;
using namespace ingot::cpu;

/// Rows and columns of a task, and its range of the inner dimension.
struct RegionGemm::Task {
  int64_t firstPanel, lastPanel;
  int64_t firstColumn, lastColumn;
  int64_t start, end;
  /// The number of what is kept for it.
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
  int64_t end = std::min(start + r.depth, g.k);
  if (r.keepsRows) {
    int64_t taskColumns = r.taskTiles * kernels.tileColumns;
    first += part * taskColumns;
    return {
        firstPanel, lastPanel, first,    std::min(first + taskColumns, last),
        start,      end,       rowRegion};
  }
  firstPanel += part * r.taskPanels;
  first += group * r.blocks * columns;
  return {firstPanel,
          std::min(firstPanel + r.taskPanels, lastPanel),
          first,
          std::min(first + r.blocks * columns, last),
          start,
          end,
          columnRegion * r.groups + group};
}

//===----------------------------------------------------------------------===//
// Blocks of b are kept
//===----------------------------------------------------------------------===//

void RegionGemm::packGroup(const Task &task, char *b) const {
  for (int64_t column = task.firstColumn; column < task.lastColumn;
       column += columns)
    for (int64_t at = task.start; at < task.end; at += inner) {
      kernels.packRight(g.b + at * g.bInner + column * g.bColumn, g.bInner,
                        g.bColumn, std::min(inner, task.end - at),
                        std::min(columns, task.lastColumn - column), b);
      b += regions.getBlockBytes();
    }
}

char *RegionGemm::getPanel(const Task &task, int64_t panel, int64_t at,
                           char *panels) const {
  const GemmRegions &r = regions;
  int64_t step = (at - task.start) / inner;
  panel -= task.firstPanel;
  int64_t kept = r.countKeptSteps();
  int64_t number = panel * kept + (r.completes ? step : 0);
  if (r.blocks == 1)
    number %= r.countBuffers();
  return panels + number * r.getPanelBytes();
}

void RegionGemm::multiplyPanel(const Task &task, int64_t panel, int64_t block,
                               int64_t at, char *memory,
                               PanelPacker &next) const {
  const GemmRegions &r = regions;
  int64_t column = task.firstColumn + block * columns;
  int64_t count = std::min(columns, task.lastColumn - column);
  int64_t row = panel * kernels.tileRows, step = (at - task.start) / inner;
  const char *b =
      memory +
      (block * r.countSteps(task.end - task.start) + step) * r.getBlockBytes();
  char *panels = memory + r.getKeptBytes();
  auto *sums = reinterpret_cast<float *>(panels + r.getTaskBytes());
  char *a = getPanel(task, panel, at, panels);
  if (block == 0) {
    if (!next.finish())
      packPanel(/*batch=*/0, row, at, a);
    bool isLastStep = !r.completes || at + inner >= task.end;
    int64_t nextPanel = panel + isLastStep;
    int64_t nextAt = !isLastStep ? at + inner : r.completes ? task.start : at;
    if (nextPanel < task.lastPanel)
      next = getPacker(nextPanel * kernels.tileRows, nextAt,
                       getPanel(task, nextPanel, nextAt, panels),
                       countCalls(std::min(inner, g.k - at), count));
  }
  multiply(/*batch=*/0, row, column, count, at, a, b, sums, next);
}

void RegionGemm::runRows(const Task &task, char *memory) const {
  int64_t blocks = divideCeil(task.lastColumn - task.firstColumn, columns);
  PanelPacker next;
  if (regions.completes) {
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t panel = task.firstPanel; panel < task.lastPanel; ++panel)
        for (int64_t at = task.start; at < task.end; at += inner)
          multiplyPanel(task, panel, block, at, memory, next);
    return;
  }
  for (int64_t at = task.start; at < task.end; at += inner)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t panel = task.firstPanel; panel < task.lastPanel; ++panel)
        multiplyPanel(task, panel, block, at, memory, next);
}

//===----------------------------------------------------------------------===//
// Rows are kept
//===----------------------------------------------------------------------===//

void RegionGemm::packRows(const Task &task, char *a) const {
  int64_t row = task.firstPanel * kernels.tileRows;
  int64_t rows = std::min(task.lastPanel * kernels.tileRows, g.m) - row;
  for (int64_t at = task.start; at < task.end; at += inner) {
    kernels.packA(g.a + row * g.aRow + at * g.aInner, g.aRow, g.aInner, rows,
                  std::min(inner, task.end - at), a);
    a += regions.regionPanels * regions.getPanelBytes();
  }
}

PanelPacker RegionGemm::getTilePacker(int64_t column, int64_t last, int64_t at,
                                      int64_t calls, char *b) const {
  return {kernels,
          {/*isOfA=*/false, g.b + at * g.bInner + column * g.bColumn, g.bColumn,
           g.bInner, std::min(kernels.tileColumns, last - column),
           std::min(inner, g.k - at)},
          b,
          calls};
}

void RegionGemm::runEpilogue(const Task &task, int64_t first,
                             int64_t last) const {
  if (!g.epilogue || task.end < g.k)
    return;
  for (int64_t panel = task.firstPanel; panel < task.lastPanel; ++panel) {
    int64_t row = panel * kernels.tileRows;
    g.epilogue(g.buffers, g.firstRow + row,
               g.firstRow + std::min(row + kernels.tileRows, g.m), first, last);
  }
}

void RegionGemm::runColumns(const Task &task, char *memory) const {
  const GemmRegions &r = regions;
  // Tiles whose sums are in the cache when the epilogue is applied to them.
  constexpr int64_t epilogueTiles = 4;
  char *tiles = memory + r.getKeptBytes();
  int64_t width = kernels.tileColumns, number = 0, complete = task.firstColumn;
  int64_t calls = task.lastPanel - task.firstPanel;
  PanelPacker next;
  for (int64_t column = task.firstColumn; column < task.lastColumn;
       column += width) {
    int64_t count = std::min(width, task.lastColumn - column);
    const char *a = memory;
    for (int64_t at = task.start; at < task.end; at += inner, ++number) {
      int64_t size = std::min(inner, task.end - at);
      int64_t panelBytes = kernels.tileRows * kernels.getLineBytes(size);
      char *b = tiles + number % r.countBuffers() * r.getTileBytes();
      if (!next.finish())
        getTilePacker(column, task.lastColumn, at, 1, b).finish();
      bool isLastStep = at + inner >= task.end;
      int64_t nextColumn = isLastStep ? column + width : column;
      if (nextColumn < task.lastColumn)
        next = getTilePacker(
            nextColumn, task.lastColumn, isLastStep ? task.start : at + inner,
            calls, tiles + (number + 1) % r.countBuffers() * r.getTileBytes());
      for (int64_t panel = task.firstPanel; panel < task.lastPanel; ++panel) {
        int64_t row = panel * kernels.tileRows;
        float *c = g.c + row * g.cRow + column;
        Fetches fetches = next.advance();
        fetches.tile = panel + 1 < task.lastPanel
                           ? c + kernels.tileRows * g.cRow
                           : g.c + task.firstPanel * kernels.tileRows * g.cRow +
                                 (isLastStep ? nextColumn : column);
        kernels.multiplyTile(size, a + (panel - task.firstPanel) * panelBytes,
                             b, c, g.cRow,
                             std::min(kernels.tileRows, g.m - row), count,
                             /*adds=*/at != 0, fetches);
      }
      a += r.regionPanels * r.getPanelBytes();
    }
    int64_t end = column + count;
    if (end - complete < epilogueTiles * width && end < task.lastColumn)
      continue;
    runEpilogue(task, complete, end);
    complete = end;
  }
}

//===----------------------------------------------------------------------===//
// All tasks
//===----------------------------------------------------------------------===//

void RegionGemm::run(char *scratch) const {
  const GemmRegions &r = regions;
  int64_t perRegion = r.groups * r.groupTasks;
  int64_t tasks = r.rowRegions * r.columnRegions * perRegion;
  for (int64_t start = 0; start < g.k; start += r.depth) {
    std::vector<int64_t> packed(static_cast<size_t>(getThreadCount()), -1);
    parallelTasks(tasks, /*grain=*/1, /*perThread=*/tasks,
                  [&](int64_t thread, int64_t begin, int64_t end) {
                    char *memory = scratch + thread * r.getThreadBytes();
                    int64_t &group = packed[static_cast<size_t>(thread)];
                    kernels.begin();
                    for (int64_t number = begin; number < end; ++number) {
                      Task task = getTask(number, start);
                      if (task.isEmpty())
                        continue;
                      if (group != task.group)
                        r.keepsRows ? packRows(task, memory)
                                    : packGroup(task, memory);
                      group = task.group;
                      if (r.keepsRows)
                        runColumns(task, memory);
                      else
                        runRows(task, memory);
                    }
                    kernels.end();
                  });
  }
}
