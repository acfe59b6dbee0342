/* SPDX-License-Identifier: Apache-2.0
 *
 * What the shaders that classify packets have in common: keys, and a line of memory for each rule. They say which rule
 * wins; how they find those that match is what tells them apart.
 *
 * Every key is decided by one state of the rules that existed. A view's `state` counts commits. A reader loads it once
 * for each key, and of the rules that it comes across it takes those that were there in that state: added by then, and
 * not yet taken out. The owner writes what it changes for the state to come, then counts; it clears away what was taken
 * out when nobody can be reading in an older state any more (a grace period). So however many rules a commit adds,
 * takes out or exchanges, a reader sees all of it or nothing. (PacketShader, section 7, and GSwitch, section IV, leave
 * updates to future work.) */
#ifndef PENUMBRA_SHADERS_RULES_H
#define PENUMBRA_SHADERS_RULES_H

#include "penumbra/shader.h"

enum {
  RULES_NONE = 0,         /* the answer if no rule matches: rules are numbered from 1 */
  RULES_WORDS = 5,        /* of a wide key */
  RULES_NARROW_WORDS = 2, /* of a narrow one */
  RULES_SOURCE_PORT_SHIFT = 48,
  RULES_DESTINATION_PORT_SHIFT = 32
};

/* The 5-tuple of IPv4 (penumbra/rule.h says what stands where). */
struct rules_narrow_key {
  uint64_t word[RULES_NARROW_WORDS];
};

/* The 5-tuple of IPv6, or the 12 fields of OpenFlow 1.0. */
struct rules_key {
  uint64_t word[RULES_WORDS];
};

/* A line for each rule, by its number. */
struct rules_record {
  uint64_t value[RULES_WORDS]; /* under the mask of its class: its structure's affair */
  uint64_t rank;               /* of the rules that match the one of the highest rank wins; never 0 */
  uint32_t born;               /* the state that it came with */
  uint32_t dies;               /* the first state that is without it */
  uint32_t next;               /* its structure's affair: another rule, or RULES_NONE */
  uint32_t ranges;             /* what is behind the masks of its ports; 0 if nothing is: its structure's affair */
};

/* Ports that no mask can say. */
struct rules_ports {
  uint16_t source_first, source_last;           /* both included */
  uint16_t destination_first, destination_last; /* likewise */
};

/* Whether a rule was there in that state. Of a record that is being written for another rule it says no to whoever may
 * be reading: the owner writes `dies` last, and who sees that sees `born`, which is of a state to come. So what else
 * was read of such a record, in whatever mix, counts for nothing. */
PENUMBRA_SHADER uint32_t rules_is_there(const struct rules_record* record, uint32_t state) {
  const uint32_t dies = penumbra_load_first(&record->dies);
  return (uint32_t)(state < dies) & (uint32_t)(penumbra_load(&record->born) <= state);
}

/* Whether a key's ports, in its last word, are of those. */
PENUMBRA_SHADER uint32_t rules_has_ports(const struct rules_ports* ports, uint64_t last_word) {
  const uint32_t source = (uint32_t)(last_word >> RULES_SOURCE_PORT_SHIFT) & 0xFFFF;
  const uint32_t destination = (uint32_t)(last_word >> RULES_DESTINATION_PORT_SHIFT) & 0xFFFF;
  return (uint32_t)(penumbra_load(&ports->source_first) <= source) &
         (uint32_t)(source <= penumbra_load(&ports->source_last)) &
         (uint32_t)(penumbra_load(&ports->destination_first) <= destination) &
         (uint32_t)(destination <= penumbra_load(&ports->destination_last));
}

#endif
