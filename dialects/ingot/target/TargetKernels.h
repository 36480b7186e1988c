// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The forms of kernels that a target generates: what fusion asks. What is not
// overridden is so for kernels that run on the host's CPU.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_TARGETKERNELS_H
#define INGOT_DIALECTS_INGOT_TARGET_TARGETKERNELS_H

#include "dialects/ingot/ir/Interfaces.h"
#include "dialects/ingot/target/EpilogueLibrary.h"

#include <string>

namespace ingot {

/// A matmul and elementwise work on its result, as the library computes them
/// and as one generated kernel would.
struct MatmulKernel {
  /// Why there is no generated kernel for it; empty if there is one.
  std::string reason;
  /// The predicted times of the kernel, and of the library's call with a kernel
  /// after it.
  double seconds = 0, librarySeconds = 0;
};

/// When a generated kernel computes a matmul in place of the library.
enum class MatmulChoice {
  /// Where the cost model predicts that it is faster.
  Faster,
  /// Wherever there is one.
  Always,
  Never,
};

/// The generated kernels of a target.
class TargetKernels {
public:
  virtual ~TargetKernels();

  /// Returns the library whose epilogues are the only ones that matmuls may
  /// have; null where generated code can be the epilogue.
  virtual const EpilogueLibrary *getEpilogueLibrary() const { return nullptr; }
  /// Describes the generated kernel for a matmul whose epilogue reads
  /// `readBytes` besides the product, and writes `writtenBytes`; 0 where there
  /// is no epilogue. Asked only where there is a library of epilogues.
  virtual MatmulKernel describeMatmulKernel(LibraryCall call, int64_t readBytes,
                                            int64_t writtenBytes) const;
  /// Returns when generated kernels compute matmuls. Asked only where there is
  /// a library of epilogues.
  virtual MatmulChoice getMatmulChoice() const { return MatmulChoice::Faster; }
  /// Returns whether generated kernels distribute one reduction over all
  /// threads and merge partial results, so that the graph need not split it.
  virtual bool splitsReductions() const { return false; }
  /// Returns whether each element of a generated loop computes anew what the
  /// elements of its column have in common.
  virtual bool repeatsColumns() const { return false; }
  /// Returns whether generated kernels compute matrices in tiles, which they
  /// write in two orders and reduce (`tile` fusions).
  virtual bool hasTiles() const { return false; }
  /// Returns whether several threads share a row of a kernel over rows. If not,
  /// each pass over a row ends before the next one begins.
  virtual bool sharesRows() const { return false; }
  /// Returns whether a generated kernel over rows may also add up its rows, to
  /// an element for each column.
  virtual bool sumsRows(int64_t /*rows*/, int64_t /*length*/) const {
    return false;
  }
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_TARGET_TARGETKERNELS_H
