// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/options/phases/SaveOptions.h"

#include "runtime/core/commandline/OptionBinding.h"
#include "runtime/core/commandline/OptionChecks.h"

using namespace ingot::runtime;

static const Choices<ExportWeights> kExportWeights = {
    {"best", ExportWeights::Best}, {"last", ExportWeights::Last}};

void SaveOptions::bindFiles(CLI::App &app) {
  std::string group = "Files";
  addText(app, "--init", init, "Start from these weights")
      ->type_name("FILE.safetensors")
      ->group(group);
  addText(app, "--export", exportPath,
          "Write the trained model as ONNX, or its weights alone if the name "
          "ends in .safetensors")
      ->type_name("FILE")
      ->group(group);
  addChoice(app, "--export-weights", exportWeights, kExportWeights,
            "Export and predict with the weights of the best evaluation or of "
            "the last step [best with --best or --early-stop, else last]")
      ->group(group);
  addText(app, "--predict", predict,
          "Write the model's outputs for --eval-data")
      ->type_name("FILE.npz")
      ->group(group);
}

void SaveOptions::bindAdapters(CLI::App &app) {
  std::string group = "Files";
  addText(app, "--init-adapter", initAdapter,
          "Start from the adapter that PEFT wrote into this folder")
      ->type_name("DIR")
      ->group(group);
  addText(
      app, "--export-adapter", exportAdapter,
      "Write the adapter into this folder, as PEFT and ONNX Runtime read it")
      ->type_name("DIR")
      ->group(group);
}

void SaveOptions::bindCheckpoints(CLI::App &app) {
  std::string group = "Checkpoints";
  CLI::Option *folder =
      addText(app, "--save", save, "Write checkpoints into this folder")
          ->type_name("DIR")
          ->group(group);
  app.add_option("--save-every", saveEvery,
                 "Save every N steps, not only at the end")
      ->type_name("N")
      ->check(atLeast(1))
      ->needs(folder)
      ->group(group);
  app.add_flag("--overwrite", overwrite,
               "Remove the checkpoints of an earlier run from the folder of "
               "--save when this one begins")
      ->needs(folder)
      ->disable_flag_override()
      ->group(group);
  app.add_option("--keep", keep, "Keep the newest N checkpoints")
      ->type_name("N")
      ->check(atLeast(1))
      ->capture_default_str()
      ->group(group);
  addText(app, "--best", best,
          "Also keep the checkpoint whose evaluation was best by this metric, "
          "such as eval_loss or eval_accuracy; --early-stop follows it as well")
      ->type_name("METRIC")
      ->group(group);
  addText(app, "--resume", resume,
          "Continue from the latest checkpoint in this folder")
      ->type_name("DIR")
      ->excludes("--init")
      ->group(group);
  if (CLI::Option *adapter = app.get_option_no_throw("--init-adapter"))
    adapter->excludes("--resume");
}

void SaveOptions::writeNothing(bool keepsShards) {
  exportPath.reset();
  exportAdapter.reset();
  predict.reset();
  if (!keepsShards)
    save.reset();
}
