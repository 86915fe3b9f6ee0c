/* The controller of aimd.py as a program: cc -O2 -ffp-contract=off -o aimd aimd.c
 * For machines whose numbers are little-endian, as the messages are. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *message; /* The one that was read, and the place of its next field. */
static size_t place;
static unsigned char answer[4096];
static size_t length;

static void take(void *field, size_t size) { memcpy(field, message + place, size); place += size; }
static void put(const void *field, size_t size) { memcpy(answer + length, field, size); length += size; }

static uint8_t u8(void) { uint8_t value; take(&value, sizeof value); return value; }
static uint16_t u16(void) { uint16_t value; take(&value, sizeof value); return value; }
static uint32_t u32(void) { uint32_t value; take(&value, sizeof value); return value; }
static uint64_t u64(void) { uint64_t value; take(&value, sizeof value); return value; }
static double f64(void) { double value; take(&value, sizeof value); return value; }

static void put_u8(uint8_t value) { put(&value, sizeof value); }
static void put_u16(uint16_t value) { put(&value, sizeof value); }
static void put_u64(uint64_t value) { put(&value, sizeof value); }
static void put_f64(double value) { put(&value, sizeof value); }
static void put_text(const char *text) { put_u16((uint16_t)strlen(text)); put(text, strlen(text)); }

static int read_message(void) {
    uint32_t size;
    if (fread(&size, sizeof size, 1, stdin) != 1) return 0;
    place = 0;
    message = realloc(message, size);
    return message != NULL && fread(message, 1, size, stdin) == size;
}

static void send_message(void) {
    uint32_t size = (uint32_t)length;
    fwrite(&size, sizeof size, 1, stdout);
    fwrite(answer, 1, length, stdout);
    fflush(stdout);
}

static void describe(void) {
    u16(); /* The version of the messages that it speaks. */
    put_u8('d');
    put_u16(1);
    put_text("Additive increase, multiplicative decrease");
    put_text("1.0");
    put_u8('m'); /* It steers media. */
    put_u8(0);   /* It hears neither packets sent, timeouts, recovery nor assignments. */
    put_u16(4);
    put_text("target_bitrate_start"), put_text("1Mbps"), put_text("first rate");
    put_text("step"), put_text("1Mbps"), put_text("increase in a second");
    put_text("factor"), put_text("0.7"), put_text("part of the rate that stays after congestion");
    put_text("wait"), put_text("50ms"), put_text("queue delay that is congestion");
}

static double rate, step, factor, wait_s, base = INFINITY, last, cut;

static void start(double now) {
    u32(), u8(), u64(); /* Largest packet, L4S, first window. */
    for (uint16_t streams = u16(); streams > 0; streams--) f64();
    for (uint16_t parameters = u16(); parameters > 0; parameters--) {
        char name[32] = "";
        uint16_t letters = u16();
        memcpy(name, message + place, letters < sizeof name - 1 ? letters : sizeof name - 1);
        place += letters;
        u8(); /* n: all are numbers. */
        double value = f64();
        if (strcmp(name, "target_bitrate_start") == 0) rate = value;
        if (strcmp(name, "step") == 0) step = value;
        if (strcmp(name, "factor") == 0) factor = value;
        if (strcmp(name, "wait") == 0) wait_s = value;
    }
    last = now;
}

static void report(double now) {
    int congested = 0;
    double rtt = 0.0;
    for (uint32_t packets = u32(); packets > 0; packets--) {
        u8(), u64(), u32(); /* Stream, sequence number, size. */
        double sent = f64();
        uint8_t state = u8();
        double arrived = f64();
        rtt = now - sent;
        if (isnan(arrived)) {
            congested = 1;
            continue;
        }
        double delay = arrived - sent;
        if (delay < base) base = delay;
        if (state == 2 || delay - base > wait_s) congested = 1;
    }
    if (!congested) {
        rate += step * (now - last);
    } else if (now - cut > 2.0 * rtt) {
        rate = rate * factor > 0.1 ? rate * factor : 0.1;
        cut = now;
    }
    last = now;
}

int main(void) {
    while (read_message()) {
        uint8_t letter = u8();
        length = 0;
        if (letter == 'D') {
            describe();
        } else {
            uint64_t number = u64();
            double now = f64();
            if (letter == 'S') start(now);
            if (letter == 'R') report(now);
            put_u8('a'), put_u64(number);
            put_u8(3); /* The first two of the four fields count. */
            put_f64(rate), put_f64(1.5 * rate), put_f64(0.0), put_f64(0.0);
        }
        send_message();
    }
    return 0;
}
