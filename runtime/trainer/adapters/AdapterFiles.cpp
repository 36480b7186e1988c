// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/adapters/AdapterFiles.h"

#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/text/BoundedJson.h"
#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/state/AdapterStates.h"
#include "runtime/trainer/state/State.h"

#include <cmath>
#include <map>

using namespace ingot::runtime;
using nlohmann::json;

/// The words of PEFT before the path of a module.
static const std::string kPrefix = "base_model.model.";

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Returns the path of the module that has the parameter.
static std::string getModule(const std::string &parameter) {
  size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

static bool isBias(const std::string &parameter) {
  return parameter == "bias" || parameter.ends_with(".bias");
}

/// Whether the model's parameter is trained, by the setting `bias` or not.
static bool isTrained(const Manifest &manifest, const StateSpec &spec) {
  return spec.role == StateRole::Parameter && !isOfAdapter(manifest, spec.name);
}

std::set<std::string>
ingot::runtime::findSavedModules(const Manifest &manifest) {
  bool trainsBiases = manifest.adapters.front().bias != AdapterBias::None;
  std::set<std::string> modules;
  for (const StateSpec &spec : manifest.states)
    if (isTrained(manifest, spec) && !(trainsBiases && isBias(spec.name)))
      modules.insert(getModule(spec.name));
  return modules;
}

std::map<std::string, const StateSpec *>
ingot::runtime::listAdapterKeys(const Manifest &manifest) {
  std::map<std::string, const StateSpec *> keys;
  std::set<std::string> layers;
  for (const AdapterSpec &adapter : manifest.adapters) {
    // States have PEFT's names.
    for (const std::string &name : {adapter.a, adapter.b, adapter.magnitude})
      if (const StateSpec *spec = manifest.findState(name))
        keys[kPrefix + name] = spec;
    layers.insert(adapter.module);
  }
  std::set<std::string> saved = findSavedModules(manifest);
  for (const StateSpec &spec : manifest.states) {
    if (!spec.isModel() || isOfAdapter(manifest, spec.name))
      continue;
    std::string module = getModule(spec.name);
    // PEFT wraps a layer in one that has the adapter as well.
    if (isTrained(manifest, spec) && layers.contains(module))
      keys[kPrefix + module + ".base_layer" + spec.name.substr(module.size())] =
          &spec;
    else if (isTrained(manifest, spec) || saved.contains(module))
      keys[kPrefix + spec.name] = &spec;
  }
  return keys;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static int64_t getRank(const Manifest &manifest, const AdapterSpec &adapter) {
  return manifest.findState(adapter.a)->getWholeShape()[0];
}

static json describeAdapters(const Manifest &manifest) {
  const std::vector<AdapterSpec> &adapters = manifest.adapters;
  bool isStabilized = true;
  for (const AdapterSpec &adapter : adapters)
    isStabilized &= adapter.rankStabilized;
  // One setting says how all scales are made of alpha and the rank.
  auto getAlpha = [&](const AdapterSpec &adapter) {
    return isStabilized || !adapter.rankStabilized
               ? adapter.alpha
               : adapter.scale *
                     static_cast<double>(getRank(manifest, adapter));
  };
  auto getNumber = [](double number) {
    auto whole = static_cast<int64_t>(number);
    return static_cast<double>(whole) == number ? json(whole) : json(number);
  };
  const AdapterSpec &first = adapters.front();
  json targets = json::array(), ranks = json::object(), alphas = json::object();
  for (const AdapterSpec &adapter : adapters) {
    targets.push_back(adapter.module);
    if (getRank(manifest, adapter) != getRank(manifest, first))
      ranks[adapter.module] = getRank(manifest, adapter);
    if (getAlpha(adapter) != getAlpha(first))
      alphas[adapter.module] = getNumber(getAlpha(adapter));
  }
  std::set<std::string> saved = findSavedModules(manifest);
  return {{"peft_type", "LORA"},
          {"task_type", nullptr},
          {"base_model_name_or_path", nullptr},
          {"inference_mode", true},
          {"init_lora_weights", true},
          {"r", getRank(manifest, first)},
          {"lora_alpha", getNumber(getAlpha(first))},
          {"lora_dropout", first.dropout},
          {"bias", getName(first.bias)},
          {"fan_in_fan_out", false},
          {"use_rslora", isStabilized},
          {"use_dora", !first.magnitude.empty()},
          {"target_modules", targets},
          {"modules_to_save", saved.empty() ? json(nullptr) : json(saved)},
          {"rank_pattern", ranks},
          {"alpha_pattern", alphas}};
}

void ingot::runtime::writeAdapterFiles(Session &session,
                                       const std::string &folder) {
  const Manifest &manifest = session.getManifest();
  SafeTensors content;
  content.metadata["format"] = "pt";
  for (const auto &[key, spec] : listAdapterKeys(manifest))
    content.tensors[key] = viewState(session, *spec);
  AtomicFile tensors(getAdapterModelPath(folder));
  writeSafeTensors(tensors, content);
  AtomicFile config(getAdapterConfigPath(folder));
  config.write(describeAdapters(manifest).dump(2) + "\n");
  tensors.commit();
  config.commit();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

/// The settings in the file adapter_config.json.
class AdapterConfig {
public:
  explicit AdapterConfig(const std::string &folder);

  /// Returns the factor of B * A in a module.
  double getScale(const std::string &module, int64_t rank) const;
  bool hasMagnitudes() const {
    return settings.value("use_dora", json(false)) == true;
  }
  [[noreturn]] void fail(const std::string &what,
                         const std::string &hint) const;

private:
  double getNumber(const json &value, const std::string &key) const;

  std::string path;
  json settings;
};

} // namespace

void AdapterConfig::fail(const std::string &what,
                         const std::string &hint) const {
  throw badInput(path, what, hint);
}

AdapterConfig::AdapterConfig(const std::string &folder)
    : path(getAdapterConfigPath(folder)) {
  MappedFile file(path);
  settings = parseJson(file.getBytes());
  if (!settings.is_object())
    fail("not a JSON object", "save the adapter again with PEFT");
  if (settings.value("peft_type", json()) != "LORA")
    fail("peft_type is not LORA", "save an adapter of PEFT's LoraConfig");
}

double AdapterConfig::getNumber(const json &value,
                                const std::string &key) const {
  if (!value.is_number())
    fail(key + " is no number", "save the adapter again with PEFT");
  return value.get<double>();
}

double AdapterConfig::getScale(const std::string &module, int64_t rank) const {
  double alpha = getNumber(settings.value("lora_alpha", json(8)), "lora_alpha");
  json patterns = settings.value("alpha_pattern", json::object());
  for (const auto &[name, value] : patterns.items()) {
    if (name.find_first_of("*+?[](){}|^$\\") != std::string::npos)
      fail("alpha_pattern has the expression '" + name + "'",
           "name modules in it, by paths or their ends");
    if (module == name || module.ends_with("." + name))
      alpha = getNumber(value, "alpha_pattern." + name);
  }
  bool isStabilized = settings.value("use_rslora", json(false)) == true;
  auto by = static_cast<double>(rank);
  return alpha / (isStabilized ? std::sqrt(by) : by);
}

void ingot::runtime::readAdapterFiles(Session &session,
                                      const std::string &folder) {
  const Manifest &manifest = session.getManifest();
  std::string path = getAdapterModelPath(folder);
  AdapterConfig config(folder);
  MappedFile file(path);
  SafeTensors content = readSafeTensors(file.getBytes(), path);
  std::map<std::string, const StateSpec *> keys = listAdapterKeys(manifest);
  // The files are read as a whole, or nothing of them.
  for (const auto &[key, tensor] : content.tensors)
    if (!keys.contains(key))
      throw badInput(path, "'" + key + "' is of no adapter of the trainer",
                     "compile with --adapter for its layer, or --adapter-train "
                     "for what is trained beside adapters");
  for (const auto &[key, spec] : keys) {
    auto found = content.tensors.find(key);
    if (found == content.tensors.end())
      throw badInput(path, "no '" + key + "'",
                     "compile with --adapter for the layers that the file has, "
                     "and no others");
    checkTensor(*spec, found->second, path + ": " + key);
  }
  bool isDora = !manifest.adapters.front().magnitude.empty();
  if (config.hasMagnitudes() != isDora)
    config.fail(isDora ? "use_dora is not set, and the trainer's adapters have "
                         "magnitudes"
                       : "use_dora is set, and the trainer's adapters have no "
                         "magnitudes",
                isDora ? "compile with --adapter lora"
                       : "compile with --adapter dora");
  for (const AdapterSpec &adapter : manifest.adapters) {
    double scale = config.getScale(adapter.module, getRank(manifest, adapter));
    if (std::abs(scale - adapter.scale) > 1e-6 * std::abs(adapter.scale))
      throw badInput(getAdapterConfigPath(folder),
                     "the adapter of '" + adapter.module + "' has the scale " +
                         json(scale).dump() + ", the trainer's " +
                         json(adapter.scale).dump(),
                     "compile with the alpha of the file");
  }
  for (const auto &[key, spec] : keys)
    assignState(session, *spec, content.tensors[key], path + ": " + key);
  refreshCopies(session);
}
