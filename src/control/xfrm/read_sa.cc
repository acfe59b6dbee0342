// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "control/xfrm/algorithms.h"
#include "control/xfrm/fields.h"
#include "control/xfrm/read_message.h"
#include "penumbra/bytes.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::uint32_t kWordBits = 32;
constexpr std::uint16_t kEncapInUdp = 2;  // UDP_ENCAP_ESPINUDP of linux/udp.h

void check_prefix(const xfrm_selector& selector, std::uint16_t family) {
  if (family == AF_UNSPEC) return;
  const unsigned bits = address_bits(family);
  require(bits != 0, EINVAL, "the selector's family is neither IPv4 nor IPv6");
  require(selector.prefixlen_d <= bits && selector.prefixlen_s <= bits, EINVAL,
          "a prefix of the selector is longer than an address");
}

bool has_algorithm(const Attributes& attributes) {
  return attributes.has(XFRMA_ALG_AUTH) || attributes.has(XFRMA_ALG_AUTH_TRUNC) || attributes.has(XFRMA_ALG_CRYPT) ||
         attributes.has(XFRMA_ALG_AEAD);
}

/// Checks which attributes an SA of the protocol takes.
void check_protocol(const xfrm_usersa_info& raw, const Attributes& attributes) {
  const bool auth = attributes.has(XFRMA_ALG_AUTH) || attributes.has(XFRMA_ALG_AUTH_TRUNC);
  const bool aead = attributes.has(XFRMA_ALG_AEAD), crypt = attributes.has(XFRMA_ALG_CRYPT);
  const bool comp = attributes.has(XFRMA_ALG_COMP), padding = attributes.has(XFRMA_TFCPAD);
  switch (raw.id.proto) {
    case IPPROTO_ESP:
      require(!comp, EINVAL, "ESP takes no compression algorithm");
      require(has_algorithm(attributes), EINVAL, "an SA of ESP needs an algorithm");
      require(!aead || (!auth && !crypt), EINVAL, "an AEAD algorithm takes no other algorithm");
      require(!padding || raw.mode == XFRM_MODE_TUNNEL, EINVAL, "TFC padding needs tunnel mode");
      return;
    case IPPROTO_AH:
      require(!aead && !crypt && !comp && !padding && auth, EINVAL, "AH takes an authentication algorithm only");
      return;
    case IPPROTO_COMP:
      require(comp && !aead && !auth && !crypt && !padding, EINVAL, "IPComp takes a compression algorithm only");
      require(ntohl(raw.id.spi) < 0x10000, EINVAL, "the CPI has more than 16 bits");
      return;
    case IPPROTO_DSTOPTS:
    case IPPROTO_ROUTING:
      require(!comp && !has_algorithm(attributes) && !padding && attributes.has(XFRMA_COADDR), EINVAL,
              "an SA of Mobile IPv6 takes a care-of address only");
      return;
    default:
      throw Refused(EINVAL, "unknown protocol " + std::to_string(raw.id.proto));
  }
}

/// Checks that an algorithm's attribute holds the key that it announces.
template <class Raw>
void check_length(const Attributes& attributes, std::uint16_t type) {
  Raw raw{};
  if (!attributes.read(type, raw)) return;
  const std::uint64_t bytes = (std::uint64_t{raw.alg_key_len} + 7) / 8;
  require(attributes.bytes(type).size() >= sizeof(Raw) + bytes, EINVAL, "a key is shorter than announced");
}

std::size_t state_bytes(const xfrm_replay_state_esn& state) {
  return sizeof state + std::size_t{state.bmp_len} * sizeof(std::uint32_t);
}

void check_replay(const xfrm_usersa_info& raw, const Attributes& attributes) {
  xfrm_replay_state_esn state{};
  if (!attributes.read(XFRMA_REPLAY_ESN_VAL, state)) {
    require((raw.flags & XFRM_STATE_ESN) == 0, EINVAL, "extended sequence numbers need XFRMA_REPLAY_ESN_VAL");
    return;
  }
  require(state.bmp_len <= kMostReplayWindow / kWordBits, EINVAL, "a replay window has at most 4096 packets");
  const std::size_t bytes = attributes.bytes(XFRMA_REPLAY_ESN_VAL).size();
  require(bytes >= state_bytes(state) || bytes == sizeof state, EINVAL, "the bitmap is shorter than announced");
  require(raw.id.proto == IPPROTO_ESP || raw.id.proto == IPPROTO_AH, EINVAL,
          "only ESP and AH have an extended replay state");
  require(raw.replay_window == 0, EINVAL, "a window cannot be in the SA and in XFRMA_REPLAY_ESN_VAL");
}

