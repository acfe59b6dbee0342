// SPDX-License-Identifier: Apache-2.0
//
// Sends arbitrary bytes as a request line to a router that does not run. The answer is always one line of JSON that
// says if the request succeeded. Only the parsing is tested for reloads, which read the files that they name, and for
// libpcap's filters, which may resolve host names.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/scratch_folder.h"
#include "control/config.h"
#include "io/eal.h"
#include "runtime/control_request.h"
#include "runtime/router.h"

using namespace penumbra;

namespace {

class StandingRouter {
 public:
  StandingRouter() : router_((io::start_eal({}, 1), configuration())) {}
  nlohmann::ordered_json answer(std::string_view command, std::string_view topic, runtime::Arguments arguments) {
    const bool filters = std::ranges::find(arguments, "--filter") != arguments.end();
    if (command == "show") return router_.show(topic, arguments);
    if (command == "trace" && !filters) return router_.trace(topic, arguments);
    return {{"command", command}, {"topic", topic}, {"arguments", arguments}};
  }

 private:
  control::RouterConfig configuration() const {
    std::ofstream(folder_ / "routes") << "default via 192.0.2.1 dev wan\n"
                                         "10.0.0.0/8 nexthop via 192.0.2.1 dev wan nexthop via 198.51.100.1 dev lan\n"
                                         "10.1.0.0/16 dev lan\nblackhole 10.2.0.0/16\n";
    std::ofstream(folder_ / "neighbours") << "192.0.2.1 dev wan lladdr 02:00:00:00:00:07\n";
    return control::parse_config(R"(
ports: [{name: wan, device: none}, {name: lan, device: none}]
control: {socket: control.socket}
pipeline: [{ipv4: {routes: routes, neighbours: neighbours}}]
)",
                                 "fuzz.yaml", folder_.path());
  }

  ScratchFolder folder_;
  runtime::Router router_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static StandingRouter router;
  const auto handle = [](std::string_view command, std::string_view topic, runtime::Arguments arguments) {
    return router.answer(command, topic, arguments);
  };
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const std::string text = runtime::answer(handle, line);
  const auto answer = nlohmann::ordered_json::parse(text, nullptr, false);
  if (text.find('\n') != std::string::npos || !answer.is_object() || !answer.at("ok").is_boolean()) std::abort();
  if (answer.at("ok").get<bool>() != answer.contains("result")) std::abort();
  return 0;
}
