// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// checkpoint.json. Format 2 has shards, format 3 has settings and may have
// shards. Settings with their usual values are left out, so that files of
// earlier releases are read as they are.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/CheckpointInfo.h"

#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/Error.h"
#include "runtime/core/files/Crc32.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/text/BoundedJson.h"

#include <algorithm>
#include <numeric>

using namespace ingot::runtime;
using nlohmann::ordered_json;

int64_t SamplePosition::getSamples() const {
  return static_cast<int64_t>(
      std::accumulate(samples.begin(), samples.end(), uint64_t(0)));
}

static ordered_json formatSettings(const RunSettings &settings) {
  ordered_json json = {{"hyperparameters", settings.hyperparameters},
                       {"schedule", settings.schedule},
                       {"warmup", settings.warmup},
                       {"total_steps", settings.totalSteps},
                       {"ranks", settings.ranks},
                       {"step_samples", settings.stepSamples}};
  if (settings.minLr != 0)
    json["min_lr"] = settings.minLr;
  if (settings.position) {
    json["epoch"] = settings.position->epoch;
    if (settings.position->samples.size() == 1)
      json["epoch_sample"] = settings.position->samples.front();
    else
      json["epoch_samples"] = settings.position->samples;
  }
  if (settings.tokenOffsets != "fixed")
    json["token_offsets"] = settings.tokenOffsets;
  if (settings.evalBatches != 0)
    json["eval_batches"] = settings.evalBatches;
  if (!settings.classes.empty())
    json["classes"] = settings.classes;
  if (settings.batchTokens != 0)
    json["batch_tokens"] = settings.batchTokens;
  if (settings.ema != 0)
    json["ema"] = settings.ema;
  if (settings.rateScale != 1)
    json["rate_scale"] = settings.rateScale;
  if (const RunSettings::Best &best = settings.best; !best.metric.empty())
    json["best"] = {{"metric", best.metric},
                    {"value", best.value},
                    {"step", best.step},
                    {"since", best.since}};
  if (settings.best.reference != settings.best.value)
    json["best"]["reference"] = settings.best.reference;
  const RunSettings::Plateau &plateau = settings.plateau;
  if (!plateau.metric.empty()) {
    json["plateau"] = {{"metric", plateau.metric},
                       {"since", plateau.since},
                       {"factor", plateau.factor}};
    if (plateau.best)
      json["plateau"]["best"] = *plateau.best;
  }
  if (!settings.command.empty())
    json["compiled"] = {{"command", settings.command},
                        {"recipe", settings.recipe}};
  if (settings.threads != 0)
    json["threads"] = settings.threads;
  if (!settings.options.empty())
    json["options"] = settings.options;
  return json;
}

std::string ingot::runtime::formatInfo(const CheckpointFile &file) {
  const CheckpointInfo &info = file.info;
  int format = info.settings ? 3 : file.shardCrcs.empty() ? 1 : 2;
  ordered_json json = {
      {"format", format},        {"step", info.step},
      {"seed", info.seed},       {"shuffle", info.shuffle},
      {"samples", info.samples}, {"state_crc32", file.stateCrc}};
  if (!file.shardCrcs.empty())
    json["shards_crc32"] = file.shardCrcs;
  if (file.constantCrc)
    json["constants_crc32"] = *file.constantCrc;
  if (!info.base.empty())
    json["base_crc32"] = info.base;
  if (info.settings)
    json["settings"] = formatSettings(*info.settings);
  json["crc32"] = computeCrc32(json.dump());
  return json.dump(1) + "\n";
}

