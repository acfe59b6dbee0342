// SPDX-License-Identifier: Apache-2.0
//
// Checks that each text is either read as an access list or refused with a place. The stored words of an entry must
// parse to the same entry. compare() must find a valid common subsequence of a list and its reverse.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "functions/acl/entry.h"
#include "functions/rule_list/list.h"
#include "testing/fuzzing.h"

namespace {

namespace acl = penumbra::acl;

bool are_like(const std::vector<acl::Entry>& a, const std::vector<acl::Entry>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_like(b[i])) return false;
  }
  return true;
}

void check(std::string_view text, acl::Family family) {
  const std::vector<acl::Entry> entries = acl::parse_entries(text, "fuzz", family);
  std::string again;
  for (const acl::Entry& entry : entries) again += entry.text + "\n";
  if (!are_like(entries, acl::parse_entries(again, "again", family))) std::abort();
  const std::vector<acl::Entry> turned(entries.rbegin(), entries.rend());
  const penumbra::rule_list::Changes changes = penumbra::rule_list::compare<acl::Entry>(entries, turned);
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < turned.size(); ++i) {
    if (changes.kept[i] == 0) continue;
    if (changes.kept[i] <= last || !turned[i].is_like(entries[changes.kept[i] - 1])) std::abort();
    last = changes.kept[i];
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = penumbra::fuzzing::text_of(data, size);
  for (const acl::Family family : {acl::Family::both, acl::Family::ipv4, acl::Family::ipv6}) {
    penumbra::fuzzing::read_or_refuse([&] { check(text, family); });
  }
  return 0;
}
