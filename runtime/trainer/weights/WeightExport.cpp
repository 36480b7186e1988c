// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/WeightExport.h"

#include "runtime/checkpoint/TensorFiles.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/Text.h"
#include "runtime/core/libraries/JsonLibrary.h"
#include "runtime/core/text/ProtoFields.h"
#include "runtime/trainer/adapters/AdapterPart.h"
#include "runtime/trainer/state/AdapterStates.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/StateValues.h"
#include "runtime/trainer/weights/CodesExport.h"

#include <algorithm>
#include <filesystem>
#include <optional>

using namespace ingot::runtime;

/// Whether the state is a part of an encoded one.
static bool isPart(const Manifest &manifest, const StateSpec &spec) {
  return std::any_of(
      manifest.states.begin(), manifest.states.end(), [&](const auto &whole) {
        return whole.encoding &&
               std::count(whole.encoding->parts.begin(),
                          whole.encoding->parts.end(), spec.name) != 0;
      });
}

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
    if (spec.isModel() && !isPart(session.getManifest(), spec) &&
        // Follows from a weight.
        !(spec.role == StateRole::Frozen &&
          isOfAdapter(session.getManifest(), spec.name)))
      weights.tensors[spec.name] = viewState(session, spec);
  writeTensorFiles(path, weights);
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

//===----------------------------------------------------------------------===//
// Messages of protobuf
//===----------------------------------------------------------------------===//

/// Returns a StringStringEntryProto.
static std::string makeEntry(const std::string &key, const std::string &value) {
  std::string entry;
  addField(entry, 1, key);
  addField(entry, 2, value);
  return entry;
}

/// Returns an entry of a model's metadata as it lies in the file.
static std::string makeMetadata(const std::string &key,
                                const std::string &value) {
  std::string whole;
  addField(whole, /*metadata_props=*/14, makeEntry(key, value));
  return whole;
}

/// Returns an initializer as it lies in the file, whose data is elsewhere.
static std::string makeInitializer(std::string tensor,
                                   const std::string &location, uint64_t offset,
                                   uint64_t length) {
  constexpr int externalData = 13, dataLocation = 14, external = 1;
  addField(tensor, externalData, makeEntry("location", location));
  addField(tensor, externalData, makeEntry("offset", std::to_string(offset)));
  addField(tensor, externalData, makeEntry("length", std::to_string(length)));
  addNumber(tensor, dataLocation, external);
  std::string graph, whole;
  addField(graph, /*initializer=*/5, tensor);
  addField(whole, /*graph=*/7, graph);
  return whole;
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

/// Returns how many pieces come before those of states that are in a file
/// beside the model. Each of these is two pieces, of which the first, which
/// describes it, is literal, as is the last one of the model.
static size_t countModelPieces(const std::vector<ExportPiece> &pieces) {
  for (size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i].state.empty() && pieces[i - 1].state.empty())
      return i;
  return pieces.size();
}

namespace {

/// Writes the pieces of the exported model.
class ModelWriter {
public:
  ModelWriter(const Session &session, const std::string &path, bool merges)
      : session(session), path(path), file(path), merges(merges) {
    if (hasDataFile(session.getManifest(), path))
      data.emplace(getDataPath(path));
  }

  void write(const std::vector<std::string> &classes);

private:
  /// Takes the next literal bytes of the module.
  std::string_view takeLiteral(int64_t count);
  /// Writes the values of a state, with its adapter if that is merged.
  void writeState(const ExportPiece &piece, AtomicFile &to);
  /// Writes a state beside the model.
  void writeApart(const ExportPiece &piece, std::string_view head);

  const Session &session;
  const std::string &path;
  AtomicFile file;
  std::optional<AtomicFile> data;
  bool merges;
  uint64_t taken = 0;
  std::string converted;
  CodesReader codes;
};

} // namespace

std::string_view ModelWriter::takeLiteral(int64_t count) {
  const ingot_module_t &module = session.getModule();
  if (static_cast<uint64_t>(count) > module.export_literal_bytes - taken)
    throw failure("module manifest: export",
                  "longer than the module's literal bytes",
                  "compile the model again");
  std::string_view bytes(module.export_literal + taken, count);
  taken += count;
  return bytes;
}