void check_mode(std::uint8_t mode) {
  const bool known = mode == XFRM_MODE_TRANSPORT || mode == XFRM_MODE_TUNNEL || mode == XFRM_MODE_ROUTEOPTIMIZATION ||
                     mode == XFRM_MODE_BEET;
  require(known, EINVAL, "unknown mode");
}

void check(const xfrm_usersa_info& raw, const Attributes& attributes) {
  require(address_bits(raw.family) != 0, EINVAL, "the family is neither IPv4 nor IPv6");
  check_prefix(raw.sel, raw.sel.family);
  check_protocol(raw, attributes);
  check_length<xfrm_algo_aead>(attributes, XFRMA_ALG_AEAD);
  check_length<xfrm_algo_auth>(attributes, XFRMA_ALG_AUTH_TRUNC);
  check_length<xfrm_algo>(attributes, XFRMA_ALG_AUTH);
  check_length<xfrm_algo>(attributes, XFRMA_ALG_CRYPT);
  check_length<xfrm_algo>(attributes, XFRMA_ALG_COMP);
  check_replay(raw, attributes);
  check_mode(raw.mode);
  require(!attributes.has(XFRMA_MTIMER_THRESH) || attributes.has(XFRMA_ENCAP), EINVAL,
          "a threshold of mappings needs an encapsulation");
}

/// Reads one algorithm without its key.
template <class Raw>
Algorithm to_algorithm(const Raw& raw) {
  const std::string_view name(raw.alg_name, sizeof raw.alg_name);
  return {.name = std::string(name.substr(0, name.find('\0'))), .key_bits = raw.alg_key_len, .tag_bits = 0};
}

void copy_key(const Attributes& attributes, std::uint16_t type, std::size_t head, std::uint32_t bits,
              std::uint8_t* to) {
  std::memcpy(to, attributes.bytes(type).data() + head, bits / 8);
}

/// Reads the algorithms of ESP and copies their keys, whose lengths complete() has checked.
void read_algorithms(const Attributes& attributes, Sa& sa, KeyBytes& keys) {
  Algorithms& algorithms = sa.settings.algorithms;
  if (xfrm_algo_aead aead{}; attributes.read(XFRMA_ALG_AEAD, aead)) {
    algorithms.aead = to_algorithm(aead);
    algorithms.aead->tag_bits = aead.alg_icv_len;
    complete(*algorithms.aead, AlgorithmKind::aead, true);
    copy_key(attributes, XFRMA_ALG_AEAD, sizeof aead, aead.alg_key_len, keys.cipher);
  }
  if (xfrm_algo_auth auth{}; attributes.read(XFRMA_ALG_AUTH_TRUNC, auth)) {
    algorithms.digest = to_algorithm(auth);
    algorithms.digest->tag_bits = auth.alg_trunc_len;
    complete(*algorithms.digest, AlgorithmKind::digest, true);
    copy_key(attributes, XFRMA_ALG_AUTH_TRUNC, sizeof auth, auth.alg_key_len, keys.digest);
  } else if (xfrm_algo plain{}; attributes.read(XFRMA_ALG_AUTH, plain)) {
    algorithms.digest = to_algorithm(plain);
    complete(*algorithms.digest, AlgorithmKind::digest, false);
    copy_key(attributes, XFRMA_ALG_AUTH, sizeof plain, plain.alg_key_len, keys.digest);
  }
  if (xfrm_algo crypt{}; attributes.read(XFRMA_ALG_CRYPT, crypt)) {
    algorithms.cipher = to_algorithm(crypt);
    complete(*algorithms.cipher, AlgorithmKind::cipher, false);
    copy_key(attributes, XFRMA_ALG_CRYPT, sizeof crypt, crypt.alg_key_len, keys.cipher);
  }
  check_together(algorithms);
}

void take_extended(const xfrm_replay_state_esn& raw, std::span<const std::uint8_t> bytes, Sa& sa) {
  sa.replay.out = std::uint64_t{raw.oseq_hi} << 32U | raw.oseq;
  sa.replay.in = std::uint64_t{raw.seq_hi} << 32U | raw.seq;
  sa.replay.bitmap.assign(raw.bmp_len, 0);
  if (bytes.size() < state_bytes(raw)) return;  // The sender left out an empty bitmap.
  for (std::size_t i = 0; i < sa.replay.bitmap.size(); ++i) {
    sa.replay.bitmap[i] = load<std::uint32_t>(bytes.data() + sizeof raw + i * sizeof(std::uint32_t));
  }
}

