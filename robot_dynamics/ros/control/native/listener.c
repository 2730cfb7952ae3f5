/* See listener.h. */
#include "listener.h"

#include <rcl/error_handling.h>
#include <rmw/rmw.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 10 };                            /* of messages that wait for a look */
enum { BRAKE_PLACE = 4 };                       /* of the value in a message, behind its header [bytes] */

struct rd_listener {
    rcl_node_t *node;
    rcl_subscription_t efforts, brakes;
    rcl_serialized_message_t message;
    uint8_t own[RD_SENDER_BYTES];
    int identified;
};

static int subscribe(rd_listener *listener, rcl_subscription_t *subscription, const void *type, const char *topic)
{
    rcl_subscription_options_t options = rcl_subscription_get_default_options();
    options.qos.depth = DEPTH;
    /* Every publisher matches, none waits for this subscription, and nothing old counts. */
    options.qos.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
    options.qos.durability = RMW_QOS_POLICY_DURABILITY_VOLATILE;
    options.rmw_subscription_options.ignore_local_publications = true;
    const int made = rcl_subscription_init(subscription, listener->node, type, topic, &options) == RCL_RET_OK;
    const rcl_ret_t freed = rcl_subscription_options_fini(&options);
    return made && freed == RCL_RET_OK;
}

void rd_listener_stop(rd_listener *listener)
{
    rcl_subscription_t *const both[] = {&listener->efforts, &listener->brakes};
    for (int i = 0; i < 2; ++i) {
        if (both[i]->impl && rcl_subscription_fini(both[i], listener->node) != RCL_RET_OK) {
            rcl_reset_error();
        }
    }
    if (listener->message.buffer && rcutils_uint8_array_fini(&listener->message) != RCUTILS_RET_OK) {
        rcutils_reset_error();
    }
    free(listener);
}

static int prepare_listener(rd_listener *listener, const void *efforts, const char *topic, const void *brakes,
                   const char *brake_topic)
{
    rcutils_allocator_t allocator = rcutils_get_default_allocator();
    return rcutils_uint8_array_init(&listener->message, 256, &allocator) == RCUTILS_RET_OK
           && subscribe(listener, &listener->efforts, efforts, topic)
           && (!brake_topic || subscribe(listener, &listener->brakes, brakes, brake_topic));
}

rd_listener *rd_listener_start(void *node, const void *efforts, const char *topic, const void *brakes,
                               const char *brake_topic, const void *command, char *reason, size_t reason_size)
{
    rd_listener *listener = calloc(1, sizeof *listener);
    if (!listener) {
        snprintf(reason, reason_size, "no memory");
        return NULL;
    }
    listener->node = node;
    listener->efforts = listener->brakes = rcl_get_zero_initialized_subscription();
    listener->message = rcutils_get_zero_initialized_uint8_array();
    rmw_gid_t own;
    if (!prepare_listener(listener, efforts, topic, brakes, brake_topic)
        || rmw_get_gid_for_publisher(rcl_publisher_get_rmw_handle(command), &own) != RMW_RET_OK) {
        snprintf(reason, reason_size, "%s", rcl_get_error_string().str);
        rcl_reset_error();
        rd_listener_stop(listener);
        return NULL;
    }
    memcpy(listener->own, own.data, RD_SENDER_BYTES);
    return listener;
}

void rd_listener_identity(const rd_listener *listener, uint8_t *own)
{
    memcpy(own, listener->own, RD_SENDER_BYTES);
}

/* The next message that others have sent; whether there was one. */
static int take_other(rd_listener *listener, const rcl_subscription_t *from, rmw_message_info_t *info)
{
    const rcl_ret_t result = rcl_take_serialized_message(from, &listener->message, info, NULL);
    if (result != RCL_RET_OK && result != RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
        rcl_reset_error();
    }
    return result == RCL_RET_OK;
}

void rd_listener_look(rd_listener *listener, rd_host *host)
{
    rmw_message_info_t info = rmw_get_zero_initialized_message_info();
    const int64_t steady = rd_steady_now();
    if (!listener->identified) {
        listener->identified = 1;
        rd_host_identify(host, listener->own);
    }
    rd_host_alive(host, steady);
    for (int i = 0; i < 2 * DEPTH && take_other(listener, &listener->efforts, &info); ++i) {
        rd_host_heard(host, info.publisher_gid.data, steady);
    }
    if (!listener->brakes.impl) {
        return;
    }
    for (int i = 0; i < 2 * DEPTH && take_other(listener, &listener->brakes, &info); ++i) {
        if (listener->message.buffer_length > BRAKE_PLACE) {
            rd_host_heard_brake(host, listener->message.buffer[BRAKE_PLACE] != 0);
        }
    }
}
