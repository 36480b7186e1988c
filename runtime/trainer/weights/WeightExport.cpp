// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/WeightExport.h"

#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/JsonLibrary.h"
#include "runtime/core/Text.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/StateValues.h"

#include <filesystem>

using namespace ingot::runtime;

static bool isSafeTensorsFile(const std::string &path) {
  return std::filesystem::path(path).extension() == ".safetensors";
}

void ingot::runtime::checkExportable(const Session &session,
                                     const std::string &path) {
  if (isSafeTensorsFile(path))
    return;
  if (session.getManifest().exportPieces.empty() ||
      !session.getModule().export_literal)
    throw failure("--export", "this trainer cannot export its model",
                  "compile it from an ONNX file that holds a forward graph, "
                  "or export the weights alone: --export FILE.safetensors");
}

/// Writes what belongs to the model by its names, as --init reads it.
static void exportWeights(const Session &session, const std::string &path) {
  SafeTensors weights;
  for (const StateSpec &spec : session.getManifest().states)
    if (spec.role == StateRole::Parameter || spec.role == StateRole::Frozen ||
        spec.role == StateRole::Running)
      weights.tensors[spec.name] = viewState(session, spec);
  AtomicFile file(path);
  writeSafeTensors(file, weights);
  file.commit();
}

void ingot::runtime::checkFinite(Session &session, const std::string &where,
                                 const std::vector<LeavingState> &states) {
  std::vector<std::string> model =
      findNotFinite(session, listModel(session.getManifest()));
  if (!model.empty())
    throw failure(
        where, "not written: the weights are not finite: " + listNames(model),
        "train again from a checkpoint before, with a lower --lr");
  std::vector<std::string> leaving = findNotFinite(session, states);
  if (!leaving.empty())
    throw failure(where,
                  "not written: weights are too large for the types of the "
                  "file: " +
                      listNames(leaving),
                  "export them as they are: --export FILE.safetensors");
}

/// Returns an entry of a model's metadata as it lies in the file, where fields
/// may come in any order.
static std::string makeMetadata(const std::string &key,
                                const std::string &value) {
  auto addText = [](std::string &to, int field, const std::string &text) {
    to += static_cast<char>(field << 3 | 2);
    size_t size = text.size();
    for (; size >= 0x80; size >>= 7)
      to += static_cast<char>(size | 0x80);
    to += static_cast<char>(size);
    to += text;
  };
  std::string entry, whole;
  addText(entry, 1, key);
  addText(entry, 2, value);
  addText(whole, /*metadata_props=*/14, entry);
  return whole;
}

void ingot::runtime::exportModel(Session &session, const std::string &path,
                                 const std::vector<std::string> &classes) {
  const Manifest &manifest = session.getManifest();
  const ingot_module_t &module = session.getModule();
  checkExportable(session, path);
  std::vector<LeavingState> leaving;
  if (!isSafeTensorsFile(path))
    for (const ExportPiece &piece : manifest.exportPieces)
      if (!piece.state.empty())
        leaving.push_back({manifest.findState(piece.state), piece.dtype});
  checkFinite(session, path, leaving);
  if (isSafeTensorsFile(path)) {
    exportWeights(session, path);
    return;
  }
  AtomicFile file(path);
  uint64_t literal = 0;
  std::string converted;
  for (const ExportPiece &piece : manifest.exportPieces) {
    if (piece.state.empty()) {
      uint64_t left = module.export_literal_bytes - literal;
      if (static_cast<uint64_t>(piece.literal) > left)
        throw failure("module manifest: export",
                      "longer than the module's literal bytes",
                      "compile the model again");
      file.write(module.export_literal + literal, piece.literal);
      literal += piece.literal;
      continue;
    }
    const StateSpec &spec = *manifest.findState(piece.state);
    int64_t elements = spec.getElements();
    converted.resize(elements * getSize(piece.dtype));
    readValues(session, spec, 0, elements, converted.data(), piece.dtype);
    file.write(converted);
  }
  const std::vector<std::string> &named =
      classes.empty() ? manifest.classNames : classes;
  if (!named.empty())
    file.write(makeMetadata("classes", nlohmann::json(named).dump()));
  file.commit();
}
