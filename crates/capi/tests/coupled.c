/* Two calls of one program over one toy link of 6 Mbit/s, coupled: the first has twice the part of the second. After 40 s the second
 * pauses, and after 50 s it comes back. */
#include <stdio.h>
#include <stdlib.h>

#include "paceline.h"

#define SIZE 1212
#define MS UINT64_C(1000000)
#define DELAY (20 * MS)
#define END 60000
#define MOST 4096 /* packets of a call under way */
#define CALLS 2

typedef struct Call {
    PacelineController controller;
    struct { uint64_t due; PacelineResult result; } link_queue[MOST];
    uint64_t sent, reported, next_send, waiting, bytes[6]; /* of each ten seconds */
} Call;

static Call calls[CALLS];
static uint64_t link_free;

/* What a call of the library answers must be PACELINE_STATUS_OK. */
static void check(PacelineStatus status) {
    if (status != PACELINE_STATUS_OK) {
        fprintf(stderr, "%d: %s\n", status, paceline_last_error());
        exit(1);
    }
}

static void hear(Call *call, uint64_t now) {
    for (; call->reported < call->sent && call->link_queue[call->reported % MOST].due <= now; call->reported++) {
        PacelineResult *result = &call->link_queue[call->reported % MOST].result;
        check(paceline_on_feedback(call->controller, now, result, 1, sizeof *result, 1000));
    }
}

static void offer(Call *call, uint64_t now) {
    PacelineState state;
    check(paceline_state(call->controller, &state, sizeof state));
    uint64_t packets = state.target_bps / 50 / 8 / SIZE + 1;
    call->waiting += packets;
    PacelineQueue queue = { .bytes = call->waiting * SIZE, .packets = call->waiting, .newest_frame = packets * SIZE };
    check(paceline_on_offered(call->controller, now, packets * SIZE, 1, &queue, sizeof queue));
}

static void drive(Call *call, uint64_t now) {
    PacelineState state;
    PacelineDiscard discard;
    PacelineQueue queue = { .bytes = call->waiting * SIZE, .packets = call->waiting, .oldest_ns = PACELINE_UNKNOWN };
    uint64_t due;
    uint8_t taken;
    check(paceline_next_timeout(call->controller, &due));
    if (due <= now) {
        check(paceline_on_send_queue(call->controller, now, &queue, sizeof queue));
        check(paceline_on_timeout(call->controller, now));
    }
    for (;;) {
        check(paceline_state(call->controller, &state, sizeof state));
        if (!call->waiting || call->next_send > now + state.pacing_burst_ns || state.allowed_bytes < SIZE || call->sent - call->reported >= MOST)
            break;
        PacelineSent packet = { .sequence = call->sent, .size = SIZE, .app_limited = --call->waiting == 0 };
        check(paceline_on_sent(call->controller, now, &packet, sizeof packet));
        link_free = (link_free > now ? link_free : now) + SIZE * 8 * UINT64_C(1000) / 6;
        call->link_queue[call->sent % MOST].due = link_free + 2 * DELAY;
        call->link_queue[call->sent % MOST].result = (PacelineResult){ .sequence = call->sent, .size = SIZE, .sent_ns = now,
            .received = 1, .arrived_ns = (int64_t)(link_free + DELAY) };
        call->sent++;
        call->bytes[now / MS / 10000] += SIZE;
        call->next_send = (call->next_send > now ? call->next_send : now)
            + (state.pacing_bps ? (uint64_t)(SIZE * 8e9 / (double)state.pacing_bps) : 0);
    }
    check(paceline_take_discard(call->controller, &discard, &taken));
    if (taken)
        call->waiting = 0;
}

int main(int argc, char **argv) {
    PacelineGroup group;
    PacelineShare share;
    int paused = 0;
    check(paceline_group_create(argc > 1 ? argv[1] : "active", NULL, NULL, &group));
    for (int c = 0; c < CALLS; c++)
        check(paceline_create("scream", "reference-2022", "target_bitrate_max = 20Mbps; largest_packet = 1212B", &calls[c].controller));
    check(paceline_group_join(group, 0, calls[0].controller, 2));
    check(paceline_group_join(group, 0, calls[1].controller, 1));

    for (uint64_t step = 0; step < 2 * END; step++) {
        uint64_t now = step * MS / 2;
        if (now == 40000 * MS) { /* The second call pauses: the first one inherits its rate. */
            check(paceline_group_leave(group, now, calls[1].controller));
            paused = 1;
        }
        if (now == 50000 * MS) {
            check(paceline_group_join(group, now, calls[1].controller, 1));
            paused = 0;
        }
        for (int c = 0; c < CALLS; c++) {
            hear(&calls[c], now);
            if (step % 40 == 0 && !(c == 1 && paused)) /* The encoder makes a frame each 20 ms. */
                offer(&calls[c], now);
            drive(&calls[c], now);
        }
    }
    check(paceline_group_share(group, calls[0].controller, &share, sizeof share));
    for (int ten = 2; ten < 6; ten++)
        printf("%.2f and %.2f Mbit/s; ", (double)calls[0].bytes[ten] * 8 / 1e7, (double)calls[1].bytes[ten] * 8 / 1e7);
    printf("given %.2f of %.2f Mbit/s\n", (double)share.rate_bps / 1e6, (double)share.sum_bps / 1e6);
    check(paceline_destroy(group));
    check(paceline_on_timeout(calls[0].controller, END * MS)); /* Its controllers go on by themselves. */
    for (int c = 0; c < CALLS; c++)
        check(paceline_destroy(calls[c].controller));
    return 0;
}
