// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace penumbra::cli {

/// `penumbra gen routes`
void set_up_gen_routes(CLI::App& command);
/// `penumbra gen traffic`
void set_up_gen_traffic(CLI::App& command);
/// `penumbra gen rules`
void set_up_gen_rules(CLI::App& command);
/// `penumbra gen headers`
void set_up_gen_headers(CLI::App& command);

}  // namespace penumbra::cli
