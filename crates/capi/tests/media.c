/* A call in RTP between a sender and a receiver: 20 s over a toy link of 5 Mbit/s, 20 ms there and 20 ms back, then 15 s of 1 Mbit/s. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paceline.h"

#define MS UINT64_C(1000000)
#define DELAY (20 * MS)
#define MOST 4096 /* datagrams under way */

typedef struct { uint64_t due; uint32_t length; uint8_t bytes[1500]; } Datagram;
static struct { Datagram datagrams[MOST]; uint64_t in, out; } there, back;

/* What a call of the library answers must be PACELINE_STATUS_OK. */
static void check(PacelineStatus status) {
    if (status != PACELINE_STATUS_OK) {
        fprintf(stderr, "%d: %s\n", status, paceline_last_error());
        exit(1);
    }
}

int main(int argc, char **argv) {
    PacelineSender sender;
    PacelineReceiver receiver;
    PacelineDatagram leaves;
    uint8_t stream, payload[1100];
    uint64_t target = 0, at_five = 0, link_free = 0, frame = 0, came = 0, lost = 0, sequence = 0;
    char settings[200];
    snprintf(settings, sizeof settings, "format = %s; reduced_size = true; seed = 7", argc > 1 ? argv[1] : "rfc8888");
    check(paceline_receiver_create(settings, &receiver));
    check(paceline_receiver_add_stream(receiver, "ssrc = 500; rtx_ssrc = 501"));
    strncat(settings, "; repair = true; target_bitrate_max = 20Mbps", sizeof settings - strlen(settings) - 1);
    check(paceline_sender_create(NULL, NULL, settings, &sender));
    check(paceline_sender_add_stream(sender, 0, "ssrc = 500; rtx_ssrc = 501; target_start = 300kbps", &stream));
    check(paceline_sender_start(sender, 0));
    memset(payload, 7, sizeof payload);

    for (uint64_t now = 0; now < 35000 * MS; now += MS) {
        if (now % (20 * MS) == 0) { /* The encoder makes a frame of the size that the target asks for. */
            check(paceline_sender_target(sender, stream, &target));
            uint64_t size = target / 50 / 8 + 1;
            PacelineMedia media = { .frame = frame, .timestamp = (uint32_t)(frame * 1800), .stream = stream, .payload_type = 96 };
            for (; size > 0; size -= size < sizeof payload ? size : sizeof payload) {
                media.frame_end = media.marker = size <= sizeof payload;
                size_t part = size < sizeof payload ? (size_t)size : sizeof payload;
                check(paceline_sender_push(sender, now, &media, sizeof media, payload, part));
            }
            frame++;
        }
        for (; back.out < back.in && back.datagrams[back.out % MOST].due <= now; back.out++) {
            Datagram *report = &back.datagrams[back.out % MOST];
            check(paceline_sender_receive(sender, now, report->bytes, report->length, 0));
        }
        for (;;) {
            Datagram *next = &there.datagrams[there.in % MOST];
            check(paceline_sender_poll(sender, now, next->bytes, sizeof next->bytes, &leaves, sizeof leaves));
            if (leaves.length == 0)
                break;
            uint64_t rate = now < 20000 * MS ? 5 : 1; /* Mbit/s */
            link_free = (link_free > now ? link_free : now) + leaves.length * 8 * UINT64_C(1000) / rate;
            next->due = link_free + DELAY;
            next->length = leaves.length;
            there.in += ++sequence % 2000 != 0; /* One in 2000 is lost, and sent again. */
        }
        for (; there.out < there.in && there.datagrams[there.out % MOST].due <= now; there.out++) {
            Datagram *datagram = &there.datagrams[there.out % MOST];
            PacelinePacket packet;
            check(paceline_receiver_receive(receiver, now, datagram->bytes, datagram->length, 0, &packet, sizeof packet));
            if (packet.delivered && packet.first) {
                came += datagram->bytes[packet.payload_offset] == 7 || packet.payload_length == 0;
            }
        }
        for (;;) {
            Datagram *next = &back.datagrams[back.in % MOST];
            check(paceline_receiver_poll(receiver, now, next->bytes, sizeof next->bytes, &leaves, sizeof leaves));
            if (leaves.length == 0)
                break;
            next->due = now + DELAY;
            next->length = leaves.length;
            back.in++;
        }
        for (PacelineEvent event = { .kind = 1 }; event.kind != PACELINE_EVENT_KIND_NONE;) {
            check(paceline_sender_poll_event(sender, &event, sizeof event));
            lost += event.kind == PACELINE_EVENT_KIND_DISCARDED;
        }
        if (now == 20000 * MS)
            at_five = target;
    }
    PacelineSenderStatistics statistics;
    check(paceline_sender_statistics(sender, &statistics, sizeof statistics));
    printf("target %.1f Mbit/s of 5, %.1f of 1; %" PRIu64 " packets pushed, %" PRIu64 " discarded, %" PRIu64 " delivered\n",
        (double)at_five / 1e6, (double)target / 1e6, statistics.pushed, lost, came);
    check(paceline_destroy(sender));
    check(paceline_destroy(receiver));
    return paceline_sender_start(sender, 0) == PACELINE_STATUS_NO_HANDLE ? 0 : 2;
}
