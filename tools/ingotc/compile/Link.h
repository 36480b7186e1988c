// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Links an object file to a trainer, or to a library.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_LINK_H
#define INGOT_TOOLS_INGOTC_COMPILE_LINK_H

#include "runtime/abi/Processor.h"
#include "runtime/cpu/plan/KernelFamilies.h"

#include <string>
#include <vector>

namespace ingot {

namespace runtime {
struct Manifest;
} // namespace runtime

/// The parts of the trainer besides the runtime. Empty blobs are left out.
struct LinkInput {
  /// The target that the trainer runs on: cpu or cuda.
  std::string target = "cpu";
  /// The platform of the machine that the trainer runs on, by LLVM's name.
  std::string triple;
  /// The steps, an object for each CPU.
  std::vector<std::string> objects;
  /// The blobs, embedded under the names that `--ingot-lower-steps` refers to.
  std::string weights, exportLiteral;
  /// Whether transports between ranks are linked.
  bool dataParallel = false;
  /// Whether codecs of pictures are linked.
  bool hasPictures = false;
  /// Whether what reads and writes encoded states is linked.
  bool hasEncodings = false;
  /// Whether what merges, reads and writes adapters is linked.
  bool hasAdapters = false;
  /// Whether what prunes weights is linked.
  bool isPruned = false;
  /// Whether what sets scales from ranges is linked.
  bool hasQuantizers = false;
  /// The level of x86-64 that every processor has on which the trainer runs:
  /// kernels for lower ones are left out.
  abi::CpuLevel level = abi::CpuLevel::Baseline;
  /// The families of kernels that the steps can reach: others are left out.
  cpu::KernelFamilies kernels;
};

/// The parts of a library besides those of a trainer.
struct LibraryInput {
  /// The name of the model in C, as in `NAME_step`.
  std::string name;
  /// The text of NAME.h.
  std::string header;
  /// Whether it is an archive.
  bool isStatic = false;
};

/// Whether an input of the trainer may be a picture: in color, or gray.
bool takesPictures(const runtime::Manifest &manifest);

/// Throws runtime::Error unless everything that trainers for `target` on a
/// machine of `triple` are linked from is there.
void checkRuntime(const std::string &target, const std::string &triple);

/// Links the executable `output` with LLD and the prebuilt runtime, and puts
/// the shared libraries it needs into `output`.libs; a trainer for one process
/// on a CPU needs none. Nothing is left behind on
/// failure. Throws runtime::Error.
void linkTrainer(const LinkInput &input, const std::string &output);

/// Links the library `output`, and writes NAME.h and the headers that it
/// includes beside it. Its symbols are the functions of ingot.h and NAME_model,
/// which an object defines. Throws runtime::Error.
void linkLibrary(const LinkInput &input, const LibraryInput &library,
                 const std::string &output);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_LINK_H
