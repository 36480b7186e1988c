// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/Paths.h"

#include "runtime/checkpoint/TensorFiles.h"
#include "runtime/core/File.h"
#include "runtime/core/files/TunedFile.h"
#include "runtime/data/files/Sources.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/options/Configuration.h"
#include "runtime/trainer/weights/WeightExport.h"

#include <filesystem>

using namespace ingot::runtime;

OutputPaths ingot::runtime::collectPaths(const Options &options,
                                         const Manifest &manifest,
                                         int64_t ranks) {
  OutputPaths paths;
  for (const DataFile &file : findFiles(options.data.training, "--data").files)
    paths.addInput("--data", file.path);
  for (const DataFile &file :
       findFiles(options.data.evaluation, "--eval-data").files)
    paths.addInput("--eval-data", file.path);
  const SaveOptions &save = options.save;
  const ObserveOptions &observe = options.observe;
  if (save.init)
    for (const std::string &file : TensorFiles::list(*save.init))
      paths.addInput("--init", file);
  if (save.initAdapter) {
    paths.addInput("--init-adapter", getAdapterModelPath(*save.initAdapter));
    paths.addInput("--init-adapter", getAdapterConfigPath(*save.initAdapter));
  }
  if (save.resume)
    paths.addInput("--resume", *save.resume, {"latest", "best", "step-"});
  // A run that is repeated from the file beside its log writes it again.
  std::error_code error;
  if (options.line.isGiven("--config") &&
      !std::filesystem::equivalent(options.line.config,
                                   observe.getConfigurationPath(), error))
    paths.addInput("--config", options.line.config);
  std::string trainer = getExecutablePath();
  paths.addInput("the trainer", trainer);
  paths.addInput("the trainer", trainer + ".safetensors");

  auto addFile = [&](const char *option,
                     const std::optional<std::string> &path) {
    if (path)
      paths.addOutput(option, *path);
  };
  // A diagnosis has a folder of its own (Checkpointing).
  if (save.save && !options.report.diagnose)
    paths.addOutput("--save", *save.save, OutputPaths::Kind::Folder,
                    {"latest", "best", "step-", ".lock"});
  if (observe.tensorboard)
    paths.addOutput("--tensorboard", *observe.tensorboard,
                    OutputPaths::Kind::Folder, {"events.out.tfevents."});
  if (options.data.cache)
    paths.addOutput("--cache", *options.data.cache, OutputPaths::Kind::Folder);
  addFile("--log", observe.log);
  if (observe.log)
    paths.addImplied("--log", observe.getConfigurationPath(), isConfiguration);
  if (observe.log && observe.logMostMb != 0)
    paths.addImplied("--log-max-mb", MetricsLog::getOldPath(*observe.log),
                     MetricsLog::isLog);
  addFile("--export", save.exportPath);
  // An export as one file removes the index of one as several files.
  if (save.exportPath && save.exportPath->ends_with(".safetensors"))
    paths.addOutput("--export", getTensorIndexPath(*save.exportPath),
                    OutputPaths::Kind::Cache);
  if (save.exportPath && hasDataFile(manifest, *save.exportPath))
    addFile("--export", getDataPath(*save.exportPath));
  if (save.exportAdapter)
    paths.addOutput("--export-adapter", *save.exportAdapter,
                    OutputPaths::Kind::Folder, {"adapter_", "model.onnx"});
  addFile("--predict", save.predict);
  addFile("--profile", observe.profile);
  const TuneOptions &tune = options.tune;
  if (tune.isAsked && tune.isOn && !tune.file.empty())
    paths.addKept("--tune", tune.file, isTunedFile);
  for (int64_t rank = 0; options.ranks.record && rank < ranks; ++rank)
    paths.addOutput("--comm-record", options.ranks.record->empty()
                                         ? ""
                                         : options.ranks.getRecordPath(rank));
  return paths;
}
