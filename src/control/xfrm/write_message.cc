// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/write_message.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/xfrm.h>

#include <algorithm>
#include <cstring>

#include "control/xfrm/fields.h"
#include "control/xfrm/protocol.h"

namespace penumbra::control::xfrm {

void MessageWriter::put_bytes(const void* bytes, std::size_t count) {
  const auto* const first = static_cast<const std::uint8_t*>(bytes);
  buffer_.insert(buffer_.end(), first, first + count);
}

void MessageWriter::put_zeros(std::size_t count) {
  buffer_.resize(buffer_.size() + count);
}

void MessageWriter::pad() {
  buffer_.resize(NLMSG_ALIGN(buffer_.size()));
}

void MessageWriter::begin(std::uint16_t type, std::uint16_t flags, ReplyTo to) {
  begin_ = buffer_.size();
  put(nlmsghdr{
      .nlmsg_len = 0, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = to.sequence, .nlmsg_pid = to.port});
}

void MessageWriter::end() {
  pad();
  const auto length = static_cast<std::uint32_t>(buffer_.size() - begin_);
  std::memcpy(&buffer_[begin_], &length, sizeof length);
}

void MessageWriter::put_attribute_head(std::uint16_t type, std::size_t bytes) {
  pad();
  put(nlattr{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + bytes), .nla_type = type});
}

template <class Raw>
void MessageWriter::put_algorithm(std::uint16_t type, Raw raw, const Algorithm& algorithm, const std::uint8_t* key,
                                  KeyView view) {
  std::memcpy(raw.alg_name, algorithm.name.data(), std::min(algorithm.name.size(), sizeof raw.alg_name - 1));
  raw.alg_key_len = algorithm.key_bits;
  const std::size_t bytes = algorithm.key_bits / 8;
  put_attribute_head(type, sizeof raw + bytes);
  put(raw);
  if (view == KeyView::full) {
    put_bytes(key, bytes);
  } else {
    put_zeros(bytes);
  }
}

void MessageWriter::put_algorithms(const Sa& sa, KeyView view) {
  if (view == KeyView::none || !sa.keys) return;
  const Algorithms& used = sa.settings.algorithms;
  if (used.aead) {
    xfrm_algo_aead raw{};
    raw.alg_icv_len = used.aead->tag_bits;
    put_algorithm(XFRMA_ALG_AEAD, raw, *used.aead, sa.keys->cipher, view);
  }
  if (used.digest) {
    // Programs that do not know truncation read the first attribute.
    put_algorithm(XFRMA_ALG_AUTH, xfrm_algo{}, *used.digest, sa.keys->digest, view);
    xfrm_algo_auth raw{};
    raw.alg_trunc_len = used.digest->tag_bits;
    put_algorithm(XFRMA_ALG_AUTH_TRUNC, raw, *used.digest, sa.keys->digest, view);
  }
  if (used.cipher) put_algorithm(XFRMA_ALG_CRYPT, xfrm_algo{}, *used.cipher, sa.keys->cipher, view);
}

void MessageWriter::put_replay(const Sa& sa) {
  const auto low = [](std::uint64_t number) { return static_cast<std::uint32_t>(number); };
  const auto high = [](std::uint64_t number) { return static_cast<std::uint32_t>(number >> 32U); };
  const std::vector<std::uint32_t>& bitmap = sa.replay.bitmap;
  if (!sa.settings.has_extended_replay) {
    const std::uint32_t word = bitmap.empty() ? 0 : bitmap.front();
    attribute(XFRMA_REPLAY_VAL,
              xfrm_replay_state{.oseq = low(sa.replay.out), .seq = low(sa.replay.in), .bitmap = word});
    return;
  }
  const std::size_t bytes = bitmap.size() * sizeof(std::uint32_t);
  put_attribute_head(XFRMA_REPLAY_ESN_VAL, sizeof(xfrm_replay_state_esn) + bytes);
  xfrm_replay_state_esn raw{};
  raw.bmp_len = static_cast<std::uint32_t>(bitmap.size());
  raw.oseq = low(sa.replay.out);
  raw.oseq_hi = high(sa.replay.out);
  raw.seq = low(sa.replay.in);
  raw.seq_hi = high(sa.replay.in);
  raw.replay_window = sa.settings.replay_window;
  put(raw);
  put_bytes(bitmap.data(), bytes);
}

