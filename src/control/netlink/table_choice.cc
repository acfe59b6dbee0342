// SPDX-License-Identifier: Apache-2.0
#include "control/netlink/table_choice.h"

#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "penumbra/errors.h"

namespace penumbra::control::netlink {
namespace {

/// Parses a table's number, decimal or, as in iproute2's files, hexadecimal with 0x.
std::optional<std::uint32_t> parse_number(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Adds the names of a file: one `NUMBER NAME` a line, `#` begins a comment.
void read_names(const std::filesystem::path& file, std::map<std::string, std::uint32_t>& names) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string number, name;
    if (!(words >> number >> name)) continue;
    if (const auto parsed = parse_number(number)) names[name] = *parsed;
  }
}

/// Returns the files that iproute2 reads: the distribution's, then the administrator's, which take precedence.
std::vector<std::filesystem::path> files_of_iproute2() {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path folder : {"/usr/lib/iproute2", "/usr/share/iproute2", "/etc/iproute2"}) {
    files.push_back(folder / "rt_tables");
    std::error_code ignored;
    std::vector<std::filesystem::path> more;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "rt_tables.d", ignored)) {
      if (entry.path().extension() == ".conf") more.push_back(entry.path());
    }
    std::ranges::sort(more);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

}  // namespace

TableChoice parse_table(const std::string& text) {
  return parse_table(text, files_of_iproute2());
}

TableChoice parse_table(const std::string& text, const std::vector<std::filesystem::path>& files) {
  if (text.starts_with("vrf ")) {
    std::string name = text.substr(text.find_last_of(' ') + 1);
    if (name.empty() || name.size() >= IFNAMSIZ || text.size() != name.size() + 4) {
      throw std::invalid_argument("expected 'vrf NAME', found " + quote(text));
    }
    return name;
  }
  if (const auto number = parse_number(text)) {
    if (*number == 0) throw std::invalid_argument("there is no table 0");
    return *number;
  }
  std::map<std::string, std::uint32_t> names{
      {"main", RT_TABLE_MAIN}, {"default", RT_TABLE_DEFAULT}, {"local", RT_TABLE_LOCAL}};
  for (const auto& file : files) read_names(file, names);
  if (const auto found = names.find(text); found != names.end()) return found->second;
  std::vector<std::string> known;
  known.reserve(names.size());
  for (const auto& [name, number] : names) known.push_back(name);
  throw std::invalid_argument("there is no routing table " + quote(text) +
                              "; expected a number, 'vrf NAME' or a name; " + did_you_mean_or_list(text, known));
}

}  // namespace penumbra::control::netlink
