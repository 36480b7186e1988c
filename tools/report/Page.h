// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The page of a report: one HTML file with its data, its style and its scripts,
// which needs nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_REPORT_PAGE_H
#define INGOT_TOOLS_REPORT_PAGE_H

#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// Makes the page that shows a report. `json` is an object with `title`,
/// `compilations` and `runs` (docs/guide/reports.md).
std::string makePage(std::string_view title, std::string_view json);

/// Returns the JSON of a page that makePage made; nothing of any other text.
std::optional<std::string_view> findPageData(std::string_view page);

} // namespace ingot

#endif // INGOT_TOOLS_REPORT_PAGE_H