void MessageWriter::put_mark(const Mark& mark, std::uint32_t interface_id) {
  if (mark.value != 0 || mark.mask != 0) attribute(XFRMA_MARK, xfrm_mark{.v = mark.value, .m = mark.mask});
  if (interface_id != 0) attribute(XFRMA_IF_ID, interface_id);
}

void MessageWriter::put_encapsulation(const Encapsulation& encapsulation) {
  xfrm_encap_tmpl raw{};
  raw.encap_type = encapsulation.type;
  raw.encap_sport = htons(encapsulation.source_port);
  raw.encap_dport = htons(encapsulation.destination_port);
  raw.encap_oa = raw_address(encapsulation.original);
  attribute(XFRMA_ENCAP, raw);
}

void MessageWriter::put_extras(const Sa& sa, KeyView view) {
  const SaSettings& settings = sa.settings;
  if (settings.extra_flags != 0) attribute(XFRMA_SA_EXTRA_FLAGS, settings.extra_flags);
  if (settings.care_of) attribute(XFRMA_COADDR, raw_address(*settings.care_of));
  put_algorithms(sa, view);
  if (settings.encapsulation) put_encapsulation(*settings.encapsulation);
  if (settings.tfc_padding != 0) attribute(XFRMA_TFCPAD, settings.tfc_padding);
  put_replay(sa);
  if (settings.output_mark != Mark{}) {
    attribute(XFRMA_SET_MARK, settings.output_mark.value);
    attribute(XFRMA_SET_MARK_MASK, settings.output_mark.mask);
  }
  put_mark(settings.mark, settings.interface_id);
  if (settings.mapping_threshold != 0) attribute(XFRMA_MTIMER_THRESH, settings.mapping_threshold);
}

void MessageWriter::sa(std::uint16_t type, const Sa& sa, KeyView view, ReplyTo to, std::uint16_t flags) {
  begin(type, flags, to);
  put(raw_sa(sa));
  put_extras(sa, view);
  end();
}

void MessageWriter::sa_removed(const Sa& sa, KeyView view) {
  begin(XFRM_MSG_DELSA, 0, {});
  put(raw_id(sa.settings.id));
  attribute(XFRMA_SA, raw_sa(sa));
  put_extras(sa, view);
  end();
}

void MessageWriter::expire(const Sa& sa, bool hard) {
  begin(XFRM_MSG_EXPIRE, 0, {});
  xfrm_user_expire raw{};
  raw.state = raw_sa(sa);
  raw.hard = hard ? 1 : 0;
  put(raw);
  put_mark(sa.settings.mark, sa.settings.interface_id);
  end();
}

void MessageWriter::acquire(const Sa& larval, const Policy& policy, const Selector& flow) {
  begin(XFRM_MSG_ACQUIRE, 0, {});
  xfrm_user_acquire raw{};
  raw.id.daddr = raw_address(larval.settings.id.destination);
  raw.id.proto = larval.settings.id.protocol;
  raw.saddr = raw_address(larval.settings.source);
  raw.sel = raw_selector(flow);
  raw.policy = raw_policy(policy);
  if (!policy.templates.empty()) {
    raw.aalgos = policy.templates.front().digests;
    raw.ealgos = policy.templates.front().ciphers;
    raw.calgos = policy.templates.front().compressions;
  }
  raw.seq = larval.settings.sequence;
  put(raw);
  put_policy_extras(policy);
  end();
}

void MessageWriter::mapping(const Sa& sa, const Address& new_source, std::uint16_t new_port) {
  begin(XFRM_MSG_MAPPING, 0, {});
  xfrm_user_mapping raw{};
  raw.id = raw_id(sa.settings.id);
  raw.reqid = sa.settings.request;
  raw.old_saddr = raw_address(sa.settings.source);
  raw.old_sport = htons(sa.settings.encapsulation ? sa.settings.encapsulation->source_port : 0);
  raw.new_saddr = raw_address(new_source);
  raw.new_sport = htons(new_port);
  put(raw);
  end();
}

