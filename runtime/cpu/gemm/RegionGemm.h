// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A GEMM on vector units whose threads compute regions of the result. Each
// packs what it reads of both operands for itself: some of it is packed by
// several threads, but none waits for another, or reads from the cache of
// another core, which may take as long as from memory.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_GEMM_REGIONGEMM_H
#define INGOT_RUNTIME_CPU_GEMM_REGIONGEMM_H

#include "runtime/cpu/gemm/BlockedGemm.h"
#include "runtime/cpu/plan/GemmRegions.h"

namespace ingot::runtime::gemm {

class RegionGemm : BlockedGemm {
public:
  RegionGemm(const Gemm &g, const Kernels &kernels);

  /// Whether the schedule is for this GEMM.
  bool fits() const { return g.batch == 1 && !g.onTiles; }
  /// Whether sums can be rounded as soon as they are complete.
  bool isComplete() const { return regions.completes; }
  int64_t getScratchBytes() const;
  /// Threads that are done with their regions take tasks of others.
  void run(char *scratch) const;

private:
  struct Task;

  Task getTask(int64_t number, int64_t start) const;

  void packGroup(const Task &task, char *b) const;
  /// The memory of a packed panel of rows, of those of a task.
  char *getPanel(const Task &task, int64_t panel, int64_t at,
                 char *panels) const;
  /// Multiplies a panel of rows by a block of columns, for elements from `at`
  /// on of the inner dimension, and packs the next one meanwhile.
  void multiplyPanel(const Task &task, int64_t panel, int64_t block, int64_t at,
                     char *memory, PanelPacker &next) const;
  /// Runs a task of rows, with blocks of b that are kept.
  void runRows(const Task &task, char *memory) const;

  void packRows(const Task &task, char *a) const;
  /// Packs the columns of a tile, up to `last`.
  PanelPacker getTilePacker(int64_t column, int64_t last, int64_t at,
                            int64_t calls, char *b) const;
  void runEpilogue(const Task &task, int64_t first, int64_t last) const;
  /// Runs a task of columns, with rows that are kept.
  void runColumns(const Task &task, char *memory) const;

  cpu::GemmRegions regions;
};

} // namespace ingot::runtime::gemm

#endif // INGOT_RUNTIME_CPU_GEMM_REGIONGEMM_H
