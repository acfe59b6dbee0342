// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <cstdlib>
#include <iostream>

#include "llvm/ADT/StringExtras.h"

namespace gopt {
namespace {

constexpr const char* kUsage = R"(usage: gopt FILE -o OUT [options] -- COMPILER FLAGS
       gopt --suggest PROFILE FILE -- COMPILER FLAGS

Writes, for each function of FILE that has a foreach, one that hides the misses of its g_expensive accesses.

  -o OUT         the file to write
  --width N      items that take turns, 1 to 256 (16)
  --width any    the functions take the width, as one more parameter: uint32_t gopt_width
  --suffix S     what is put after the name of a function (_gopt)
  --depfile D    writes the files that OUT depends on, as make and ninja read them
  --explain      says for each switch what is kept, why, and how many bytes
  --suggest P    instead of all that: says by a profile of the baseline where a hint would gain how much, and what
                 to write. P is cachegrind's file, what cg_annotate makes of it, what is printed by
                 perf report --stdio -F sample,sym,srcline, or lines "FILE:LINE COUNT"
  -h, --help     this text
)";

bool is_identifier_part(const std::string& text) {
  return llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

unsigned parse_width(const std::string& text) {
  unsigned width = 0;
  if (llvm::StringRef(text).getAsInteger(10, width) || width < 1 || width > Options::kMostWidth) {
    complain("--width takes a number from 1 to 256 or 'any', not '" + text + "'");
  }
  return width;
}

}  // namespace

void complain(const std::string& message) {
  std::cerr << "gopt: " << message << "\n";
  std::exit(2);
}

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  size_t i = 0;
  const auto value = [&] {
    if (i + 1 >= words.size() || words[i + 1] == "--") complain(words[i] + " needs a value");
    return words[++i];
  };
  for (; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    if (word == "-h" || word == "--help") {
      std::cout << kUsage;
      std::exit(0);
    } else if (word == "-o") {
      arguments.output = value();
    } else if (word == "--depfile") {
      arguments.depfile = value();
    } else if (word == "--width") {
      const std::string width = value();
      arguments.options.any_width = width == "any";
      arguments.options.width = arguments.options.any_width ? Options::kMostWidth : parse_width(width);
    } else if (word == "--suffix") {
      arguments.options.suffix = value();
    } else if (word == "--suggest") {
      arguments.profile = value();
    } else if (word == "--explain") {
      arguments.explain = true;
    } else if (word.size() > 1 && word[0] == '-') {
      complain("unknown option '" + word + "'; gopt --help lists them");
    } else if (arguments.file.empty()) {
      arguments.file = word;
    } else {
      complain("one FILE at a time, not '" + arguments.file + "' and '" + word + "'");
    }
  }
  if (i < words.size()) arguments.flags.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  if (arguments.file.empty()) complain("FILE is missing; gopt --help says more");
  if (!arguments.profile.empty()) {
    if (!arguments.output.empty() || arguments.explain) complain("--suggest writes no OUT and explains none");
    return arguments;
  }
  if (!arguments.depfile.empty() && arguments.depfile == arguments.output) {
    complain("-o and --depfile both name " + arguments.output);
  }
  if (arguments.output.empty() && !arguments.explain) complain("-o OUT is missing; gopt --help says more");
  if (arguments.options.suffix.empty() || !is_identifier_part(arguments.options.suffix)) {
    complain("--suffix takes letters, digits and _, not '" + arguments.options.suffix + "'");
  }
  return arguments;
}

}  // namespace gopt