void MessageWriter::event(const Sa& sa, std::uint32_t asked, ReplyTo to) {
  begin(XFRM_MSG_NEWAE, 0, to);
  xfrm_aevent_id raw{};
  raw.sa_id = raw_id(sa.settings.id);
  raw.saddr = raw_address(sa.settings.source);
  raw.reqid = sa.settings.request;
  raw.flags = asked;
  put(raw);
  put_replay(sa);
  attribute(XFRMA_LTIME_VAL, raw_usage(sa.usage));
  if ((asked & XFRM_AE_RTHR) != 0) attribute(XFRMA_REPLAY_THRESH, sa.settings.replay_threshold);
  if ((asked & XFRM_AE_ETHR) != 0) attribute(XFRMA_ETIMER_THRESH, sa.settings.timer_threshold);
  put_mark(sa.settings.mark, sa.settings.interface_id);
  end();
}

void MessageWriter::get_sa(const SaId& id, const Mark& mark) {
  begin(XFRM_MSG_GETSA, NLM_F_REQUEST | NLM_F_ACK, {});
  put(raw_id(id));
  put_mark(mark, 0);
  end();
}

void MessageWriter::get_policy(const Policy& policy) {
  begin(XFRM_MSG_GETPOLICY, NLM_F_REQUEST | NLM_F_ACK, {});
  xfrm_userpolicy_id raw{};
  raw.sel = raw_selector(policy.selector);
  raw.index = policy.index;
  raw.dir = static_cast<std::uint8_t>(policy.direction);
  put(raw);
  put_policy_type(policy.type);
  put_mark(policy.mark, policy.interface_id);
  end();
}

void MessageWriter::set_replay(const Sa& sa) {
  begin(XFRM_MSG_NEWAE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE, {});
  xfrm_aevent_id raw{};
  raw.sa_id = raw_id(sa.settings.id);
  raw.saddr = raw_address(sa.settings.source);
  raw.reqid = sa.settings.request;
  put(raw);
  put_replay(sa);
  put_mark(sa.settings.mark, 0);
  end();
}

void MessageWriter::put_policy_type(std::uint8_t type) {
  xfrm_userpolicy_type raw{};
  raw.type = type;
  attribute(XFRMA_POLICY_TYPE, raw);
}

void MessageWriter::put_policy_extras(const Policy& policy) {
  if (!policy.templates.empty()) {
    put_attribute_head(XFRMA_TMPL, policy.templates.size() * sizeof(xfrm_user_tmpl));
    for (const Template& wanted : policy.templates) put(raw_template(wanted));
  }
  put_policy_type(policy.type);
  put_mark(policy.mark, policy.interface_id);
}

void MessageWriter::policy(std::uint16_t type, const Policy& policy, ReplyTo to, std::uint16_t flags) {
  begin(type, flags, to);
  put(raw_policy(policy));
  put_policy_extras(policy);
  end();
}

void MessageWriter::policy_removed(const Policy& policy) {
  begin(XFRM_MSG_DELPOLICY, 0, {});
  xfrm_userpolicy_id raw{};
  raw.sel = raw_selector(policy.selector);
  raw.index = policy.index;
  raw.dir = static_cast<std::uint8_t>(policy.direction);
  put(raw);
  attribute(XFRMA_POLICY, raw_policy(policy));
  put_policy_extras(policy);
  end();
}

void MessageWriter::migrated(const Migration& migration, bool joined) {
  begin(XFRM_MSG_MIGRATE, 0, {});
  xfrm_userpolicy_id raw{};
  raw.sel = raw_selector(migration.policy.selector);
  raw.dir = static_cast<std::uint8_t>(migration.policy.direction);
  put(raw);
  if (migration.ike) attribute(XFRMA_KMADDRESS, *migration.ike);
  if (migration.encapsulation) put_encapsulation(*migration.encapsulation);
  put_policy_type(migration.policy.type);
  if (joined) put_mark(migration.policy.mark, migration.policy.interface_id);
  if (joined) put_attribute_head(XFRMA_MIGRATE, migration.moves.size() * sizeof(xfrm_user_migrate));
  for (const Move& move : migration.moves) {
    if (!joined) put_attribute_head(XFRMA_MIGRATE, sizeof(xfrm_user_migrate));
    put(raw_move(move));
  }
  end();
}

