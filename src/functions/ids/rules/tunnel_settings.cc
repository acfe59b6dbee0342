// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/tunnel_settings.h"

#include "functions/ids/rules/source.h"
#include "functions/ids/rules/yaml_values.h"

namespace penumbra::ids {
namespace {

void read_ports(const ConfigNode& tunnel, HeaderSets& sets, PortSet& ports) {
  if (!flag_of(tunnel, "enabled", true)) {
    ports = {};
    return;
  }
  const ConfigNode node = tunnel.get("ports");
  if (!is_set(node)) return;
  const RuleSource source(node.location().file, node.location().line, header_text_of(node));
  try {
    ports = *sets.ports(source, source.text());
  } catch (const RuleError& error) {
    throw node.error(error.what());
  }
}

}  // namespace

TunnelSettings read_tunnel_settings(const ConfigNode& root, const Variables& variables,
                                    std::vector<std::string>& unused) {
  TunnelSettings settings;
  const ConfigNode decoder = root.get("decoder");
  HeaderSets sets(variables);
  for (const std::string& key : decoder.keys()) {
    const ConfigNode node = decoder.get(key);
    if (!is_set(node)) continue;
    if (key == "teredo") {
      read_ports(node, sets, settings.teredo);
    } else if (key == "vxlan") {
      read_ports(node, sets, settings.vxlan);
    } else if (key == "geneve") {
      read_ports(node, sets, settings.geneve);
    } else if (key == "ipv4" && is_set(node.get("ipip"))) {
      settings.ip_in_ip = flag_of(node.get("ipip"), "enabled", true);
    } else {
      unused.push_back("decoder." + key);
    }
  }
  return settings;
}

}  // namespace penumbra::ids
