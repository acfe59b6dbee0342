// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <linux/xfrm.h>
#include <net/if.h>
#include <sys/socket.h>

#include "control/xfrm/text.h"
#include "control/xfrm/text_words.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::string_view kHidden = "<<Keys hidden>>";

std::string selector_text(const Selector& selector) {
  const std::uint16_t family = selector.family;
  std::string text = fmt::format("src {}/{} dst {}/{} ", to_string(selector.source, family), selector.source_prefix,
                                 to_string(selector.destination, family), selector.destination_prefix);
  if (selector.protocol != 0) text += fmt::format("proto {} ", protocol_name(selector.protocol));
  const auto add_port = [&](const char* word, std::uint16_t port, std::uint16_t mask) {
    if (port == 0 && mask == 0) return;
    text += fmt::format("{} {} ", word, port);
    if (mask != 0xFFFF) text += fmt::format("mask {:#x} ", mask);
  };
  add_port("sport", selector.source_port, selector.source_port_mask);
  add_port("dport", selector.destination_port, selector.destination_port_mask);
  if (selector.interface != 0) {
    char name[IF_NAMESIZE] = {};
    if (if_indextoname(static_cast<unsigned>(selector.interface), name) != nullptr)
      text += fmt::format("dev {} ", name);
  }
  if (selector.user != 0) text += fmt::format("uid {} ", selector.user);
  return text;
}

std::string limits_text(const Limits& limits) {
  const auto amount = [](std::uint64_t limit) { return limit == kUnlimited ? "(INF)" : std::to_string(limit); };
  return fmt::format(
      "\tlifetime config:\n\t  limit: soft {}(bytes), hard {}(bytes)\n"
      "\t  limit: soft {}(packets), hard {}(packets)\n\t  expire add: soft {}(sec), hard {}(sec)\n"
      "\t  expire use: soft {}(sec), hard {}(sec)\n",
      amount(limits.soft_bytes), amount(limits.hard_bytes), amount(limits.soft_packets), amount(limits.hard_packets),
      limits.soft_add_seconds, limits.hard_add_seconds, limits.soft_use_seconds, limits.hard_use_seconds);
}

std::string mark_text(const Mark& mark, std::uint32_t interface_id) {
  std::string text;
  if (mark != Mark{}) text += fmt::format("\tmark {:#x}/{:#x}\n", mark.value, mark.mask);
  if (interface_id != 0) text += fmt::format("\tif_id {:#x}\n", interface_id);
  return text;
}

std::string flags_text(std::uint8_t flags) {
  constexpr const char* kNames[] = {"noecn", "decap-dscp", "nopmtudisc", "wildrecv",
                                    "icmp",  "af-unspec",  "align4",     "esn"};
  std::string text;
  for (unsigned i = 0; i < std::size(kNames); ++i) {
    if ((flags >> i & 1) != 0) text += fmt::format("{} ", kNames[i]);
  }
  return text;
}

std::string replay_text(const Sa& sa) {
  const auto low = [](std::uint64_t number) { return static_cast<std::uint32_t>(number); };
  const Replay& replay = sa.replay;
  if (!sa.settings.has_extended_replay) {
    return fmt::format("\tanti-replay context: seq {:#x}, oseq {:#x}, bitmap {:#010x}\n", low(replay.in),
                       low(replay.out), replay.bitmap.empty() ? 0 : replay.bitmap.front());
  }
  std::string text = fmt::format(
      "\tanti-replay esn context:\n\t seq-hi {:#x}, seq {:#x}, oseq-hi {:#x}, oseq {:#x}\n"
      "\t replay_window {}, bitmap-length {}\n",
      replay.in >> 32U, low(replay.in), replay.out >> 32U, low(replay.out), sa.settings.replay_window,
      replay.bitmap.size());
  for (std::size_t i = 0; i < replay.bitmap.size(); ++i) {
    text += fmt::format("{}{:08x} ", i % 8 == 0 ? (i == 0 ? "\t " : "\n\t ") : "", replay.bitmap[i]);
  }
  return text + (replay.bitmap.empty() ? "" : "\n");
}

