// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// --diagnose=apply: the trainer measures itself again, with other options.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/File.h"
#include "runtime/trainer/inspect/Diagnoser.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace ingot::runtime;

extern char **environ;

std::string
ingot::runtime::describeAsJson(const Evidence &e,
                               const std::vector<Finding> &findings) {
  nlohmann::ordered_json json = {
      {"steps", e.steps},
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

namespace {

/// What a process wrote to stdout, and its status.
struct Output {
  std::string text;
  int status = 0;
};

/// Two ends of a pipe, which are closed at the end.
struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw failure("--diagnose", "cannot make a pipe: " + describeErrno(),
                    "free memory or file descriptors");
  }
  ~Pipe() {
    for (int end : ends)
      if (end >= 0)
        close(end);
  }
  void closeWriting() { close(std::exchange(ends[1], -1)); }
  int ends[2] = {-1, -1};
};

} // namespace

static Output runTrainer(const std::vector<std::string> &arguments,
                         const std::vector<std::string> &variables) {
  auto getPointers = [](const std::vector<std::string> &words) {
    std::vector<char *> pointers;
    for (const std::string &word : words)
      pointers.push_back(const_cast<char *>(word.c_str()));
    pointers.push_back(nullptr);
    return pointers;
  };
  std::vector<std::string> environment = variables;
  for (char **entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    bool isReplaced = false;
    for (const std::string &variable : variables)
      isReplaced |= text.starts_with(
          std::string_view(variable).substr(0, variable.find('=') + 1));
    if (!isReplaced)
      environment.emplace_back(text);
  }
  Pipe pipe;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDOUT_FILENO);
  pid_t child = 0;
  int error = posix_spawn(&child, getExecutablePath().c_str(), &actions,
                          nullptr, getPointers(arguments).data(),
                          getPointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw failure("--diagnose",
                  std::string("cannot run the trainer again: ") +
                      std::strerror(error),
                  "run it with the option that is advised");
  pipe.closeWriting();
  Output output;
  char buffer[4096];
  while (true) {
    ssize_t size = read(pipe.ends[0], buffer, sizeof(buffer));
    if (size > 0)
      output.text.append(buffer, static_cast<size_t>(size));
    else if (size == 0 || errno != EINTR)
      break;
  }
  while (waitpid(child, &output.status, 0) < 0 && errno == EINTR)
    continue;
  return output;
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
      Output output = runTrainer(words, advice.isVariable
                                            ? std::vector<std::string>{assigned}
                                            : std::vector<std::string>{});
      auto json = nlohmann::json::parse(output.text, nullptr, false);
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
