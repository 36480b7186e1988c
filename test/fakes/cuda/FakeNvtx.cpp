// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A tool that NVTX loads (NVTX_INJECTION64_PATH): it records ranges as the
// other fakes record calls, and that they nest.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/Fakes.h"

#include <nvtx3/nvToolsExt.h>
#include <string>

using fakes::record;

static int depth = 0;
static std::string domainName;

static nvtxDomainHandle_t createDomain(const char *name) {
  domainName = name;
  return reinterpret_cast<nvtxDomainHandle_t>(&domainName);
}

static int push(nvtxDomainHandle_t, const nvtxEventAttributes_t *attributes) {
  if (attributes->version != NVTX_VERSION ||
      attributes->size != NVTX_EVENT_ATTRIB_STRUCT_SIZE)
    record("violation", " attributes of another version of NVTX");
  record("nvtxRangePush", " domain=%s depth=%d name=%s", domainName.c_str(),
         depth, attributes->message.ascii);
  return depth++;
}

static int pop(nvtxDomainHandle_t) {
  if (depth == 0)
    record("violation", " an NVTX range is closed that is not open");
  record("nvtxRangePop", " depth=%d", --depth);
  return depth;
}

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t getTable) {
  auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(
      getTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
    return 0;
  auto set = [&](int index, auto *function) {
    *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CBID_CORE2_DomainCreateA, createDomain);
  set(NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
