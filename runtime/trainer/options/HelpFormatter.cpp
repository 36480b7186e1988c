// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/HelpFormatter.h"

#include <fmt/format.h>
#include <sstream>

using namespace ingot::runtime;

static constexpr size_t kColumn = 30, kWidth = 80;

/// What the environment says, beside the options. A test compares the table
/// with the variables that the runtime reads.
static constexpr const char *kVariables[][2] = {
    {"OMP_NUM_THREADS", "Threads [the processors that the process may use]"},
    {"OMP_WAIT_POLICY",
     "active: idle threads spin; passive: they sleep at once [sleep soon]"},
    {"GOMP_SPINCOUNT", "Turns that idle threads wait before they sleep"},
    {"INGOT_MAX_ISA",
     "Leave out instructions above this level, such as x86-64-v3"},
    {"RANK, WORLD_SIZE",
     "Ranks as torchrun names them; mpirun's and Slurm's are known too"},
    {"TMPDIR", "Where compressed shards are unpacked [/tmp]"},
    {"NO_COLOR", "Messages without color"},
    {"TERM", "A progress line only on a terminal that can redraw it"},
    {"CUDA_VISIBLE_DEVICES", "On GPUs: those that ranks may use"},
    {"CUDA_HOME", "On GPUs: where CUDA's libraries are"},
    {"INGOT_CUDA_GRAPH", "On GPUs: 0 launches kernels one by one"},
    {"XDG_CACHE_HOME, HOME", "The user's cache, for --tune"},
};

HelpFormatter::HelpFormatter() { column_width(kColumn); }

static std::string wrap(const std::string &text, size_t width) {
  std::string wrapped, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      wrapped += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return wrapped + line;
}

std::string HelpFormatter::make_option_name(const CLI::Option *option,
                                            bool isPositional) const {
  // CLI11 shows the default of an optional value in braces.
  std::string name = Formatter::make_option_name(option, isPositional);
  size_t brace = name.find('{');
  return brace == std::string::npos ? name : name.substr(0, brace);
}

std::string HelpFormatter::make_option_opts(const CLI::Option *option) const {
  std::string type = option->get_type_name();
  return type.empty() ? "" : " " + type;
}

std::string HelpFormatter::make_option_desc(const CLI::Option *option) const {
  std::string text = option->get_description();
  if (!option->get_default_str().empty())
    text += " [" + option->get_default_str() + "]";
  return wrap(text, kWidth - kColumn);
}

std::string HelpFormatter::make_footer(const CLI::App *app) const {
  std::stringstream text;
  text << "Environment:\n";
  for (auto [name, description] : kVariables)
    CLI::detail::format_help(text, fmt::format("  {}", name),
                             wrap(description, kWidth - kColumn), kColumn);
  return text.str();
}
