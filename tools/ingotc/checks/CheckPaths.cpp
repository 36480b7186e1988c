// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/checks/CheckPaths.h"

#include "runtime/core/Error.h"
#include "runtime/core/files/OutputPaths.h"
#include "tools/ingotc/options/LibraryName.h"

#include "llvm/Support/Path.h"

using namespace llvm;
using namespace ingot;

/// Adds the headers beside a library: those of others are not replaced.
static void addHeaders(const std::string &output, runtime::OutputPaths &all) {
  auto add = [&](StringRef name, StringRef start) {
    SmallString<128> path = sys::path::parent_path(output);
    sys::path::append(path, name);
    all.addImplied("-o", path.str().str(), [start](std::string_view begin) {
      return StringRef(begin).contains(start);
    });
  };
  add(getLibraryName(output) + ".h", kLibraryHeaderStart);
  add("ingot.h", "A training step as a library.");
  add("ingot.hpp", "A training step as a library, for C++.");
}

void ingot::checkPaths(const CompilerOptions &options,
                       ArrayRef<std::string> externalFiles) {
  using Kind = runtime::OutputPaths::Kind;
  runtime::OutputPaths all, created;
  all.addInput("MODEL", options.model);
  for (const std::string &file : externalFiles)
    all.addInput("MODEL", file);
  for (auto [option, file] :
       {std::pair("--checkpoint", options.import.checkpoint),
        std::pair("--teacher", options.import.teacher),
        std::pair("--optimizer-model", options.import.optimizerModel)})
    if (!file.empty())
      all.addInput(option, file);
  if (const std::string &machine = options.pipeline->machine; !machine.empty())
    all.addInput("--machine", machine);
  if (!options.cluster.empty())
    all.addInput("--plan", options.cluster);
  auto add = [&](const std::string &option, const std::string &path,
                 Kind kind) {
    if (path.empty())
      return;
    all.addOutput(option, path, kind);
    created.addOutput(option, path, kind);
  };
  bool writes = !options.printPipeline;
  if (writes && !options.output.empty()) {
    if (llvm::sys::path::filename(options.output) == "")
      throw runtime::usageError("-o",
                                "'" + options.output + "' is not a file name",
                                "name the trainer to write");
    add("-o", options.output, Kind::File);
    if (options.links())
      all.addOutput("-o", options.output + ".safetensors");
    if (options.emit == "exe")
      all.addOutput("-o", options.output + ".libs", Kind::Folder);
    if (options.emit == "lib")
      addHeaders(options.output, all);
  }
  if (writes) {
    add("--report", options.report, Kind::File);
    add("--remarks", options.remarks, Kind::File);
    add("--dump-passes", options.dumpPasses, Kind::Folder);
  }
  all.check();
  created.prepare();
}