std::string algorithms_text(const Algorithms& used) {
  std::string text;
  if (used.aead) text += fmt::format("\taead {} {} {}\n", used.aead->name, kHidden, used.aead->tag_bits);
  if (used.digest) text += fmt::format("\tauth-trunc {} {} {}\n", used.digest->name, kHidden, used.digest->tag_bits);
  if (used.cipher) {
    text += fmt::format("\tenc {} {}\n", used.cipher->name, used.cipher->key_bits == 0 ? "" : kHidden);
  }
  return text;
}

std::string template_text(const Template& wanted) {
  constexpr const char* kShares[] = {"any", "session", "user", "unique"};
  return fmt::format(
      "\ttmpl src {} dst {}\n\t\tproto {} spi {:#010x}({}) reqid {}({:#010x}) mode {}\n"
      "\t\tlevel {} share {} \n\t\tenc-mask {:08x} auth-mask {:08x} comp-mask {:08x}\n",
      to_string(wanted.source, wanted.family), to_string(wanted.id.destination, wanted.family),
      protocol_name(wanted.id.protocol), wanted.id.spi, wanted.id.spi, wanted.request, wanted.request,
      mode_name(wanted.mode), wanted.optional ? "use" : "required", kShares[wanted.share & 3], wanted.ciphers,
      wanted.digests, wanted.compressions);
}

}  // namespace

std::string to_text(const Sa& sa) {
  const SaSettings& settings = sa.settings;
  const std::uint16_t family = settings.id.family;
  std::string text = fmt::format("src {} dst {}\n\tproto {} spi {:#010x}({}) reqid {}({:#010x}) mode {}\n",
                                 to_string(settings.source, family), to_string(settings.id.destination, family),
                                 protocol_name(settings.id.protocol), settings.id.spi, settings.id.spi,
                                 settings.request, settings.request, mode_name(settings.mode));
  text += fmt::format("\treplay-window {} seq {:#010x} flag {}({:#010x})\n",
                      settings.has_extended_replay ? 0 : settings.replay_window, settings.sequence,
                      flags_text(settings.flags), settings.flags);
  if (settings.extra_flags != 0) {
    text += fmt::format("\textra_flag {}{}({:#x})\n",
                        (settings.extra_flags & XFRM_SA_XFLAG_DONT_ENCAP_DSCP) != 0 ? "dont-encap-dscp " : "",
                        (settings.extra_flags & XFRM_SA_XFLAG_OSEQ_MAY_WRAP) != 0 ? "oseq-may-wrap " : "",
                        settings.extra_flags);
  }
  if (settings.output_mark != Mark{}) {
    text += fmt::format("\toutput-mark {:#x}/{:#x}\n", settings.output_mark.value, settings.output_mark.mask);
  }
  text += mark_text(settings.mark, settings.interface_id) + algorithms_text(settings.algorithms);
  if (settings.encapsulation) {
    text += fmt::format("\tencap type espinudp sport {} dport {} addr {}\n", settings.encapsulation->source_port,
                        settings.encapsulation->destination_port, to_string(settings.encapsulation->original, family));
  }
  if (settings.tfc_padding != 0) text += fmt::format("\ttfcpad {}\n", settings.tfc_padding);
  if (settings.care_of) text += fmt::format("\tcoa {}\n", to_string(*settings.care_of, family));
  text += replay_text(sa);
  // An SA for both families has a selector without addresses.
  if (settings.selector.family != 0) text += "\tsel " + selector_text(settings.selector) + "\n";
  return text + limits_text(settings.limits);
}

std::string to_text(const Policy& policy) {
  constexpr const char* kDirections[] = {"in", "out", "fwd"};
  constexpr const char* kShares[] = {"any", "session", "user", "unique"};
  std::string text =
      fmt::format("{}\n\tdir {} action {} index {} priority {} ptype {} share {} flag {}{}({:#010x})\n",
                  selector_text(policy.selector), kDirections[static_cast<std::size_t>(policy.direction)],
                  policy.action == Action::allow ? "allow" : "block", policy.index, policy.priority,
                  policy.type == XFRM_POLICY_TYPE_MAIN ? "main" : "sub", kShares[policy.share & 3],
                  (policy.flags & XFRM_POLICY_LOCALOK) != 0 ? "localok " : "",
                  (policy.flags & XFRM_POLICY_ICMP) != 0 ? "icmp " : "", policy.flags);
  text += mark_text(policy.mark, policy.interface_id) + limits_text(policy.limits);
  for (const Template& wanted : policy.templates) text += template_text(wanted);
  return text;
}

}  // namespace penumbra::control::xfrm
