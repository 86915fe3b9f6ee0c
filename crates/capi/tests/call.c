/* A call of 20 s over a toy link of 5 Mbit/s, 20 ms there and 20 ms back, controlled through the C ABI. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "paceline.h"

#define SIZE 1212
#define MS UINT64_C(1000000)
#define DELAY (20 * MS)
#define END (20000 * MS)
#define MOST 4096 /* packets under way */

static struct { uint64_t due; PacelineResult result; } link_queue[MOST];
static uint64_t sent, reported, link_free, sequence;

/* What a call of the library answers must be PACELINE_STATUS_OK. */
static void check(PacelineStatus status) {
    if (status != PACELINE_STATUS_OK) {
        fprintf(stderr, "%d: %s\n", status, paceline_last_error());
        exit(1);
    }
}

static void carry(uint64_t now) {
    link_free = (link_free > now ? link_free : now) + SIZE * 8 * UINT64_C(200);
    PacelineResult result = { .sequence = sequence, .size = SIZE, .sent_ns = now, .received = 1 };
    result.arrived_ns = (int64_t)(link_free + DELAY);
    link_queue[sent % MOST].result = result;
    link_queue[sent++ % MOST].due = link_free + 2 * DELAY;
}

int main(int argc, char **argv) {
    PacelineController call;
    PacelineState state;
    uint64_t due, next_send = 0, waiting = 0, next_frame = 0, bytes = 0;
    const char *settings = "target_bitrate_max = 20Mbps; largest_packet = 1212B";
    check(paceline_create(argc > 1 ? argv[1] : "scream", argc > 2 ? argv[2] : NULL, settings, &call));

    for (uint64_t now = 0; now < END; now += MS / 2) {
        while (reported < sent && link_queue[reported % MOST].due <= now) {
            PacelineResult *result = &link_queue[reported++ % MOST].result;
            check(paceline_on_feedback(call, now, result, 1, sizeof *result, 1000));
        }
        PacelineQueue queue = { .bytes = waiting * SIZE, .packets = waiting };
        queue.oldest_ns = waiting ? (int64_t)(now + 20 * MS - next_frame) : PACELINE_UNKNOWN;
        check(paceline_next_timeout(call, &due));
        if (due <= now) {
            check(paceline_on_send_queue(call, now, &queue, sizeof queue));
            check(paceline_on_timeout(call, now));
        }
        if (next_frame <= now) { /* The encoder makes a frame each 20 ms, of the size that the target asks for. */
            check(paceline_state(call, &state, sizeof state));
            uint64_t packets = state.target_bps / 50 / 8 / SIZE + 1;
            waiting += packets;
            queue = (PacelineQueue){ .bytes = waiting * SIZE, .packets = waiting, .oldest_ns = 0, .newest_frame = packets * SIZE };
            check(paceline_on_offered(call, now, packets * SIZE, 1, &queue, sizeof queue));
            next_frame += 20 * MS;
        }
        for (;;) {
            check(paceline_state(call, &state, sizeof state));
            if (!waiting || next_send > now + state.pacing_burst_ns || state.allowed_bytes < SIZE || state.allowed_packets < 1 || sent - reported >= MOST)
                break;
            PacelineSent packet = { .sequence = sequence, .size = SIZE, .app_limited = --waiting == 0 };
            check(paceline_on_sent(call, now, &packet, sizeof packet));
            carry(now);
            sequence++;
            bytes += SIZE;
            next_send = (next_send > now ? next_send : now) + state.pacing_gap_ns
                + (state.pacing_bps ? (uint64_t)(SIZE * 8e9 / (double)state.pacing_bps) : 0);
        }
        PacelineDiscard discard;
        uint8_t taken;
        check(paceline_take_discard(call, &discard, &taken));
        if (taken) {
            waiting = 0;
            PacelineQueue empty = { .oldest_ns = PACELINE_UNKNOWN, .stream = discard.stream };
            check(paceline_on_send_queue(call, now, &empty, sizeof empty));
        }
    }
    printf("%.1f Mbit/s sent, target %.1f Mbit/s, smoothed round-trip time %.0f ms\n", (double)bytes * 8 / (END / 1e9) / 1e6,
        (double)state.target_bps / 1e6, (double)state.srtt_ns / 1e6);
    check(paceline_destroy(call));
    return paceline_state(call, &state, sizeof state) == PACELINE_STATUS_NO_HANDLE ? 0 : 2;
}