void read_replay(const xfrm_usersa_info& raw, const Attributes& attributes, Sa& sa) {
  sa.settings.replay_window = std::min<std::uint32_t>(raw.replay_window, kWordBits);
  if (xfrm_replay_state_esn state{}; attributes.read(XFRMA_REPLAY_ESN_VAL, state)) {
    require(state.replay_window <= state.bmp_len * kWordBits, EINVAL, "the window is larger than its bitmap");
    require((raw.flags & XFRM_STATE_ESN) == 0 || state.replay_window != 0, EINVAL,
            "extended sequence numbers need a window");
    sa.settings.has_extended_replay = true;
    sa.settings.replay_window = state.replay_window;
    take_extended(state, attributes.bytes(XFRMA_REPLAY_ESN_VAL), sa);
  } else if (const auto plain = attributes.get<xfrm_replay_state>(XFRMA_REPLAY_VAL)) {
    sa.replay = {.out = plain->oseq, .in = plain->seq, .bitmap = {plain->bitmap}};
  }
}

void read_fixed(const xfrm_usersa_info& raw, Sa& sa) {
  SaSettings& settings = sa.settings;
  settings.id = {.destination = to_address(raw.id.daddr),
                 .spi = ntohl(raw.id.spi),
                 .family = raw.family,
                 .protocol = raw.id.proto};
  settings.source = to_address(raw.saddr);
  settings.selector = to_selector(raw.sel);
  // Linux gives a selector without family the family of the SA, unless the flag keeps it open.
  if (raw.sel.family == AF_UNSPEC && (raw.flags & XFRM_STATE_AF_UNSPEC) == 0) settings.selector.family = raw.family;
  settings.limits = to_limits(raw.lft);
  settings.sequence = raw.seq;
  settings.request = raw.reqid;
  settings.mode = static_cast<Mode>(raw.mode);
  settings.flags = raw.flags;
}

void read_extras(const Attributes& attributes, SaSettings& settings) {
  settings.extra_flags = attributes.get<std::uint32_t>(XFRMA_SA_EXTRA_FLAGS).value_or(0);
  settings.encapsulation = read_encapsulation(attributes);
  if (const auto care_of = attributes.get<xfrm_address_t>(XFRMA_COADDR)) settings.care_of = to_address(*care_of);
  settings.tfc_padding = attributes.get<std::uint32_t>(XFRMA_TFCPAD).value_or(0);
  settings.mark = read_whole_mark(attributes);
  if (const auto mark = attributes.get<std::uint32_t>(XFRMA_SET_MARK)) {
    settings.output_mark = {*mark, attributes.get<std::uint32_t>(XFRMA_SET_MARK_MASK).value_or(0xFFFFFFFF)};
  }
  settings.interface_id = attributes.get<std::uint32_t>(XFRMA_IF_ID).value_or(0);
  settings.mapping_threshold = attributes.get<std::uint32_t>(XFRMA_MTIMER_THRESH).value_or(0);
  settings.replay_threshold = attributes.get<std::uint32_t>(XFRMA_REPLAY_THRESH).value_or(0);
  settings.timer_threshold = attributes.get<std::uint32_t>(XFRMA_ETIMER_THRESH).value_or(0);
}

}  // namespace

std::optional<Encapsulation> read_encapsulation(const Attributes& attributes) {
  const auto encap = attributes.get<xfrm_encap_tmpl>(XFRMA_ENCAP);
  if (!encap) return std::nullopt;
  require(encap->encap_type == kEncapInUdp, EPROTONOSUPPORT, "the only encapsulation is ESP in UDP (type 2)");
  return Encapsulation{.type = encap->encap_type,
                       .source_port = ntohs(encap->encap_sport),
                       .destination_port = ntohs(encap->encap_dport),
                       .original = to_address(encap->encap_oa)};
}

