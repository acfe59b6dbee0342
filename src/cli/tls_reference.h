// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

/// Adds `reference` to the command `tls`.
void set_up_reference(CLI::App& command);

}  // namespace penumbra::cli