void ModelWriter::writeState(const ExportPiece &piece, AtomicFile &to) {
  const StateSpec &spec = *session.getManifest().findState(piece.state);
  if (piece.codes) {
    if (!codes)
      codes = ingot_exported_codes()->open(session);
    return to.write(codes(piece));
  }
  constexpr int64_t most = 1 << 20;
  int64_t elements = spec.getWholeElements();
  const AdapterSpec *adapter =
      merges ? findAdapter(session.getManifest(), piece.state) : nullptr;
  MergedReader merged;
  if (adapter)
    merged = ingot_adapters()->openMerged(session, *adapter);
  for (int64_t i = 0; i < elements; i += most) {
    int64_t count = std::min(most, elements - i);
    converted.resize(count * getSize(piece.dtype));
    if (merged)
      merged(i, count, converted.data(), piece.dtype);
    else
      readValues(session, spec, i, count, converted.data(), piece.dtype);
    to.write(converted);
  }
}

void ModelWriter::writeApart(const ExportPiece &piece, std::string_view head) {
  // Readers map tensors from where a page begins.
  constexpr uint64_t page = 4096;
  data->write(std::string((page - data->getSize() % page) % page, '\0'));
  uint64_t offset = data->getSize();
  writeState(piece, *data);
  file.write(makeInitializer(
      std::string(head),
      std::filesystem::path(getDataPath(path)).filename().string(), offset,
      data->getSize() - offset));
}

void ModelWriter::write(const std::vector<std::string> &classes) {
  const std::vector<ExportPiece> &pieces = session.getManifest().exportPieces;
  size_t whole = countModelPieces(pieces);
  for (size_t i = 0; i < whole; ++i)
    if (pieces[i].state.empty())
      file.write(takeLiteral(pieces[i].literal));
    else
      writeState(pieces[i], file);
  for (size_t i = whole; i + 1 < pieces.size(); i += 2)
    writeApart(pieces[i + 1], takeLiteral(pieces[i].literal));
  if (!classes.empty())
    file.write(makeMetadata("classes", nlohmann::json(classes).dump()));
  // The model is only there with its data.
  if (data)
    data->commit();
  file.commit();
}

std::string ingot::runtime::getDataPath(const std::string &path) {
  return path + ".data";
}

bool ingot::runtime::hasDataFile(const Manifest &manifest,
                                 const std::string &path) {
  const std::vector<ExportPiece> &pieces = manifest.exportPieces;
  return countModelPieces(pieces) < pieces.size() && !isSafeTensorsFile(path);
}

void ingot::runtime::exportModel(Session &session, const std::string &path,
                                 const std::vector<std::string> &classes) {
  const Manifest &manifest = session.getManifest();
  checkExportable(session, path);
  std::vector<LeavingState> leaving;
  if (!isSafeTensorsFile(path))
    for (const ExportPiece &piece : manifest.exportPieces)
      if (!piece.state.empty())
        leaving.push_back({manifest.findState(piece.state),
                           piece.codes ? DType::F32 : piece.dtype});
  checkFinite(session, path, leaving);
  if (isSafeTensorsFile(path))
    exportWeights(session, path);
  else
    ModelWriter(session, path, /*merges=*/true)
        .write(classes.empty() ? manifest.classNames : classes);
}

std::string ingot::runtime::exportWithSlots(const Session &session,
                                            const std::string &path) {
  const Manifest &manifest = session.getManifest();
  if (manifest.exportPieces.empty() || !session.getModule().export_literal)
    return "this trainer has no model to export";
  for (const ExportPiece &piece : manifest.exportPieces)
    if (!piece.state.empty() && findAdapter(manifest, piece.state) &&
        (piece.codes || piece.dtype != manifest.findState(piece.state)->dtype))
      return "the weights below adapters are in codes, or in 16 bits, which "
             "have no slots";
  ModelWriter(session, path, /*merges=*/false).write(manifest.classNames);
  try {
    ingot_adapters()->addSlots(session, path);
  } catch (const Error &error) {
    // No model without slots stays under that name.
    std::error_code ignored;
    for (const std::string &name :
         {path, getDataPath(path), getSlotValuesPath(path)})
      std::filesystem::remove(name, ignored);
    if (error.getCode() != ExitCode::BadInput)
      throw;
    return error.getWhat();
  }
  return "";
}