Sa read_sa(const xfrm_usersa_info& raw, const Attributes& attributes, KeyStore& keys, std::uint64_t now) {
  check(raw, attributes);
  require(raw.id.proto == IPPROTO_ESP, EPROTONOSUPPORT, "the only protocol is ESP");
  require(raw.mode == XFRM_MODE_TRANSPORT || raw.mode == XFRM_MODE_TUNNEL, EPROTONOSUPPORT,
          "the modes are transport and tunnel");
  require(!attributes.has(XFRMA_OFFLOAD_DEV), EOPNOTSUPP, "there is no offload to a device");
  Sa sa;
  read_fixed(raw, sa);
  read_extras(attributes, sa.settings);
  sa.keys = keys.allocate();
  read_algorithms(attributes, sa, *sa.keys);
  read_replay(raw, attributes, sa);
  if (const auto used = attributes.get<xfrm_lifetime_cur>(XFRMA_LTIME_VAL)) sa.usage = to_usage(*used);
  if (sa.usage.add_time == 0) sa.usage.add_time = now;
  return sa;
}

Sa read_larval(const xfrm_userspi_info& raw, const Attributes& attributes, std::uint64_t now) {
  const std::uint8_t protocol = raw.info.id.proto;
  require(protocol == IPPROTO_AH || protocol == IPPROTO_ESP || protocol == IPPROTO_COMP, EINVAL, "unknown protocol");
  require(protocol != IPPROTO_COMP || raw.max < 0x10000, EINVAL, "a CPI has 16 bits");
  require(raw.min <= raw.max, EINVAL, "the range of SPIs ends before it begins");
  require(address_bits(raw.info.family) != 0, EINVAL, "the family is neither IPv4 nor IPv6");
  Sa sa;
  read_fixed(raw.info, sa);
  SaSettings& settings = sa.settings;
  settings.id.spi = 0;
  settings.flags = 0;
  settings.limits = {};
  // As in Linux, a larval SA selects its two ends. Only its id has a family.
  const auto bits = static_cast<std::uint8_t>(address_bits(raw.info.family));
  settings.selector = {.destination = settings.id.destination,
                       .source = settings.source,
                       .destination_prefix = bits,
                       .source_prefix = bits};
  settings.mark = read_whole_mark(attributes);
  settings.interface_id = attributes.get<std::uint32_t>(XFRMA_IF_ID).value_or(0);
  sa.usage.add_time = now;
  return sa;
}

Mark read_whole_mark(const Attributes& attributes) {
  const auto mark = attributes.get<xfrm_mark>(XFRMA_MARK);
  return mark ? Mark{.value = mark->v, .mask = mark->m} : Mark{};
}

std::uint32_t read_mark(const Attributes& attributes) {
  const Mark mark = read_whole_mark(attributes);
  return mark.value & mark.mask;
}

void apply_event(const Attributes& attributes, Sa& sa) {
  const bool any = attributes.has(XFRMA_LTIME_VAL) || attributes.has(XFRMA_REPLAY_VAL) ||
                   attributes.has(XFRMA_REPLAY_ESN_VAL) || attributes.has(XFRMA_ETIMER_THRESH) ||
                   attributes.has(XFRMA_REPLAY_THRESH);
  require(any, EINVAL, "the message changes nothing");
  xfrm_replay_state_esn state{};
  const bool is_extended = attributes.read(XFRMA_REPLAY_ESN_VAL, state);
  if (is_extended) {
    require(sa.settings.has_extended_replay && state.bmp_len == sa.replay.bitmap.size() &&
                attributes.bytes(XFRMA_REPLAY_ESN_VAL).size() >= state_bytes(state),
            EINVAL, "the SA has another replay state");
  }
  const std::uint64_t sent = sa.replay.out;
  if (is_extended) {
    take_extended(state, attributes.bytes(XFRMA_REPLAY_ESN_VAL), sa);
  } else if (const auto plain = attributes.get<xfrm_replay_state>(XFRMA_REPLAY_VAL)) {
    sa.replay = {.out = plain->oseq, .in = plain->seq, .bitmap = {plain->bitmap}};
  }
  // A sequence number that was lent may have been sent.
  sa.replay.out = std::max(sa.replay.out, sent);
  if (const auto used = attributes.get<xfrm_lifetime_cur>(XFRMA_LTIME_VAL)) sa.usage = to_usage(*used);
  sa.settings.timer_threshold =
      attributes.get<std::uint32_t>(XFRMA_ETIMER_THRESH).value_or(sa.settings.timer_threshold);
  sa.settings.replay_threshold =
      attributes.get<std::uint32_t>(XFRMA_REPLAY_THRESH).value_or(sa.settings.replay_threshold);
}

}  // namespace penumbra::control::xfrm
