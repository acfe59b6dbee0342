// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace penumbra::report {

/// Whether the text has what the pattern says: parts of it, of which one has to be there, stand between `|`; `^` before
/// one binds it to the text's begin, `$` behind it to the end, and `*` in it stands for anything. Letters' case does
/// not count. An empty pattern is in every text.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace penumbra::report
