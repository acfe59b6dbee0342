/* SPDX-License-Identifier: Apache-2.0
 *
 * Translates a megaflow of Open vSwitch to the router's words and actions. docs/functions/megaflows.md of Penumbra has
 * the places of the fields. */
#include "megaflow-encode.h"

#include <config.h>
#include <errno.h>
#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "packets.h"
#include "unaligned.h"

/* The match, as values and masks of whole keys. */
struct words {
  uint64_t value[MEGAFLOWS_WORDS];
  uint64_t mask[MEGAFLOWS_WORDS];
};

static void put(struct words* words, int word, int shift, uint64_t value, uint64_t mask) {
  words->value[word] |= (value & mask) << shift;
  words->mask[word] |= mask << shift;
}

static uint64_t number_of_mac(const struct eth_addr mac) {
  return eth_addr_to_uint64(mac);
}

static uint64_t half_of(const struct in6_addr* address, int half) {
  return ntohll(get_unaligned_be64((const ovs_be64*)&address->s6_addr[8 * half]));
}

static void put_ipv6(struct words* words, int word, const struct in6_addr* value, const struct in6_addr* mask) {
  for (int half = 0; half < 2; half++) {
    put(words, word + half, 0, half_of(value, half), half_of(mask, half));
  }
}

/* Puts the fields that the router has, and clears their masks in `wc`. */
static void put_fields(struct words* words, const struct flow* flow, struct flow* wc) {
  put(words, 0, 16, number_of_mac(flow->dl_src), number_of_mac(wc->dl_src));
  put(words, 1, 16, number_of_mac(flow->dl_dst), number_of_mac(wc->dl_dst));
  put(words, 1, 0, ntohs(flow->dl_type), ntohs(wc->dl_type));
  put(words, 2, 48, ntohs(flow->vlans[0].tpid), ntohs(wc->vlans[0].tpid));
  put(words, 2, 32, ntohs(flow->vlans[0].tci), ntohs(wc->vlans[0].tci));
  put(words, 2, 16, ntohs(flow->tcp_flags), ntohs(wc->tcp_flags));
  put(words, 3, 32, ntohl(flow->nw_src), ntohl(wc->nw_src));
  put(words, 3, 0, ntohl(flow->nw_dst), ntohl(wc->nw_dst));
  put(words, 4, 48, ntohs(flow->tp_src), ntohs(wc->tp_src));
  put(words, 4, 32, ntohs(flow->tp_dst), ntohs(wc->tp_dst));
  put(words, 4, 24, flow->nw_proto, wc->nw_proto);
  put(words, 4, 16, flow->nw_tos, wc->nw_tos);
  put(words, 4, 8, flow->nw_ttl, wc->nw_ttl);
  put(words, 4, 0, flow->nw_frag & FLOW_NW_FRAG_MASK, wc->nw_frag & FLOW_NW_FRAG_MASK);
  put(words, 5, 32, ntohl(flow->ipv6_label) & IPV6_LABEL_MASK, ntohl(wc->ipv6_label) & IPV6_LABEL_MASK);
  put(words, 5, 0, ntohl(flow->mpls_lse[0]), ntohl(wc->mpls_lse[0]));
  put_ipv6(words, 6, &flow->ipv6_src, &wc->ipv6_src);
  put_ipv6(words, 8, &flow->ipv6_dst, &wc->ipv6_dst);
  put_ipv6(words, 10, &flow->nd_target, &wc->nd_target);
  put(words, 12, 16, number_of_mac(flow->arp_sha), number_of_mac(wc->arp_sha));
  put(words, 13, 16, number_of_mac(flow->arp_tha), number_of_mac(wc->arp_tha));
  memset(&wc->in_port, 0, sizeof wc->in_port);
  memset(&wc->dl_dst, 0, sizeof wc->dl_dst);
  memset(&wc->dl_src, 0, sizeof wc->dl_src);
  memset(&wc->vlans[0], 0, sizeof wc->vlans[0]);
  memset(&wc->ipv6_src, 0, sizeof wc->ipv6_src);
  memset(&wc->ipv6_dst, 0, sizeof wc->ipv6_dst);
  memset(&wc->nd_target, 0, sizeof wc->nd_target);
  memset(&wc->arp_sha, 0, sizeof wc->arp_sha);
  memset(&wc->arp_tha, 0, sizeof wc->arp_tha);
  wc->dl_type = wc->tcp_flags = wc->tp_src = wc->tp_dst = 0;
  wc->nw_src = wc->nw_dst = wc->ipv6_label = wc->mpls_lse[0] = 0;
  wc->nw_proto = wc->nw_tos = wc->nw_ttl = wc->nw_frag = 0;
}