/// Reads the settings of a run; nothing if one is missing or of another type.
static std::optional<RunSettings> parseSettings(const nlohmann::json &json,
                                                int64_t step) {
  auto isNumber = [](const nlohmann::json &value) {
    return value.is_number_unsigned() &&
           value.get<uint64_t>() <= uint64_t(INT64_MAX);
  };
  auto isCount = [&](const char *field) {
    return json.contains(field) && isNumber(json[field]);
  };
  bool isComplete = json.is_object() && json.contains("hyperparameters") &&
                    json["hyperparameters"].is_object() &&
                    json.contains("schedule") && json["schedule"].is_string() &&
                    isCount("warmup") && isCount("total_steps") &&
                    isCount("ranks") && isCount("step_samples");
  if (!isComplete)
    return std::nullopt;
  RunSettings settings;
  for (const auto &[name, value] : json["hyperparameters"].items()) {
    if (!value.is_number())
      return std::nullopt;
    settings.hyperparameters[name] = value.get<double>();
  }
  auto readNumber = [&](const char *field, double &value) {
    if (json.contains(field) && json[field].is_number())
      value = json[field].get<double>();
  };
  settings.schedule = json["schedule"].get<std::string>();
  settings.warmup = json["warmup"].get<int64_t>();
  settings.totalSteps = json["total_steps"].get<int64_t>();
  settings.ranks = json["ranks"].get<int64_t>();
  settings.stepSamples = json["step_samples"].get<int64_t>();
  readNumber("min_lr", settings.minLr);
  // Numbers that others are multiplied by are bounded: each epoch takes a
  // step, and steps take samples that a machine can have.
  constexpr int64_t mostRanks = int64_t(1) << 24;
  constexpr int64_t mostSamples = int64_t(1) << 48;
  if (settings.ranks < 1 || settings.ranks > mostRanks ||
      settings.stepSamples > mostSamples || step > mostSamples ||
      (isCount("epoch") && json["epoch"].get<int64_t>() > step))
    return std::nullopt;
  if (isCount("epoch") && isCount("epoch_sample"))
    settings.position = {json["epoch"].get<int64_t>(),
                         {json["epoch_sample"].get<int64_t>()}};
  if (isCount("epoch") && json.contains("epoch_samples") &&
      json["epoch_samples"].is_array() && json["epoch_samples"].size() > 1 &&
      std::all_of(json["epoch_samples"].begin(), json["epoch_samples"].end(),
                  isNumber))
    settings.position = {json["epoch"].get<int64_t>(),
                         json["epoch_samples"].get<std::vector<int64_t>>()};
  if (json.contains("token_offsets")) {
    if (json["token_offsets"] != "random" && json["token_offsets"] != "auto")
      return std::nullopt;
    settings.tokenOffsets = json["token_offsets"].get<std::string>();
  }
  if (isCount("eval_batches"))
    settings.evalBatches = json["eval_batches"].get<int64_t>();
  if (json.contains("classes") && json["classes"].is_array())
    for (const auto &name : json["classes"]) {
      if (!name.is_string())
        return std::nullopt;
      settings.classes.push_back(name.get<std::string>());
    }
  if (isCount("batch_tokens"))
    settings.batchTokens = json["batch_tokens"].get<int64_t>();
  readNumber("ema", settings.ema);
  readNumber("rate_scale", settings.rateScale);
  if (json.contains("compiled") && json["compiled"].is_object() &&
      json["compiled"].contains("command") &&
      json["compiled"]["command"].is_string())
    settings.command = json["compiled"]["command"].get<std::string>();
  if (!settings.command.empty() && json["compiled"].contains("recipe") &&
      json["compiled"]["recipe"].is_array())
    for (const auto &word : json["compiled"]["recipe"])
      if (word.is_string())
        settings.recipe.push_back(word.get<std::string>());
  if (isCount("threads"))
    settings.threads = json["threads"].get<int64_t>();
  if (json.contains("options") && json["options"].is_object())
    for (const auto &[name, values] : json["options"].items())
      if (values.is_array())
        for (const auto &value : values)
          if (value.is_string())
            settings.options[name].push_back(value.get<std::string>());
  auto isBest = [](const nlohmann::json &best) {
    return best.is_object() && best.contains("metric") &&
           best["metric"].is_string() && best.contains("value") &&
           best["value"].is_number() && best.contains("step") &&
           best["step"].is_number_integer() && best.contains("since") &&
           best["since"].is_number_integer();
  };
  if (json.contains("best") && isBest(json["best"])) {
    const auto &best = json["best"];
    settings.best = {best["metric"].get<std::string>(),
                     best["value"].get<double>(), best["step"].get<int64_t>(),
                     best["since"].get<int64_t>(), best["value"].get<double>()};
    if (best.contains("reference") && best["reference"].is_number())
      settings.best.reference = best["reference"].get<double>();
  }
  auto isPlateau = [](const nlohmann::json &plateau) {
    return plateau.is_object() && plateau.contains("metric") &&
           plateau["metric"].is_string() && plateau.contains("since") &&
           plateau["since"].is_number_integer() && plateau.contains("factor") &&
           plateau["factor"].is_number();
  };
  if (json.contains("plateau") && isPlateau(json["plateau"])) {
    const auto &plateau = json["plateau"];
    settings.plateau = {plateau["metric"].get<std::string>(), std::nullopt,
                        plateau["since"].get<int64_t>(),
                        plateau["factor"].get<double>()};
    if (plateau.contains("best") && plateau["best"].is_number())
      settings.plateau.best = plateau["best"].get<double>();
  }
  return settings;
}

CheckpointFile ingot::runtime::parseInfo(std::string_view bytes,
                                         const std::string &path) {
  // Larger files are not from here, whatever they hold.
  constexpr size_t mostBytes = size_t(1) << 24;
  auto json = parseJson(bytes.substr(0, mostBytes));
  auto damaged = [&](const std::string &field) {
    return badInput(path, "the field '" + field + "' is missing or wrong",
                    "resume from another checkpoint of the folder");
  };
  auto readCount = [&](const char *field) {
    bool isCount = json.is_object() && json.contains(field) &&
                   json[field].is_number_unsigned() &&
                   json[field].get<uint64_t>() <= uint64_t(INT64_MAX);
    if (!isCount)
      throw damaged(field);
    return json[field].get<int64_t>();
  };
  int64_t format = readCount("format");
  if (format < 1 || format > 3)
    throw damaged("format");
  CheckpointFile file;
  CheckpointInfo &info = file.info;
  info.step = readCount("step");
  info.seed = readCount("seed");
  info.samples = readCount("samples");
  if (!json.contains("shuffle") || !json["shuffle"].is_boolean())
    throw damaged("shuffle");
  info.shuffle = json["shuffle"].get<bool>();
  file.stateCrc = static_cast<uint32_t>(readCount("state_crc32"));
  if (format == 3) {
    if (json.contains("settings"))
      info.settings = parseSettings(json["settings"], info.step);
    if (!info.settings)
      throw damaged("settings");
  }
  if (format == 2 || json.contains("shards_crc32")) {
    if (!json.contains("shards_crc32") || !json["shards_crc32"].is_array())
      throw damaged("shards_crc32");
    for (const auto &crc : json["shards_crc32"])
      file.shardCrcs.push_back(crc.is_number_unsigned()
                                   ? static_cast<uint32_t>(crc.get<uint64_t>())
                                   : 0);
  }
  if (json.contains("constants_crc32"))
    file.constantCrc = static_cast<uint32_t>(readCount("constants_crc32"));
  if (json.contains("base_crc32") && json["base_crc32"].is_object())
    for (const auto &[name, crc] : json["base_crc32"].items())
      if (crc.is_number_unsigned())
        info.base[name] = static_cast<uint32_t>(crc.get<uint64_t>());
  if (bytes != formatInfo(file))
    throw badInput(path, "the checksum does not match",
                   "resume from another checkpoint of the folder");
  return file;
}
