// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/profile/Nvtx.h"

#include <nvtx3/nvToolsExt.h>

/// Returns null if no tool listens.
static nvtxDomainHandle_t getDomain() {
  static nvtxDomainHandle_t domain = nvtxDomainCreateA("ingot");
  return domain;
}

bool ingot::runtime::isNvtxActive() { return getDomain(); }

void ingot::runtime::pushNvtxRange(const char *name) {
  if (!isNvtxActive())
    return;
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  nvtxDomainRangePushEx(getDomain(), &attributes);
}

void ingot::runtime::popNvtxRange() {
  if (isNvtxActive())
    nvtxDomainRangePop(getDomain());
}