/* A packet of the router has 0 in all fields that the router lacks, unless it has such headers. */
static int encode_match(const struct match* match, uint32_t in_port, struct words* words) {
  struct flow wc = match->wc.masks;
  const uint8_t *flow_bytes = (const uint8_t*)&match->flow, *wc_bytes = (const uint8_t*)&wc;
  const bool has_nd_options = match->flow.nw_proto == IPPROTO_ICMPV6 && wc.tcp_flags;

  if (!is_all_zeros(&wc.mpls_lse[1], sizeof wc.mpls_lse - sizeof wc.mpls_lse[0]) ||
      !is_all_zeros(&wc.nsh, sizeof wc.nsh) || !is_all_zeros(&wc.vlans[1], sizeof wc.vlans[1]) || wc.igmp_group_ip4 ||
      has_nd_options) {
    return EOPNOTSUPP;
  }
  put(words, 0, 0, in_port, UINT16_MAX);
  put_fields(words, &match->flow, &wc);
  for (size_t i = 0; i < sizeof wc; i++) {
    if (flow_bytes[i] & wc_bytes[i]) {
      return EOPNOTSUPP;
    }
  }
  return 0;
}

/* The actions of a request. */
struct actions {
  struct megaflows_action* next;
  size_t n;
};

static struct megaflows_action* add_action(struct actions* actions, uint32_t type, uint32_t argument) {
  struct megaflows_action* action;

  if (actions->n == MEGAFLOWS_MOST_ACTIONS) {
    return NULL;
  }
  action = &actions->next[actions->n++];
  memset(action, 0, sizeof *action);
  action->type = type;
  action->argument = argument;
  return action;
}

static int set_field(struct actions* actions, uint32_t field, const uint64_t value[2], const uint64_t mask[2]) {
  struct megaflows_action* action;

  if (!(mask[0] | mask[1])) {
    return 0;
  }
  action = add_action(actions, MEGAFLOWS_SET, field);
  if (!action) {
    return EOPNOTSUPP;
  }
  for (int half = 0; half < 2; half++) {
    action->value[half] = value[half] & mask[half];
    action->mask[half] = mask[half];
  }
  return 0;
}

static int set_number(struct actions* actions, uint32_t field, uint64_t value, uint64_t mask) {
  const uint64_t values[2] = {0, value}, masks[2] = {0, mask};

  return set_field(actions, field, values, masks);
}

static int set_ipv6(struct actions* actions, uint32_t field, const void* value, const void* mask) {
  struct in6_addr addresses[2];
  uint64_t values[2], masks[2];

  memcpy(&addresses[0], value, sizeof addresses[0]);
  memcpy(&addresses[1], mask, sizeof addresses[1]);
  for (int half = 0; half < 2; half++) {
    values[half] = half_of(&addresses[0], half);
    masks[half] = half_of(&addresses[1], half);
  }
  return set_field(actions, field, values, masks);
}

/* Sets the fields of a key of the datapath whose `mask` has bits. Fragments and protocols cannot be set. */
static int set_key(struct actions* actions, int type, const void* key, const void* mask, size_t len) {
  switch (type) {
    case OVS_KEY_ATTR_ETHERNET: {
      const struct ovs_key_ethernet *k = key, *m = mask;

      return len != sizeof *k
                 ? EOPNOTSUPP
                 : set_number(actions, MEGAFLOWS_ETH_SRC, number_of_mac(k->eth_src), number_of_mac(m->eth_src)) |
                       set_number(actions, MEGAFLOWS_ETH_DST, number_of_mac(k->eth_dst), number_of_mac(m->eth_dst));
    }
    case OVS_KEY_ATTR_IPV4: {
      const struct ovs_key_ipv4 *k = key, *m = mask;

      return len != sizeof *k ? EOPNOTSUPP
                              : set_number(actions, MEGAFLOWS_NW_SRC, ntohl(k->ipv4_src), ntohl(m->ipv4_src)) |
                                    set_number(actions, MEGAFLOWS_NW_DST, ntohl(k->ipv4_dst), ntohl(m->ipv4_dst)) |
                                    set_number(actions, MEGAFLOWS_NW_TOS, k->ipv4_tos, m->ipv4_tos) |
                                    set_number(actions, MEGAFLOWS_NW_TTL, k->ipv4_ttl, m->ipv4_ttl);
    }
    case OVS_KEY_ATTR_IPV6: {
      const struct ovs_key_ipv6 *k = key, *m = mask;

      return len != sizeof *k ? EOPNOTSUPP
                              : set_ipv6(actions, MEGAFLOWS_IPV6_SRC, &k->ipv6_src, &m->ipv6_src) |
                                    set_ipv6(actions, MEGAFLOWS_IPV6_DST, &k->ipv6_dst, &m->ipv6_dst) |
                                    set_number(actions, MEGAFLOWS_IPV6_LABEL, ntohl(k->ipv6_label) & IPV6_LABEL_MASK,
                                               ntohl(m->ipv6_label) & IPV6_LABEL_MASK) |
                                    set_number(actions, MEGAFLOWS_NW_TOS, k->ipv6_tclass, m->ipv6_tclass) |
                                    set_number(actions, MEGAFLOWS_NW_TTL, k->ipv6_hlimit, m->ipv6_hlimit);
    }
    case OVS_KEY_ATTR_TCP:
    case OVS_KEY_ATTR_UDP:
    case OVS_KEY_ATTR_SCTP: {
      /* The keys have the same form. */
      const struct ovs_key_tcp *k = key, *m = mask;

      return len != sizeof *k ? EOPNOTSUPP
                              : set_number(actions, MEGAFLOWS_TP_SRC, ntohs(k->tcp_src), ntohs(m->tcp_src)) |
                                    set_number(actions, MEGAFLOWS_TP_DST, ntohs(k->tcp_dst), ntohs(m->tcp_dst));
    }
    default:
      return EOPNOTSUPP;
  }
}

