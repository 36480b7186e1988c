// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/weights/CodesChange.h"

#include "runtime/trainer/state/AdapterStates.h"
#include "runtime/trainer/state/StateValues.h"
#include "runtime/trainer/weights/MergedCodes.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <utility>
#include <vector>

using namespace ingot::runtime;
using namespace ingot;

namespace {

/// The bytes of states, which go back when it dies.
class KeptStates {
public:
  explicit KeptStates(Session &session) : session(session) {}
  KeptStates(const KeptStates &) = delete;
  KeptStates &operator=(const KeptStates &) = delete;
  ~KeptStates() {
    for (const auto &[spec, bytes] : kept)
      std::copy(bytes.begin(), bytes.end(), session.getPlace(*spec));
  }

  void keep(const std::string &name) {
    const StateSpec &spec = *session.getManifest().findState(name);
    session.makeOwn(spec);
    const char *place = session.getPlace(spec);
    kept.emplace_back(&spec, std::string(place, spec.getBytes()));
  }

private:
  Session &session;
  std::vector<std::pair<const StateSpec *, std::string>> kept;
};

} // namespace

/// Returns the weights that go to the file merged and in codes.
static std::vector<const ExportPiece *> listMerged(const Manifest &manifest) {
  std::vector<const ExportPiece *> pieces;
  for (const ExportPiece &piece : manifest.exportPieces)
    if (piece.codes && piece.codes->part == CodesPart::Codes &&
        findAdapter(manifest, piece.state))
      pieces.push_back(&piece);
  return pieces;
}

/// Sets the state to the merged weight in codes, and prints how much that
/// changes it.
static void
encodeMerged(Session &session, const ExportPiece &piece,
             const std::function<void(const std::string &)> &print) {
  const StateSpec &spec = *session.getManifest().findState(piece.state);
  const std::vector<float> merged = readMerged(session, spec);
  const std::vector<float> encoded = roundToCodes(spec, *piece.codes, merged);
  double most = 0, sum = 0, size = 0;
  for (size_t i = 0; i < merged.size(); ++i) {
    const double change = std::fabs(encoded[i] - merged[i]);
    most = std::max(most, change);
    sum += change;
    size += std::fabs(merged[i]);
  }
  const auto count = static_cast<double>(merged.size());
  print(fmt::format("merged into {}: {} changes by up to {:.2g}, {:.2g} on "
                    "average, of {:.2g}",
                    getName(piece.codes->kind), piece.state, most, sum / count,
                    size / count));
  writeValues(session, spec, 0, static_cast<int64_t>(encoded.size()),
              encoded.data(), DType::F32);
}

void ingot::runtime::measureCodes(
    Session &session, const std::function<std::optional<double>()> &computeLoss,
    const std::function<void(const std::string &)> &print) {
  const Manifest &manifest = session.getManifest();
  const std::vector<const ExportPiece *> pieces = listMerged(manifest);
  if (pieces.empty())
    return;
  const std::optional<double> before = computeLoss();
  std::optional<double> after;
  {
    KeptStates kept(session);
    for (const ExportPiece *piece : pieces) {
      const StateSpec &spec = *manifest.findState(piece->state);
      const AdapterSpec &adapter = *findAdapter(manifest, piece->state);
      if (spec.encoding)
        for (const std::string &part : spec.encoding->parts)
          kept.keep(part);
      else
        kept.keep(piece->state);
      kept.keep(adapter.b);
      encodeMerged(session, *piece, print);
      const StateSpec &b = *manifest.findState(adapter.b);
      std::vector<float> zeros(b.getWholeElements());
      writeValues(session, b, 0, static_cast<int64_t>(zeros.size()),
                  zeros.data(), DType::F32);
    }
    if (before)
      after = computeLoss();
  }
  if (before && after)
    print(fmt::format("merged into codes: the loss of a batch goes from {:.6g} "
                      "to {:.6g}",
                      *before, *after));
}
