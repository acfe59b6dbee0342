// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/messages.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <type_traits>

#include "penumbra/packet.h"

namespace penumbra::megaflows {
namespace {

using packet_fields::all_bits;
using packet_fields::field_bits;
using packet_fields::kFields;
using packet_fields::kPlaces;

static_assert(MEGAFLOWS_WORDS == static_cast<int>(RULES_SPARSE_WORDS));
static_assert(MEGAFLOWS_TP_DST == static_cast<int>(Field::tp_dst) &&
              MEGAFLOWS_ETH_SRC == static_cast<int>(Field::eth_src));
static_assert(MEGAFLOWS_IPV6_LABEL == static_cast<int>(Field::ipv6_label) &&
              MEGAFLOWS_NW_TTL == static_cast<int>(Field::nw_ttl));

/// Takes objects from the front of a message.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> rest) : rest_(rest) {}
  template <class Object>
  bool take(Object& object) {
    static_assert(std::is_trivially_copyable_v<Object>);
    if (rest_.size() < sizeof object) return false;
    std::memcpy(&object, rest_.data(), sizeof object);
    rest_ = rest_.subspan(sizeof object);
    return true;
  }
  bool is_empty() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

template <class Object>
void append(std::vector<std::byte>& message, const Object& object) {
  static_assert(std::is_trivially_copyable_v<Object> && std::has_unique_object_representations_v<Object>);
  const std::size_t at = message.size();
  message.resize(at + sizeof object);
  std::memcpy(message.data() + at, &object, sizeof object);
}

constexpr bool is_within(Number number, Number mask) {
  return (number.high & ~mask.high) == 0 && (number.low & ~mask.low) == 0;
}

std::optional<Action> action_of(const megaflows_action& from) {
  Action action;
  const bool has_numbers = (from.value[0] | from.value[1] | from.mask[0] | from.mask[1]) != 0;
  if (from.type != MEGAFLOWS_SET && has_numbers) return std::nullopt;
  switch (from.type) {
    case MEGAFLOWS_OUTPUT:
      if (from.argument > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
      action.port = static_cast<std::uint16_t>(from.argument);
      return action;
    case MEGAFLOWS_PUSH_VLAN:
      action.kind = Action::Kind::push_vlan;
      action.tpid = static_cast<std::uint16_t>(from.argument >> 16);
      action.tci = static_cast<std::uint16_t>(from.argument);
      return ethertype::is_tag(action.tpid) ? std::optional(action) : std::nullopt;
    case MEGAFLOWS_POP_VLAN:
      action.kind = Action::Kind::pop_vlan;
      return from.argument == 0 ? std::optional(action) : std::nullopt;
    case MEGAFLOWS_METER:
      action.kind = Action::Kind::meter;
      action.meter = from.argument;
      return action;
    case MEGAFLOWS_SET:
      break;
    default:
      return std::nullopt;
  }
  if (from.argument >= kFields || !kPlaces[from.argument].can_be_set) return std::nullopt;
  action.kind = Action::Kind::set_field;
  action.field = static_cast<Field>(from.argument);
  action.value = {from.value[0], from.value[1]};
  action.mask = {from.mask[0], from.mask[1]};
  if (!is_within(action.value, action.mask)) return std::nullopt;
  return is_within(action.mask, all_bits(place_of(action.field).bits)) ? std::optional(action) : std::nullopt;
}

megaflows_action wire_of(const Action& action) {
  megaflows_action to{};
  switch (action.kind) {
    case Action::Kind::output:
      to.type = MEGAFLOWS_OUTPUT;
      to.argument = action.port;
      break;
    case Action::Kind::push_vlan:
      to.type = MEGAFLOWS_PUSH_VLAN;
      to.argument = std::uint32_t{action.tpid} << 16 | action.tci;
      break;
    case Action::Kind::pop_vlan:
      to.type = MEGAFLOWS_POP_VLAN;
      break;
    case Action::Kind::meter:
      to.type = MEGAFLOWS_METER;
      to.argument = action.meter;
      break;
    case Action::Kind::set_field:
      to.type = MEGAFLOWS_SET;
      to.argument = static_cast<std::uint32_t>(action.field);
      to.value[0] = action.value.high;
      to.value[1] = action.value.low;
      to.mask[0] = action.mask.high;
      to.mask[1] = action.mask.low;
      break;
  }
  return to;
}

/// Reads what follows the ufid of MEGAFLOWS_ADD. Returns an errno.
int read_megaflow(MessageReader& reader, const megaflows_add& add, Request& request) {
  static const SparseWords kBits = field_bits();
  if (add.zero != 0 || add.words >> MEGAFLOWS_WORDS != 0 || add.actions > MEGAFLOWS_MOST_ACTIONS) return EINVAL;
  for (std::size_t word = 0; word < MEGAFLOWS_WORDS; ++word) {
    if ((add.words >> word & 1) == 0) continue;
    megaflows_pair pair{};
    if (!reader.take(pair) || pair.mask == 0 || (pair.value & ~pair.mask) != 0) return EINVAL;
    if ((pair.mask & ~kBits[word]) != 0) return EOPNOTSUPP;
    request.match.value[word] = pair.value;
    request.match.mask[word] = pair.mask;
  }
  for (unsigned i = 0; i < add.actions; ++i) {
    megaflows_action from{};
    if (!reader.take(from)) return EINVAL;
    const auto action = action_of(from);
    if (!action) return EOPNOTSUPP;
    request.actions.push_back(*action);
  }
  return reader.is_empty() ? 0 : EINVAL;
}

/// Reads a meter after its header. Returns an errno.
int read_meter(MessageReader& reader, MeterConfig& config) {
  megaflows_meter meter{};
  if (!reader.take(meter) || meter.zero != 0 || meter.unit > 1 || meter.bands > MEGAFLOWS_MOST_BANDS) return EINVAL;
  config.number = meter.meter;
  config.counts_packets = meter.unit == 1;
  for (unsigned i = 0; i < meter.bands; ++i) {
    megaflows_band band{};
    if (!reader.take(band) || band.rate == 0) return EINVAL;
    config.bands.push_back({.rate = band.rate, .burst = band.burst});
  }
  return reader.is_empty() ? 0 : EINVAL;
}

}  // namespace

std::optional<Request> read_request(std::span<const std::byte> message) {
  megaflows_header header{};
  MessageReader reader(message);
  if (message.size() > MEGAFLOWS_MOST_BYTES || !reader.take(header)) return std::nullopt;
  if (header.version != MEGAFLOWS_VERSION || header.bytes != message.size()) return std::nullopt;
  Request request{.type = header.type, .id = header.id, .ufid = {}, .match = {}, .actions = {}};
  MessageReader whole(message);
  if (header.type == MEGAFLOWS_ADD) {
    megaflows_add add{};
    request.error = EINVAL;
    if (!whole.take(add)) return request;
    request.ufid = {add.ufid[0], add.ufid[1]};
    request.error = read_megaflow(whole, add, request);
    return request;
  }
  if (header.type == MEGAFLOWS_METER_SET) {
    request.error = read_meter(whole, request.meter);
    return request;
  }
  megaflows_request plain{};
  const bool is_known = header.type >= MEGAFLOWS_DELETE && header.type <= MEGAFLOWS_METER_COUNTS;
  request.error = !is_known ? EOPNOTSUPP : !whole.take(plain) || !whole.is_empty() ? EINVAL : 0;
  if (request.error == 0) request.ufid = {plain.ufid[0], plain.ufid[1]};
  return request;
}

std::vector<std::byte> write_request(const Request& request) {
  std::vector<std::byte> message;
  const megaflows_header header{MEGAFLOWS_VERSION, request.type, 0, request.id};
  if (request.type == MEGAFLOWS_METER_SET) {
    const MeterConfig& meter = request.meter;
    append(message, megaflows_meter{header, meter.number, static_cast<std::uint8_t>(meter.counts_packets ? 1 : 0),
                                    static_cast<std::uint8_t>(meter.bands.size()), 0});
    for (const MeterBand& band : meter.bands) append(message, megaflows_band{band.rate, band.burst});
  } else if (request.type != MEGAFLOWS_ADD) {
    append(message, megaflows_request{header, {request.ufid[0], request.ufid[1]}});
  } else {
    megaflows_add add{header, {request.ufid[0], request.ufid[1]}, 0, 0, 0};
    add.actions = static_cast<std::uint16_t>(request.actions.size());
    for (std::size_t word = 0; word < MEGAFLOWS_WORDS; ++word) {
      if (request.match.mask[word] != 0) add.words = static_cast<std::uint16_t>(add.words | 1U << word);
    }
    append(message, add);
    for (std::size_t word = 0; word < MEGAFLOWS_WORDS; ++word) {
      const megaflows_pair pair{request.match.value[word], request.match.mask[word]};
      if (pair.mask != 0) append(message, pair);
    }
    for (const Action& action : request.actions) append(message, wire_of(action));
  }
  const auto bytes = static_cast<std::uint16_t>(message.size());
  std::memcpy(message.data() + offsetof(megaflows_header, bytes), &bytes, sizeof bytes);
  return message;
}

std::vector<std::byte> write_reply(const Request& request, const MeterCounts& counts) {
  std::vector<std::byte> message;
  const auto bands = static_cast<std::uint32_t>(counts.dropped.size());
  const auto bytes = static_cast<std::uint16_t>(sizeof(megaflows_reply) + bands * sizeof(megaflows_band_counts));
  const auto type = static_cast<std::uint8_t>(request.type | MEGAFLOWS_REPLY);
  append(message, megaflows_reply{
                      {MEGAFLOWS_VERSION, type, bytes, request.id}, 0, bands, counts.in.packets, counts.in.bytes, 0});
  for (const MeterCounts::Packets& band : counts.dropped) {
    append(message, megaflows_band_counts{band.packets, band.bytes});
  }
  return message;
}

std::vector<std::byte> write_reply(const Request& request, const Reply& reply, std::span<const std::string> ports) {
  std::vector<std::byte> message;
  const auto named =
      static_cast<std::size_t>(std::ranges::count_if(ports, [](const std::string& name) { return !name.empty(); }));
  const std::size_t bytes = sizeof(megaflows_reply) + named * sizeof(megaflows_port);
  const auto told = static_cast<std::uint16_t>(bytes <= std::numeric_limits<std::uint16_t>::max() ? bytes : 0);
  const auto type = static_cast<std::uint8_t>(request.type | MEGAFLOWS_REPLY);
  append(message, megaflows_reply{{MEGAFLOWS_VERSION, type, told, request.id},
                                  static_cast<std::uint32_t>(reply.error),
                                  static_cast<std::uint32_t>(named),
                                  reply.packets,
                                  reply.bytes,
                                  reply.used_ms});
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].empty()) continue;
    megaflows_port port{static_cast<std::uint32_t>(i + 1), 0, {}};
    ports[i].copy(port.name, sizeof port.name - 1);
    append(message, port);
  }
  return message;
}

}  // namespace penumbra::megaflows