void MessageWriter::policy_expire(const Policy& policy, bool hard) {
  begin(XFRM_MSG_POLEXPIRE, 0, {});
  xfrm_user_polexpire raw{};
  raw.pol = raw_policy(policy);
  raw.hard = hard ? 1 : 0;
  put(raw);
  put_policy_extras(policy);
  end();
}

void MessageWriter::report(std::uint8_t protocol, const Selector& flow) {
  begin(XFRM_MSG_REPORT, 0, {});
  xfrm_user_report raw{};
  raw.proto = protocol;
  raw.sel = raw_selector(flow);
  put(raw);
  end();
}

void MessageWriter::flushed_sas(std::uint8_t protocol) {
  begin(XFRM_MSG_FLUSHSA, 0, {});
  put(xfrm_usersa_flush{.proto = protocol});
  end();
}

void MessageWriter::flushed_policies(std::uint8_t type) {
  begin(XFRM_MSG_FLUSHPOLICY, 0, {});
  put_policy_type(type);
  end();
}

// Linux reports the sizes of its hash tables. Nobody needs those of the keeper, which are not of a fixed size.
constexpr std::uint32_t kBuckets = 8, kMostBuckets = 1 << 20;

void MessageWriter::sad_info(std::uint32_t asked, std::uint32_t count, ReplyTo to) {
  begin(XFRM_MSG_NEWSADINFO, 0, to);
  put(asked);
  attribute(XFRMA_SAD_CNT, count);
  attribute(XFRMA_SAD_HINFO, xfrmu_sadhinfo{.sadhcnt = kBuckets, .sadhmcnt = kMostBuckets});
  end();
}

void MessageWriter::spd_info(std::uint32_t asked, const std::uint32_t (&in_out_forward)[3], ReplyTo to) {
  begin(XFRM_MSG_NEWSPDINFO, 0, to);
  put(asked);
  xfrmu_spdinfo counts{};
  counts.incnt = in_out_forward[0];
  counts.outcnt = in_out_forward[1];
  counts.fwdcnt = in_out_forward[2];
  attribute(XFRMA_SPD_INFO, counts);
  attribute(XFRMA_SPD_HINFO, xfrmu_spdhinfo{.spdhcnt = kBuckets - 1, .spdhmcnt = kMostBuckets});
  // Prefixes up to these lengths are in Linux's hash table: all host prefixes.
  attribute(XFRMA_SPD_IPV4_HTHRESH, xfrmu_spdhthresh{.lbits = 32, .rbits = 32});
  attribute(XFRMA_SPD_IPV6_HTHRESH, xfrmu_spdhthresh{.lbits = 128, .rbits = 128});
  end();
}

void MessageWriter::default_actions(std::uint8_t in, std::uint8_t forward, std::uint8_t out, ReplyTo to) {
  begin(XFRM_MSG_GETDEFAULT, 0, to);
  put(xfrm_userpolicy_default{.in = in, .fwd = forward, .out = out});
  end();
}

void MessageWriter::revoked(const SaId& id, std::uint16_t flags) {
  begin(PENUMBRA_XFRM_REVOKE, flags, {});
  put(raw_id(id));
  end();
}

void MessageWriter::done(ReplyTo to) {
  begin(NLMSG_DONE, NLM_F_MULTI, to);
  put(std::int32_t{0});
  end();
}

void MessageWriter::answer(const std::uint8_t* request, int error, std::string_view reason, ReplyTo to) {
  const bool has_reason = error != 0 && !reason.empty();
  // The request's payload is not sent back, because it may contain keys.
  const std::uint16_t flags = NLM_F_CAPPED | (has_reason ? NLM_F_ACK_TLVS : 0);
  begin(NLMSG_ERROR, flags, to);
  put(std::int32_t{-error});
  put_bytes(request, sizeof(nlmsghdr));
  if (has_reason) {
    put_attribute_head(NLMSGERR_ATTR_MSG, reason.size() + 1);
    put_bytes(reason.data(), reason.size());
    put_zeros(1);
  }
  end();
}

}  // namespace penumbra::control::xfrm
