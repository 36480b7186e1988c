// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/Paths.h"

#include "runtime/core/File.h"
#include "runtime/core/files/TunedFile.h"
#include "runtime/data/files/Sources.h"
#include "runtime/observe/MetricsLog.h"
#include "runtime/trainer/options/Configuration.h"

#include <filesystem>

using namespace ingot::runtime;

OutputPaths ingot::runtime::collectPaths(const Options &options,
                                         int64_t ranks) {
  OutputPaths paths;
  for (const DataFile &file : findFiles(options.data, "--data").files)
    paths.addInput("--data", file.path);
  for (const DataFile &file : findFiles(options.evalData, "--eval-data").files)
    paths.addInput("--eval-data", file.path);
  if (options.isGiven("--init"))
    paths.addInput("--init", options.init);
  if (options.isGiven("--resume"))
    paths.addInput("--resume", options.resume, {"latest", "best", "step-"});
  // A run that is repeated from the file beside its log writes it again.
  std::error_code error;
  if (options.isGiven("--config") &&
      !std::filesystem::equivalent(options.config,
                                   options.getConfigurationPath(), error))
    paths.addInput("--config", options.config);
  std::string trainer = getExecutablePath();
  paths.addInput("the trainer", trainer);
  paths.addInput("the trainer", trainer + ".safetensors");

  auto addFile = [&](const char *option, const std::string &path) {
    if (options.isGiven(option))
      paths.addOutput(option, path);
  };
  if (options.isGiven("--save"))
    paths.addOutput("--save", options.save, OutputPaths::Kind::Folder,
                    {"latest", "best", "step-", ".lock"});
  if (options.isGiven("--tensorboard"))
    paths.addOutput("--tensorboard", options.tensorboard,
                    OutputPaths::Kind::Folder, {"events.out.tfevents."});
  if (options.isGiven("--cache"))
    paths.addOutput("--cache", options.cache, OutputPaths::Kind::Folder);
  addFile("--log", options.log);
  if (options.isGiven("--log"))
    paths.addImplied("--log", options.getConfigurationPath(), isConfiguration);
  if (options.isGiven("--log") && options.logMostMb != 0)
    paths.addImplied("--log-max-mb", MetricsLog::getOldPath(options.log),
                     MetricsLog::isLog);
  addFile("--export", options.exportPath);
  addFile("--predict", options.predict);
  addFile("--profile", options.profile);
  if (options.isGiven("--tune") && options.tune != "cache")
    paths.addKept("--tune", options.tune, isTunedFile);
  for (int64_t rank = 0; rank < ranks; ++rank)
    addFile("--comm-record",
            options.commRecord.empty() ? "" : options.getRecordPath(rank));
  return paths;
}
