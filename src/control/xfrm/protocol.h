// SPDX-License-Identifier: Apache-2.0
//
// Messages between the keeper, the preload library and the data plane that XFRM does not have. They are netlink
// messages with types above XFRM's. A C compiler must accept this header (integrations/xfrm).
#ifndef PENUMBRA_CONTROL_XFRM_PROTOCOL_H
#define PENUMBRA_CONTROL_XFRM_PROTOCOL_H

#include <linux/xfrm.h>

enum penumbra_xfrm_message {
  PENUMBRA_XFRM_HELLO = 0xF0,  /* penumbra_xfrm_hello */
  PENUMBRA_XFRM_LEND,          /* penumbra_xfrm_lend; the answer has the same type */
  PENUMBRA_XFRM_USAGE,         /* penumbra_xfrm_usage */
  PENUMBRA_XFRM_ACQUIRE,       /* penumbra_xfrm_acquire */
  PENUMBRA_XFRM_MAPPING,       /* xfrm_user_mapping */
  PENUMBRA_XFRM_STATUS,        /* no content; the answer has the same type and a text in JSON */
  PENUMBRA_XFRM_REPORT,        /* xfrm_user_report */
  PENUMBRA_XFRM_FIRST_NUMBERS, /* penumbra_xfrm_lend, after the message that announces the SA */
  PENUMBRA_XFRM_REVOKE         /* xfrm_usersa_id: the SA ends at once; with NLM_F_MULTI, a dump tells it again */
};

/* The group of the data plane: like the groups of SAs and policies, but with keys. A listener joins it by an option,
 * because `ip xfrm monitor` asks for all groups. */
#define PENUMBRA_XFRM_GROUP_DATA_PLANE 31

enum penumbra_xfrm_option {
  PENUMBRA_XFRM_TEXT = 1,      /* errors have a text (NETLINK_EXT_ACK) */
  PENUMBRA_XFRM_DATA_PLANE = 2 /* the sender joins PENUMBRA_XFRM_GROUP_DATA_PLANE */
};

/* Sequence numbers that come with the announcement of an SA. */
#define PENUMBRA_XFRM_FIRST_BLOCK 65536

/* Sets what a socket option sets on a netlink socket. */
struct penumbra_xfrm_hello {
  __u32 port;    /* netlink port of the sender */
  __u32 groups;  /* bit N-1 is group N, up to 30 */
  __u32 options; /* bits of penumbra_xfrm_option */
};

/* Borrows sequence numbers, or answers with them: `count` numbers from `first` on. A request names the SA by `id` and
 * `mark`. An answer is for an SA of this id, this mark under this mask, and this key only. */
struct penumbra_xfrm_lend {
  struct xfrm_usersa_id id;
  __u32 mark, mask;
  __u64 first;
  __u8 key[16]; /* fingerprint of the SA's key, without salt; a request leaves it and `first` 0 */
  __u32 count;
  __u32 reserved;
};

/* Reports what an SA has done since the last report. The new words of the replay bitmap follow. */
struct penumbra_xfrm_usage {
  struct xfrm_usersa_id id;
  __u32 mark;
  __u64 bytes, packets;
  __u64 use_time; /* seconds since 1970 of the first packet, or 0 */
  __u64 received; /* highest sequence number received */
  __u32 late, replayed, bad_icv;
  __u32 words;
};

/* Reports a packet whose policy has no SA. */
struct penumbra_xfrm_acquire {
  struct xfrm_selector flow;
  __u32 policy_index;
  __u32 interface_id;
  __u8 direction;
  __u8 type;
};

#endif
