/* Hears what others send on a node's own topics: efforts, and commands to the brakes. */
#ifndef RD_LISTENER_H
#define RD_LISTENER_H

#include "node.h"
#include "ownership.h"

/* API */

/* NULL with rcl's reason in `reason` (so many bytes) if it cannot be.
 * node: rcl's; efforts, brakes: type supports of the messages; command: the node's own publisher of efforts; brake_topic
 * NULL: there are no brakes. */
rd_listener *rd_listener_start(void *node, const void *efforts, const char *topic, const void *brakes,
                               const char *brake_topic, const void *command, char *reason, size_t reason_size);
/* The identity of the node's own publisher of efforts. */
void rd_listener_identity(const rd_listener *listener, uint8_t *own);
void rd_listener_stop(rd_listener *listener);
/* In the loop's thread, before a state is answered: take what has come, and let the host decide. */
void rd_listener_look(rd_listener *listener, rd_host *host);

/* end of API */

#endif
