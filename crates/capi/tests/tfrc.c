/* A controller with a receiver half: 60 s of packets over a toy link without queue of which one packet in 100 is lost. */
#include <stdio.h>
#include <stdlib.h>

#include "paceline.h"

#define SIZE 1000
#define MS UINT64_C(1000000)
#define DELAY (50 * MS)
#define MOST 8192 /* packets, or messages, under way */

static struct { uint64_t due; PacelineArrival packet; } there[MOST];
static struct { uint64_t due; PacelineMessage message; } back[MOST];

/* What a call of the library answers must be PACELINE_STATUS_OK. */
static void check(PacelineStatus status) {
    if (status != PACELINE_STATUS_OK) {
        fprintf(stderr, "%d: %s\n", status, paceline_last_error());
        exit(1);
    }
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "tfrc";
    PacelineController sender;
    PacelineHalf half;
    PacelineState state;
    uint64_t due, next_send = 0, sequence = 0, in = 0, out = 0, messages = 0, read = 0, late = 0;
    check(paceline_create(kind, NULL, "largest_packet = 1000B", &sender));
    check(paceline_half_create(kind, NULL, "largest_packet = 1000B", &half));
    PacelineQueue queue = { .bytes = 100 * SIZE, .packets = 100, .newest_frame = SIZE };
    check(paceline_on_offered(sender, 0, 100 * SIZE, 1, &queue, sizeof queue));

    for (uint64_t now = 0; now < 60000 * MS; now += MS / 2) {
        for (; read < messages && back[read % MOST].due <= now; read++)
            check(paceline_on_message(sender, now, &back[read % MOST].message, sizeof back[0].message));
        check(paceline_next_timeout(sender, &due));
        if (due <= now) {
            check(paceline_on_send_queue(sender, now, &queue, sizeof queue));
            check(paceline_on_timeout(sender, now));
        }
        for (;;) {
            check(paceline_state(sender, &state, sizeof state));
            if (next_send > now || state.allowed_bytes < SIZE || state.allowed_packets < 1 || in - out >= MOST)
                break;
            PacelineArrival packet = { .sequence = sequence, .size = SIZE, .sent_ns = now };
            check(paceline_annotation(sender, now, 0, &packet.annotation, sizeof packet.annotation));
            PacelineSent sent = { .sequence = sequence, .size = SIZE };
            check(paceline_on_sent(sender, now, &sent, sizeof sent));
            if (++sequence % 100 != 0) {
                there[in % MOST].due = now + DELAY;
                there[in++ % MOST].packet = packet;
            }
            late += now > 30000 * MS;
            next_send = (next_send > now ? next_send : now) + state.pacing_gap_ns
                + (state.pacing_bps ? (uint64_t)(SIZE * 8e9 / (double)state.pacing_bps) : 0);
        }
        for (uint8_t report_now = 0;; report_now = 0) {
            if (out < in && there[out % MOST].due <= now)
                check(paceline_half_on_arrival(half, now, &there[out++ % MOST].packet, sizeof there[0].packet, &report_now));
            else {
                check(paceline_half_next_timeout(half, &due));
                if (due > now)
                    break;
                report_now = 1;
            }
            uint8_t taken = 0;
            if (report_now)
                check(paceline_half_report(half, now, &back[messages % MOST].message, sizeof back[0].message, &taken));
            back[messages % MOST].due = now + DELAY;
            messages += taken;
        }
    }
    printf("%.2f Mbit/s in the last 30 s, smoothed round-trip time %.0f ms\n", (double)late * SIZE * 8 / 30e6,
        (double)state.srtt_ns / 1e6);
    check(paceline_destroy(sender));
    check(paceline_destroy(half));
    return 0;
}
