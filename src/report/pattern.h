// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace penumbra::report {

/// Returns true if the text matches the pattern. Alternatives are separated by `|`, and one of them must occur in the
/// text. `^` anchors at the beginning, `$` at the end, and `*` matches anything. Case is ignored. An empty pattern
/// matches every text.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace penumbra::report
