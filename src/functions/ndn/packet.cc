// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/packet.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>

#include "crypto/digest.h"

namespace penumbra::ndn {
namespace {

/// Lists the types of the elements of an Interest, in their order (section "Interest Packet").
enum InterestType : std::uint32_t {
  kCanBePrefix = 0x21,
  kMustBeFresh = 0x12,
  kForwardingHint = 0x1E,
  kInterestLifetime = 0x0C,
  kHopLimit = 0x22,
  kApplicationParameters = 0x24,
  kInterestSignatureInfo = 0x2C,
  kInterestSignatureValue = 0x2E,
};
constexpr std::array<std::uint32_t, 10> kInterestOrder{
    kNameType,         kCanBePrefix, kMustBeFresh,           kForwardingHint,        kNonceType,
    kInterestLifetime, kHopLimit,    kApplicationParameters, kInterestSignatureInfo, kInterestSignatureValue};

enum DataType : std::uint32_t { kMetaInfo = 0x14, kContent = 0x15, kSignatureInfo = 0x16, kSignatureValue = 0x17 };
constexpr std::array<std::uint32_t, 5> kDataOrder{kNameType, kMetaInfo, kContent, kSignatureInfo, kSignatureValue};

bool is_number(Bytes value) {
  return value.size() == 1 || value.size() == 2 || value.size() == 4 || value.size() == 8;
}

std::uint64_t number_of(Bytes value) {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : value) number = number << 8 | byte;
  return number;
}

/// Visits the known elements in their order, each at most once. `visit` gets the element and the bytes from its first
/// byte on.
///
/// Unknown elements and elements out of order are ignored, unless their type is critical: below 32 or odd (section
/// "Considerations for Evolvability"). Returns false for critical elements, for invalid elements, and if `visit`
/// returns false.
template <std::size_t size, class Visit>
bool for_each_known(Bytes value, const std::array<std::uint32_t, size>& order, Visit visit) {
  auto next = order.begin();
  for (Element element; !value.empty();) {
    const Bytes from = value;
    if (!take_element(value, element)) return false;
    const auto found = std::find(next, order.end(), element.type);
    if (found != order.end()) {
      if (!visit(element, from)) return false;
      next = found + 1;
    } else if (element.type < 32 || element.type % 2 == 1) {
      return false;
    }
  }
  return true;
}

/// Holds the parameter digests in a name.
struct ParametersDigest {
  std::size_t count = 0;
  Bytes last;
};

bool is_name(Bytes name, ParametersDigest& digest) {
  for (Element component; !name.empty();) {
    if (!take_component(name, component)) return false;
    if (component.type != kParametersDigestType) continue;
    ++digest.count;
    digest.last = component.value;
  }
  return true;
}

/// True if the digest in the name is correct. Parameters require exactly one digest over the bytes from the parameters
/// on; a name without parameters must have none (section "Name", "ParametersSha256DigestComponent"). `parameters` is
/// empty if there are none.
bool is_digest_right(const ParametersDigest& digest, Bytes parameters) {
  if (parameters.empty()) return digest.count == 0;
  return digest.count == 1 && std::ranges::equal(sha256(parameters), digest.last);
}

bool parse_interest(Bytes value, NdnPacket& packet) {
  ParametersDigest digest;
  Bytes parameters;
  const auto visit = [&](const Element& element, Bytes from) {
    const Bytes part = element.value;
    const std::uint8_t* const end = part.data() + part.size();
    switch (element.type) {
      case kNameType:
        packet.name = part;
        packet.nonce_place = end;
        return !part.empty() && is_name(part, digest);
      case kCanBePrefix:
      case kMustBeFresh:
        packet.nonce_place = end;
        return part.empty();
      case kForwardingHint:
        packet.nonce_place = end;
        return true;
      case kNonceType:
        packet.nonce_place = nullptr;
        return part.size() == 4;
      case kInterestLifetime:
        return is_number(part);
      case kHopLimit:
        packet.hop_limit = part.data();
        return part.size() == 1;
      case kApplicationParameters:
        parameters = from;
        return true;
      default:
        return true;
    }
  };
  return for_each_known(value, kInterestOrder, visit) && !packet.name.empty() && is_digest_right(digest, parameters);
}

bool parse_data(Bytes value, NdnPacket& packet) {
  bool has_name = false;
  int signature_parts = 0;
  const bool is_well_formed = for_each_known(value, kDataOrder, [&](const Element& element, Bytes /*from*/) {
    if (element.type == kNameType) {
      packet.name = element.value;
      has_name = true;
      ParametersDigest of_the_interest;
      return is_name(element.value, of_the_interest);
    }
    signature_parts += element.type == kSignatureInfo || element.type == kSignatureValue ? 1 : 0;
    return has_name;
  });
  return is_well_formed && has_name && signature_parts == 2;
}

PacketFault parse_network(Bytes bytes, bool padded, bool is_nack, NdnPacket& packet) {
  Bytes rest = bytes;
  Element element;
  if (!take_element(rest, element)) return PacketFault::malformed;
  if (!padded && !rest.empty()) return PacketFault::malformed;
  packet.network = bytes.first(bytes.size() - rest.size());
  if (element.type == kInterestType) {
    packet.kind = is_nack ? PacketKind::nack : PacketKind::interest;
    return parse_interest(element.value, packet) ? PacketFault::none : PacketFault::malformed;
  }
  if (element.type != kDataType) return PacketFault::unknown_type;
  packet.kind = PacketKind::data;
  return !is_nack && parse_data(element.value, packet) ? PacketFault::none : PacketFault::malformed;
}

/// Returns the reason in the header of a Nack, or kNackNoReason. Returns std::nullopt if the header is malformed.
std::optional<std::uint64_t> nack_reason(Bytes value) {
  std::uint64_t reason = kNackNoReason;
  const std::array<std::uint32_t, 1> order{kNackReasonType};
  const bool is_well_formed = for_each_known(value, order, [&reason](const Element& element, Bytes /*from*/) {
    reason = is_number(element.value) ? number_of(element.value) : kNackNoReason;
    return is_number(element.value);
  });
  return is_well_formed ? std::optional(reason) : std::nullopt;
}

/// Holds the fields of an LpPacket.
struct LpFields {
  Bytes fragment;
  bool has_fragment = false, is_nack = false;
  std::uint64_t fragment_index = 0, fragment_count = 1;
};

/// True for the types from 800 to 959 whose last two bits are 0, which NDNLPv2 allows to be ignored.
bool may_be_ignored(std::uint32_t type) {
  return type >= 800 && type <= 959 && type % 4 == 0;
}

PacketFault read_lp_field(const Element& field, LpFields& fields, NdnPacket& packet) {
  constexpr auto kNone = PacketFault::none, kMalformed = PacketFault::malformed;
  switch (field.type) {
    case kFragmentType:
      fields.fragment = field.value;
      fields.has_fragment = true;
      return kNone;
    case kSequenceType:
      return field.value.size() == 8 ? kNone : kMalformed;
    case kFragIndexType:
      fields.fragment_index = number_of(field.value);
      return is_number(field.value) ? kNone : kMalformed;
    case kFragCountType:
      fields.fragment_count = number_of(field.value);
      return is_number(field.value) && fields.fragment_count > 0 ? kNone : kMalformed;
    case kPitTokenType:
      packet.token = field.value;
      return !field.value.empty() && field.value.size() <= kMostTokenBytes ? kNone : kMalformed;
    case kNackType: {
      const auto reason = nack_reason(field.value);
      packet.nack_reason = reason.value_or(kNackNoReason);
      fields.is_nack = true;
      return reason ? kNone : kMalformed;
    }
    default:
      return may_be_ignored(field.type) ? kNone : PacketFault::unknown_lp_field;
  }
}

/// Fields must be in the order of their types, with the fragment last. Only Ack may occur more than once.
PacketFault parse_lp_packet(Bytes value, NdnPacket& packet) {
  LpFields fields;
  std::uint32_t before = 0;
  for (Element field; !value.empty();) {
    if (!take_element(value, field) || fields.has_fragment) return PacketFault::malformed;
    if (field.type != kFragmentType) {
      if (field.type < before || (field.type == before && field.type != kAckType)) return PacketFault::malformed;
      before = field.type;
    }
    const PacketFault fault = read_lp_field(field, fields, packet);
    if (fault != PacketFault::none) return fault;
  }
  if (fields.fragment_index >= fields.fragment_count) return PacketFault::malformed;
  if (!fields.has_fragment || fields.fragment.empty()) return PacketFault::idle;
  if (fields.fragment_count > 1) return PacketFault::fragmented;
  return parse_network(fields.fragment, false, fields.is_nack, packet);
}

}  // namespace

PacketFault parse_packet(Bytes bytes, bool padded, NdnPacket& packet) {
  packet = {};
  Bytes rest = bytes;
  Element element;
  if (!take_element(rest, element)) return PacketFault::malformed;
  if (element.type != kLpPacketType) return parse_network(bytes, padded, false, packet);
  if (!padded && !rest.empty()) return PacketFault::malformed;
  return parse_lp_packet(element.value, packet);
}

bool is_localhost(Bytes name) {
  constexpr std::string_view kLocalhost = "\x08\x09localhost";
  return name.size() >= kLocalhost.size() && std::equal(kLocalhost.begin(), kLocalhost.end(), name.begin());
}

}  // namespace penumbra::ndn
