/* SPDX-License-Identifier: Apache-2.0
 *
 * The router's ports by name. The router numbers its ports in the order of its configuration, so a port may have
 * another number after a restart. Requests are kept with ids, which never change. The caller serialises all calls. */
#ifndef PENUMBRA_MEGAFLOW_PORTS_H
#define PENUMBRA_MEGAFLOW_PORTS_H 1

#include <stdbool.h>
#include <stdint.h>

#include "functions/megaflows/wire.h"

/* Asks the router for its ports. Returns true if the number of some port has changed. */
bool megaflow_ports_read(void);

/* Returns the id of a port, from 1 on, or 0 if the router did not have the port at the last megaflow_ports_read(). */
uint32_t megaflow_ports_id(const char* name);

/* Returns true if the last megaflow_ports_read() gave another number to a port of the request, which has ids. */
bool megaflow_ports_concern(const struct megaflows_add*);

/* Replaces the ids of a request by numbers. Returns false if the router lacks one of the ports. */
bool megaflow_ports_number(struct megaflows_add*);

#endif
