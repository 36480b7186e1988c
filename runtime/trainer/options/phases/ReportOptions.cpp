// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/phases/ReportOptions.h"

#include "runtime/core/Error.h"
#include "runtime/core/commandline/OptionBinding.h"
#include "runtime/core/commandline/OptionChecks.h"

using namespace ingot::runtime;

static const Choices<InspectForm> kInspectForms = {{"text", InspectForm::Text},
                                                   {"json", InspectForm::Json}};
static const Choices<DiagnosisForm> kDiagnosisForms = {
    {"report", DiagnosisForm::Report},
    {"apply", DiagnosisForm::Apply},
    {"json", DiagnosisForm::Json}};

/// Adds a flag whose value may name one of several forms. Others are usage
/// errors that `what` and `hint` complete.
template <typename Form>
static CLI::Option *
addForm(CLI::App &app, const std::string &name, std::optional<Form> &form,
        const Choices<Form> &forms, const std::string &description,
        const std::string &what, const std::string &hint) {
  std::string fallback = forms.front().first;
  auto parse = [&form, &forms, name, what, hint](const std::string &word) {
    form.reset();
    for (const auto &[known, value] : forms)
      if (word == known)
        form = value;
    if (!form)
      throw usageError(name, "'" + word + "' " + what, hint);
    return std::string();
  };
  CLI::Option *flag = app.add_flag(name + "{" + fallback + "}");
  return parseWith(flag->description(description), parse);
}

void ReportOptions::bind(CLI::App &app) {
  std::string group = "Observing";
  addForm(app, "--inspect", inspect, kInspectForms,
          "Print what is planned and exit; --inspect=json for programs",
          "is not a format", "use --inspect or --inspect=json")
      ->configurable(false)
      ->group(group);
  addForm(app, "--diagnose", diagnose, kDiagnosisForms,
          "Measure some steps, say what limits them and what to change, and "
          "exit; --diagnose=apply tries it, --diagnose=json is for programs",
          "is not known", "use --diagnose, --diagnose=apply or --diagnose=json")
      ->configurable(false)
      ->group(group);
  app.add_option("--ranks", ranks, "Ranks that --inspect plans for")
      ->type_name("N")
      ->check(atLeast(1))
      ->configurable(false)
      ->group(group);
}
