// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --diagnose=apply: the trainer measures itself again, with other options.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/machine/Process.h"
#include "runtime/core/text/BoundedJson.h"
#include "runtime/trainer/hooks/Diagnoser.h"

#include <fmt/format.h>

using namespace ingot::runtime;

std::string
ingot::runtime::describeAsJson(const Evidence &e,
                               const std::vector<Finding> &findings) {
  nlohmann::ordered_json json = {
      {"steps", e.steps},
      {"samples", e.batch},
      {"step_ms", e.step},
      {"data_ms", e.data},
      {"forward_ms", e.forward},
      {"backward_ms", e.backward},
      {"optimizer_ms", e.optimizer},
      {"exposed_communication_ms", e.communication - e.synchronization},
      {"synchronization_ms", e.synchronization},
      {"saving_ms", e.saving},
      {"launch_ms", e.launch},
      {"rest_ms", e.rest},
      {"others", e.others}};
  json["findings"] = nlohmann::ordered_json::array();
  for (const Finding &finding : findings) {
    nlohmann::ordered_json item = {{"cause", getName(finding.cause)},
                                   {"evidence", finding.evidence}};
    if (finding.gain)
      item["gain"] = *finding.gain;
    for (const Advice &advice : finding.advice)
      item[advice.isForCompiler ? "ingotc" : "trainer"].push_back(
          {{advice.option, advice.value}});
    json["findings"].push_back(std::move(item));
  }
  return json.dump() + "\n";
}

/// Returns the arguments with another value of an option.
static std::vector<std::string>
replaceOption(const std::vector<std::string> &arguments, const Advice &advice) {
  std::vector<std::string> changed;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &word = arguments[i];
    if (word.starts_with("--diagnose") ||
        (!advice.isVariable && word.starts_with(advice.option + "=")))
      continue;
    if (!advice.isVariable && word == advice.option) {
      ++i;
      continue;
    }
    changed.push_back(word);
  }
  if (!advice.isVariable)
    changed.insert(changed.end(), {advice.option, advice.value});
  return changed;
}

std::string
ingot::runtime::applyDiagnosis(const Evidence &evidence,
                               const std::vector<Finding> &findings,
                               const std::vector<std::string> &arguments) {
  for (const Finding &finding : findings)
    for (const Advice &advice : finding.advice) {
      if (advice.isForCompiler)
        continue;
      std::string assigned = advice.option + "=" + advice.value;
      std::vector<std::string> words = replaceOption(arguments, advice);
      words.emplace_back("--diagnose=json");
      std::vector<std::string> variables;
      if (advice.isVariable)
        variables.push_back(assigned);
      ProcessOutput output = runProcess(getExecutablePath(), words, variables,
                                        /*isQuiet=*/false, "--diagnose");
      auto json = parseJson(output.text);
      if (output.status != 0 || !json.is_object() || !json.contains("step_ms"))
        throw failure("--diagnose", "the run with " + assigned + " failed",
                      "run it with the option that is advised");
      double after = json["step_ms"].get<double>();
      return fmt::format(
          "with {}: {:.3f} ms instead of {:.3f}, {:.0f}% less{}\n",
          advice.isVariable ? assigned : advice.option + " " + advice.value,
          after, evidence.step, 100 * (1 - after / evidence.step),
          finding.gain
              ? fmt::format(" ({:.0f}% predicted)", 100 * *finding.gain)
              : "");
    }
  return "no option of the trainer to apply\n";
}
