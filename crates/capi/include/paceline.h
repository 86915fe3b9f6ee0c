/* Paceline: congestion controllers for real-time media. docs/embed.md says how they are used.
 *
 * Every function answers PACELINE_STATUS_OK, or a negative code; paceline_last_error() says what was found and what was
 * expected. Times are nanoseconds of any monotonic clock, sizes are bytes on the link (RTP header and payload), rates are
 * bit/s. A controller is a number: one that was destroyed, or never was, is an error and nothing else. Different
 * controllers may be used by different threads at a time. */

#ifndef PACELINE_H
#define PACELINE_H

/* Written by `make docs` from crates/capi/src; do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A time that never comes, and a size or a count without limit.
#define PACELINE_NEVER UINT64_MAX

// A time that is not known.
#define PACELINE_UNKNOWN -1

// What a call answers: PACELINE_STATUS_OK, or why not.
typedef enum PacelineStatus {
  // It was done.
  PACELINE_STATUS_OK = 0,
  // A pointer that must not be null is.
  PACELINE_STATUS_NULL_POINTER = -1,
  // The size of a struct is not the one that this library knows, or there are too many of them.
  PACELINE_STATUS_WRONG_SIZE = -2,
  // A name, a parameter or a text is wrong.
  PACELINE_STATUS_INVALID = -3,
  // There is no such controller: it was destroyed, or never created.
  PACELINE_STATUS_NO_CONTROLLER = -4,
  // The library failed; that controller is gone. Please report it.
  PACELINE_STATUS_FAILED = -5,
} PacelineStatus;

// What happened to the recovery of a transport that retransmits.
typedef enum PacelineRecovery {
  // Loss was detected and recovery began; `bytes` are declared lost.
  PACELINE_RECOVERY_ENTERED = 0,
  // More was declared lost while recovery lasts.
  PACELINE_RECOVERY_LOST = 1,
  // `bytes` that were declared lost, and not sent again, turned up.
  PACELINE_RECOVERY_FOUND = 2,
  // Everything outstanding at entry is acknowledged.
  PACELINE_RECOVERY_LEFT = 3,
  // The retransmission timer expired.
  PACELINE_RECOVERY_TIMED_OUT = 4,
  // The last reduction was not caused by a loss.
  PACELINE_RECOVERY_SPURIOUS = 5,
  // Opening the connection took a retransmission.
  PACELINE_RECOVERY_SYN_LOST = 6,
} PacelineRecovery;

// A controller: a number that is never given twice; 0 is none.
typedef uint64_t PacelineController;

// What waits in the send queue of a stream.
typedef struct PacelineQueue {
  // Bytes on the link of all that waits.
  uint64_t bytes;
  // Packets that wait.
  uint64_t packets;
  // Wait of the oldest packet; PACELINE_UNKNOWN if the queue is empty.
  int64_t oldest_ns;
  // Bytes on the link of what waits of the newest frame.
  uint64_t newest_frame;
  // Stream of the queue, from 0.
  uint8_t stream;
} PacelineQueue;

// A packet that was handed to the network.
typedef struct PacelineSent {
  // Sequence number in its stream, extended so that it never wraps.
  uint64_t sequence;
  // Bytes on the link, transport header in.
  uint64_t size;
  // Stream of the packet, from 0.
  uint8_t stream;
  // 1 if nothing more waits to be sent: the application limits the sender.
  uint8_t app_limited;
  // 1 if the packet belongs to the probe `probe`.
  uint8_t is_probe;
  // Number of the probe, of paceline_take_probe.
  uint64_t probe;
} PacelineSent;

// What a receiver said of a packet.
typedef struct PacelineResult {
  // Sequence number in its stream, extended so that it never wraps.
  uint64_t sequence;
  // Bytes on the link, as they were sent.
  uint64_t size;
  // When the packet was sent, by the sender's clock.
  uint64_t sent_ns;
  // When the packet arrived, by the receiver's clock (any zero, same rate); PACELINE_UNKNOWN if it did not say.
  int64_t arrived_ns;
  // Stream of the packet, from 0.
  uint8_t stream;
  // 1 if the packet had arrived when the report was written. Whether it is lost is for the controller to say.
  uint8_t received;
  // ECN field on arrival: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
  uint8_t ecn;
} PacelineResult;

// What holds of a controller's answers, and the figures that all controllers share.
typedef struct PacelineState {
  // Bytes that may be sent now; PACELINE_NEVER: no limit.
  uint64_t allowed_bytes;
  // Packets that may be sent now; PACELINE_NEVER: no limit.
  uint64_t allowed_packets;
  // The gap after a packet is its size over this rate; 0: packets are not spaced by a rate.
  uint64_t pacing_bps;
  // The gap after a packet, whatever its size; 0: packets are not spaced by a time.
  uint64_t pacing_gap_ns;
  // Sum of the target bitrates of all streams, headers in; 0: the controller sets none.
  uint64_t target_bps;
  // Congestion window in bytes on the link; PACELINE_NEVER: the controller has none.
  uint64_t window;
  // Bytes in flight as the controller counts them; PACELINE_NEVER: it does not.
  uint64_t in_flight;
  // Smoothed round-trip time; PACELINE_UNKNOWN before it is measured.
  int64_t srtt_ns;
  // Queue delay as the controller estimates it; PACELINE_UNKNOWN where it does not.
  int64_t queue_delay_ns;
  // Stream whose packet goes next; -1: by priority and credit.
  int32_t next_stream;
} PacelineState;

// What to drop from a send queue. Tell paceline_on_send_queue when it is done.
typedef struct PacelineDiscard {
  // Frames that waited longer are dropped; PACELINE_UNKNOWN: all are.
  int64_t older_than_ns;
  // Stream of the queue.
  uint8_t stream;
  // Whether the encoder should make a key frame next.
  bool key_frame;
} PacelineDiscard;

// A burst that explores whether the path carries more. It leaves at its own rate, whatever allowance and pacing say.
typedef struct PacelineProbe {
  // Number of the probe, for paceline_on_sent.
  uint64_t id;
  // Rate of the burst.
  uint64_t bps;
  // Bytes that are sent: media first, padding for the rest.
  uint64_t bytes;
} PacelineProbe;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a controller and writes its number to `controller`.
//
// `kind` and `profile` are names of `paceline list controllers`; NULL for `profile` is the kind's usual one. `settings` are
// parameters of the controller and of its flow (largest_packet, l4s, priorities, initial_window, max_window), one a line or
// parted by semicolons: `target_bitrate_max = 5Mbps; largest_packet = 1212B`. NULL: none.
//
// # Safety
// The texts are NULL or end with a zero, and `controller` has room for a number.
enum PacelineStatus paceline_create(const char *kind,
                                    const char *profile,
                                    const char *settings,
                                    PacelineController *controller);

// Destroys a controller. Its number is never given again.
enum PacelineStatus paceline_destroy(PacelineController controller);

// What was found and what was expected when a call of this thread failed last; valid until it fails again. Never NULL.
const char *paceline_last_error(void);

// `bytes` of media entered the send queue, whose state afterwards is `queue`; `frame_end` is not 0 if a frame is now
// complete in it. Media is offered before anything is sent.
//
// # Safety
// `queue` is NULL or points to a struct of `queue_size` bytes.
enum PacelineStatus paceline_on_offered(PacelineController controller,
                                        uint64_t now_ns,
                                        uint64_t bytes,
                                        uint8_t frame_end,
                                        const struct PacelineQueue *queue,
                                        size_t queue_size);

// The state of a send queue: told before paceline_on_timeout, and after a discard.
//
// # Safety
// `queue` is NULL or points to a struct of `queue_size` bytes.
enum PacelineStatus paceline_on_send_queue(PacelineController controller,
                                           uint64_t now_ns,
                                           const struct PacelineQueue *queue,
                                           size_t queue_size);

// A packet was handed to the network.
//
// # Safety
// `packet` is NULL or points to a struct of `packet_size` bytes.
enum PacelineStatus paceline_on_sent(PacelineController controller,
                                     uint64_t now_ns,
                                     const struct PacelineSent *packet,
                                     size_t packet_size);

// The receiver reported on `count` packets, each a struct of `packet_size` bytes, in order of sequence within a stream and
// only of packets that were sent. `clock_step_ns` is the step of the receiver's clock: 976563 for RFC 8888, 250000 for TWCC.
//
// # Safety
// `packets` is NULL or points to `count` structs of `packet_size` bytes.
enum PacelineStatus paceline_on_feedback(PacelineController controller,
                                         uint64_t now_ns,
                                         const struct PacelineResult *packets,
                                         size_t count,
                                         size_t packet_size,
                                         uint64_t clock_step_ns);

// What a transport that retransmits tells of its recovery: one of PacelineRecovery, and the bytes that it speaks of.
enum PacelineStatus paceline_on_recovery(PacelineController controller,
                                         uint64_t now_ns,
                                         int32_t recovery,
                                         uint64_t bytes);

// The application allows a stream targets from `min_bps` to `max_bps`.
enum PacelineStatus paceline_set_limits(PacelineController controller,
                                        uint64_t now_ns,
                                        uint8_t stream,
                                        uint64_t min_bps,
                                        uint64_t max_bps);

// Writes when paceline_on_timeout is due; PACELINE_NEVER if it is not. Ask again after every call.
//
// # Safety
// `due_ns` is NULL or has room for a time.
enum PacelineStatus paceline_next_timeout(PacelineController controller, uint64_t *due_ns);

// The timeout is due.
enum PacelineStatus paceline_on_timeout(PacelineController controller, uint64_t now_ns);

// Writes what holds now.
//
// # Safety
// `state` is NULL or has room for `state_size` bytes.
enum PacelineStatus paceline_state(PacelineController controller,
                                   struct PacelineState *state,
                                   size_t state_size);

// Writes the target bitrate of a stream, headers in; 0 where the controller sets none.
//
// # Safety
// `bps` is NULL or has room for a rate.
enum PacelineStatus paceline_target(PacelineController controller, uint8_t stream, uint64_t *bps);

// Takes the discard that the controller asks for: writes 1 to `taken` and what it is to `discard`, or 0 if there is none.
//
// # Safety
// The pointers are NULL or have room for what they point to.
enum PacelineStatus paceline_take_discard(PacelineController controller,
                                          struct PacelineDiscard *discard,
                                          uint8_t *taken);

// Takes the probe that the controller asks for: writes 1 to `taken` and what it is to `probe`, or 0 if there is none.
//
// # Safety
// The pointers are NULL or have room for what they point to.
enum PacelineStatus paceline_take_probe(PacelineController controller,
                                        struct PacelineProbe *probe,
                                        uint8_t *taken);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PACELINE_H */
