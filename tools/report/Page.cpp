// SPDX-License-Identifier: Apache-2.0

#include "tools/report/Page.h"

using namespace ingot;

namespace {
struct Part {
  std::string_view name, text;
};
} // namespace

static constexpr Part kParts[] = {
#include "tools/report/PageParts.inc"
};

static constexpr std::string_view
    kStart = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n",
    kDataStart = "<script type=\"application/json\" id=\"data\">\n",
    kDataEnd = "\n</script>\n";

static std::string escape(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  return result;
}

std::string ingot::makePage(std::string_view title, std::string_view json) {
  std::string page(kStart);
  page += "<title>" + escape(title) + "</title>\n";
  for (const Part &part : kParts)
    if (part.name.ends_with(".css"))
      page += "<style>\n" + std::string(part.text) + "</style>\n";
  page += "<body>\n<noscript>This report is drawn by a script in this file; "
          "allow it to run.</noscript>\n";
  page += kDataStart;
  // Nothing in the data ends the element: in JSON, this character is in strings
  // only.
  for (char c : json)
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  page += kDataEnd;
  page += "<script>\n\"use strict\";\n";
  for (const Part &part : kParts)
    if (part.name.ends_with(".js"))
      page += part.text;
  page += "</script>\n</html>\n";
  return page;
}

std::optional<std::string_view> ingot::findPageData(std::string_view page) {
  if (!page.starts_with(kStart))
    return std::nullopt;
  size_t begin = page.find(kDataStart);
  if (begin == std::string_view::npos)
    return std::nullopt;
  begin += kDataStart.size();
  size_t end = page.find(kDataEnd, begin);
  if (end == std::string_view::npos)
    return std::nullopt;
  return page.substr(begin, end - begin);
}
