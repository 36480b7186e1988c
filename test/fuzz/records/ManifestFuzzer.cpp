// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Any bytes as the manifest of a trainer, and what --inspect says of it.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/readers/Fuzzer.h"

#include "runtime/abi/Table.h"
#include "runtime/core/Error.h"
#include "runtime/core/Manifest.h"
#include "runtime/core/text/BoundedJson.h"
#include "runtime/trainer/inspect/Inspect.h"
#include "runtime/trainer/session/ModuleMesh.h"

using namespace ingot::runtime;

void ingot::fuzz::read(std::string_view bytes) {
  try {
    // Seeds are of no version of the ABI, so that they outlive the next one.
    auto json = parseJson(bytes);
    if (json.is_object())
      json["abi"] = INGOT_ABI_VERSION;
    Manifest manifest = parseManifest(
        json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    int64_t fewest = getMesh(manifest, std::nullopt).getSize(~INGOT_DATA);
    for (int64_t data : {1, 2, 1024}) {
      RankMesh mesh = getMesh(manifest, data * fewest);
      touch(inspectAsJson(manifest, mesh));
      touch(inspectAsText(manifest, mesh));
    }
  } catch (const Error &error) {
    if (error.getCode() != ExitCode::Failed || error.getHint().empty())
      throw;
  }
}