static int set_attribute(struct actions* actions, const struct nlattr* key, bool is_masked) {
  const uint8_t* value = nl_attr_get(key);
  size_t len = nl_attr_get_size(key);
  uint8_t all[128];

  if (is_masked) {
    return set_key(actions, nl_attr_type(key), value, value + len / 2, len / 2);
  }
  if (len > sizeof all) {
    return EOPNOTSUPP;
  }
  memset(all, UINT8_MAX, len);
  return set_key(actions, nl_attr_type(key), value, all, len);
}

static int encode_actions(struct actions* actions, const struct nlattr* from, size_t len, megaflow_port_of* port_of,
                          const void* aux) {
  const struct nlattr* a;
  unsigned int left;

  NL_ATTR_FOR_EACH_UNSAFE(a, left, from, len) {
    int type = nl_attr_type(a), error = 0;

    if (type == OVS_ACTION_ATTR_OUTPUT) {
      uint32_t port = port_of(nl_attr_get_odp_port(a), aux);

      error = port && add_action(actions, MEGAFLOWS_OUTPUT, port) ? 0 : EOPNOTSUPP;
    } else if (type == OVS_ACTION_ATTR_PUSH_VLAN) {
      const struct ovs_action_push_vlan* vlan = nl_attr_get(a);
      uint32_t tag = (uint32_t)ntohs(vlan->vlan_tpid) << 16 | (ntohs(vlan->vlan_tci) & ~VLAN_CFI);

      error = add_action(actions, MEGAFLOWS_PUSH_VLAN, tag) ? 0 : EOPNOTSUPP;
    } else if (type == OVS_ACTION_ATTR_METER) {
      error = add_action(actions, MEGAFLOWS_METER, nl_attr_get_u32(a)) ? 0 : EOPNOTSUPP;
    } else if (type == OVS_ACTION_ATTR_POP_VLAN) {
      error = add_action(actions, MEGAFLOWS_POP_VLAN, 0) ? 0 : EOPNOTSUPP;
    } else if (type == OVS_ACTION_ATTR_DROP) {
      return 0; /* The packet has left by the outputs before. */
    } else if (type == OVS_ACTION_ATTR_SET || type == OVS_ACTION_ATTR_SET_MASKED) {
      error = set_attribute(actions, nl_attr_get(a), type == OVS_ACTION_ATTR_SET_MASKED);
    } else {
      error = EOPNOTSUPP;
    }
    if (error) {
      return EOPNOTSUPP;
    }
  }
  return 0;
}

int megaflow_encode(const struct match* match, const struct nlattr* actions, size_t actions_len, const ovs_u128* ufid,
                    megaflow_port_of* port_of, const void* aux, struct megaflow_add* to) {
  struct megaflows_add* add = (struct megaflows_add*)to->message;
  struct megaflows_pair* pair = (struct megaflows_pair*)(add + 1);
  struct actions made = {.n = 0};
  struct words words;
  uint32_t in_port = port_of(match->flow.in_port.odp_port, aux);
  int error;

  memset(&words, 0, sizeof words);
  memset(add, 0, sizeof *add);
  if (!in_port) {
    return EOPNOTSUPP;
  }
  error = encode_match(match, in_port, &words);
  if (error) {
    return error;
  }
  add->header.type = MEGAFLOWS_ADD;
  add->ufid[0] = ufid->u64.hi;
  add->ufid[1] = ufid->u64.lo;
  for (int word = 0; word < MEGAFLOWS_WORDS; word++) {
    if (words.mask[word]) {
      add->words |= 1u << word;
      pair->value = words.value[word];
      pair->mask = words.mask[word];
      pair++;
    }
  }
  made.next = (struct megaflows_action*)pair;
  error = encode_actions(&made, actions, actions_len, port_of, aux);
  add->actions = made.n;
  to->bytes = (uint8_t*)&made.next[made.n] - (uint8_t*)to->message;
  return error;
}
