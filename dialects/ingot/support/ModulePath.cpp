// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/support/ModulePath.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;

Location ingot::makeNodeLocation(MLIRContext *context, StringRef node,
                                 StringRef module) {
  auto name = StringAttr::get(context, node);
  if (module.empty())
    return NameLoc::get(name);
  return NameLoc::get(name, NameLoc::get(StringAttr::get(context, module)));
}

StringRef ingot::getModulePath(Location location) {
  StringRef path;
  location->walk([&](Location part) {
    auto node = dyn_cast<NameLoc>(part);
    if (!node)
      return WalkResult::advance();
    auto module = dyn_cast<NameLoc>(node.getChildLoc());
    if (!module)
      return WalkResult::skip();
    path = module.getName();
    return WalkResult::interrupt();
  });
  return path;
}

/// Returns the path in the name of a node, such as `/layers.0/q_proj/MatMul`;
/// empty if there is none.
static std::string findPathOfNode(Location location) {
  SmallVector<std::string> names = nodeNames(location, /*most=*/1);
  if (names.empty())
    return "";
  StringRef path = names.front();
  path.consume_front("/");
  path = path.rsplit('/').second.empty() ? StringRef() : path.rsplit('/').first;
  std::string text = path.str();
  llvm::replace(text, '/', '.');
  return text;
}

std::string ingot::findLayerPath(Location location, StringRef weight,
                                 StringRef bias) {
  if (StringRef path = getModulePath(location); !path.empty())
    return path.str();
  StringRef name = weight;
  if (name.consume_back(".weight"))
    return name.str();
  // Exporters give weights that they transpose a name of their own.
  std::string path = findPathOfNode(location);
  if (path.empty())
    return name.str();
  if (bias.consume_back(".bias") && bias.ends_with("." + path))
    return bias.str();
  return path;
}
