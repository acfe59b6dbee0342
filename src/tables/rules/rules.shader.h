/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys and rule records of all classification shaders. The shaders find the winning rule of each key and differ in how
 * they find matching rules.
 *
 * One state of the rules decides each lookup. A view's `state` counts commits. A reader loads `state` once for each
 * key, and accepts only rules that exist in that state: added by then and not yet removed. The owner writes changes for
 * the next state, then increments `state`. The owner frees removed rules when no reader can read in an older state any
 * more (a grace period). A reader therefore sees all changes of a commit or none, however many there are. PacketShader
 * (section 7) and GSwitch (section IV) leave updates to future work. */
#ifndef PENUMBRA_SHADERS_RULES_H
#define PENUMBRA_SHADERS_RULES_H

#include "penumbra/shader.h"

enum {
  RULES_NONE = 0,         /* the answer if no rule matches: numbers of rules start at 1 */
  RULES_WORDS = 5,        /* words of a wide key */
  RULES_NARROW_WORDS = 2, /* words of a narrow key */
  RULES_SOURCE_PORT_SHIFT = 48,
  RULES_DESTINATION_PORT_SHIFT = 32
};

/* The 5-tuple of IPv4 (penumbra/rule.h describes the layout). */
struct rules_narrow_key {
  uint64_t word[RULES_NARROW_WORDS];
};

/* The 5-tuple of IPv6, or the 12 fields of OpenFlow 1.0. */
struct rules_key {
  uint64_t word[RULES_WORDS];
};

/* A cache line for each rule, by number. */
struct rules_record {
  uint64_t value[RULES_WORDS]; /* masked value; the meaning depends on the structure */
  uint64_t rank;               /* the highest rank of all matching rules wins; never 0 */
  uint32_t born;               /* first state with the rule */
  uint32_t dies;               /* first state without the rule */
  uint32_t next;               /* depends on the structure: another rule, or RULES_NONE */
  uint32_t ranges;             /* port ranges that masks cannot express, or 0; depends on the structure */
};

/* Port ranges that masks cannot express. */
struct rules_ports {
  uint16_t source_first, source_last;           /* both inclusive */
  uint16_t destination_first, destination_last; /* both inclusive */
};

/* Returns true if a rule exists in `state`. Returns false for a record that the owner is rewriting for another rule:
 * the owner writes `dies` last. A reader that sees the new `dies` also sees the new `born`, which is a future state.
 * Other fields that the reader loaded from such a record do not matter. */
PENUMBRA_SHADER uint32_t rules_is_there(const struct rules_record* record, uint32_t state) {
  const uint32_t dies = penumbra_load_first(&record->dies);
  return (uint32_t)(state < dies) & (uint32_t)(penumbra_load(&record->born) <= state);
}

/* Returns true if the ports in a key's last word are in the ranges. */
PENUMBRA_SHADER uint32_t rules_has_ports(const struct rules_ports* ports, uint64_t last_word) {
  const uint32_t source = (uint32_t)(last_word >> RULES_SOURCE_PORT_SHIFT) & 0xFFFF;
  const uint32_t destination = (uint32_t)(last_word >> RULES_DESTINATION_PORT_SHIFT) & 0xFFFF;
  return (uint32_t)(penumbra_load(&ports->source_first) <= source) &
         (uint32_t)(source <= penumbra_load(&ports->source_last)) &
         (uint32_t)(penumbra_load(&ports->destination_first) <= destination) &
         (uint32_t)(destination <= penumbra_load(&ports->destination_last));
}

#endif
