/* Paceline: congestion controllers for real-time media, and an RTP sender and receiver under them. docs/embed.md says how they
 * are used.
 *
 * Every function answers PACELINE_STATUS_OK, or a negative code; paceline_last_error() says what was found and what was
 * expected. Times are nanoseconds of any monotonic clock, sizes are bytes on the link (RTP header and payload), rates are
 * bit/s. What was created is a number: one that was destroyed, or never was, or is of another kind, is an error and nothing
 * else. Different numbers may be used by different threads at a time; two threads that use the same one wait for each other.
 *
 * Memory is its owner's: what a function is handed it reads before it answers, and keeps nothing of; what it answers it copies into
 * the caller's structs and buffers. Each struct comes with its size. */

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

// Outcome of a call: PACELINE_STATUS_OK, or why not.
typedef enum PacelineStatus {
  // It was done.
  PACELINE_STATUS_OK = 0,
  // A pointer that must not be null is.
  PACELINE_STATUS_NULL_POINTER = -1,
  // The size of a struct is not the one that this library knows, or there are too many of them.
  PACELINE_STATUS_WRONG_SIZE = -2,
  // A name, a parameter or a text is wrong.
  PACELINE_STATUS_INVALID = -3,
  // There is no such controller, receiver half, group, sender or receiver: it was destroyed, never created, or is of another kind.
  PACELINE_STATUS_NO_HANDLE = -4,
  // The library failed; what it was called for is gone. Please report it.
  PACELINE_STATUS_FAILED = -5,
} PacelineStatus;

// Events in the recovery of a transport that retransmits.
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

// Kinds of datagrams, by content.
typedef enum PacelineContent {
  // There is no datagram.
  PACELINE_CONTENT_NOTHING = 0,
  // RTP: media, or padding alone.
  PACELINE_CONTENT_RTP = 1,
  // RTCP.
  PACELINE_CONTENT_RTCP = 2,
} PacelineContent;

// Kinds of events of a media sender or receiver.
typedef enum PacelineEventKind {
  // No event is waiting.
  PACELINE_EVENT_KIND_NONE = 0,
  // A packet will not be sent: `stream`, `frame`, `offset` of its payload in that of its frame, and `reason`.
  PACELINE_EVENT_KIND_DISCARDED = 1,
  // The next frame of `stream` should be a key frame: the receiver asked (PLI, FIR), or too much was discarded.
  PACELINE_EVENT_KIND_KEY_FRAME = 2,
  // The participant with SSRC `from` ended (BYE). A receiver expects its stream no more.
  PACELINE_EVENT_KIND_ENDED = 3,
  // Another source has SSRC `from`: `stream`, or the receiver, has SSRC `to` from now on (RFC 3550 section 8.2).
  PACELINE_EVENT_KIND_SSRC_CHANGED = 4,
  // A circuit breaker ended the call (RFC 8083), for `reason`.
  PACELINE_EVENT_KIND_BROKEN = 5,
} PacelineEventKind;

// Why a packet is not sent.
typedef enum PacelineDiscardReason {
  // It waited for longer than the controller allows.
  PACELINE_DISCARD_REASON_TOO_OLD = 0,
  // Its stream was removed, or was never there.
  PACELINE_DISCARD_REASON_REMOVED = 1,
  // As many packets waited as may.
  PACELINE_DISCARD_REASON_QUEUE_FULL = 2,
  // It is larger than the path takes.
  PACELINE_DISCARD_REASON_TOO_LARGE = 3,
  // It has neither payload nor header extension.
  PACELINE_DISCARD_REASON_EMPTY = 4,
  // Its header extension has none of the forms of RFC 8285, so that no transport-wide number can be put into it.
  PACELINE_DISCARD_REASON_EXTENSION = 5,
  // The sender was stopped.
  PACELINE_DISCARD_REASON_STOPPED = 6,
} PacelineDiscardReason;

// Which circuit breaker ended a call.
typedef enum PacelineBreaker {
  // No report came for three reporting intervals (RFC 8083 section 4.1).
  PACELINE_BREAKER_NO_REPORTS = 0,
  // Reports told of no arrival (section 4.2).
  PACELINE_BREAKER_NO_MEDIA = 1,
  // Ten times the rate of TCP was sent at this loss and round trip (section 4.3).
  PACELINE_BREAKER_CONGESTION = 2,
} PacelineBreaker;

// Handle of a created object: a number that is never given twice; 0 is none.
typedef uint64_t PacelineHandle;

// A controller.
typedef PacelineHandle PacelineController;

// Packets and bytes in the send queue of a stream.
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

// A receiver's word on one packet.
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

// The answers of a controller in force, and the figures that all controllers share.
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
  // Packets leave at once while what left before takes less than so long at pacing_bps; 0: one by one.
  uint64_t pacing_burst_ns;
  // Stream whose packet goes next; -1: by priority and credit.
  int32_t next_stream;
} PacelineState;

// Packets to drop from a send queue. Tell paceline_on_send_queue when it is done.
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

// Annotation that a controller puts on a packet for its receiver half.
typedef struct PacelineAnnotation {
  // The sender's round-trip time (tfrc); PACELINE_UNKNOWN: it puts none on the packet.
  int64_t rtt_ns;
  // Window counter of 4 bits (ccid3); -1: it puts none on the packet.
  int32_t counter;
} PacelineAnnotation;

// A receiver half's message to its controller (RFC 5348 section 3.2.2).
typedef struct PacelineMessage {
  // Loss event rate, 0 to 1.
  double loss_event_rate;
  // Rate at which data arrived since the last message.
  uint64_t receive_bps;
  // Send time of the newest packet that arrived, by the sender's clock; PACELINE_UNKNOWN: then the message says nothing.
  int64_t newest_sent_ns;
  // Time from the arrival of that packet to this message.
  uint64_t delay_ns;
} PacelineMessage;

// A group of controllers that share.
typedef PacelineHandle PacelineGroup;

// A controller's share in its group.
typedef struct PacelineShare {
  // Sum of the rates of the group (RFC 8699: S_CR). This and the next three are 0 while the controller does not share.
  uint64_t sum_bps;
  // Rate that the group gave the controller last (RFC 8699: FSE_R).
  uint64_t rate_bps;
  // Rate that the application could use (RFC 8699: DR); PACELINE_NEVER: any.
  uint64_t desired_bps;
  // Weight of the controller's part (RFC 8699: P).
  double priority;
  // Assignments to it since the group knows it.
  uint64_t assignments;
  // 1 if it shares; 0 while nothing comes back to it, and of one that steers a window before its first round trip.
  uint8_t shares;
} PacelineShare;

// The half of a controller that is with the receiver.
typedef PacelineHandle PacelineHalf;

// A packet that arrived, for a receiver half.
typedef struct PacelineArrival {
  // Sequence number in its stream, extended so that it never wraps.
  uint64_t sequence;
  // Bytes on the link, transport header in.
  uint64_t size;
  // When it was sent, by the sender's clock: packets carry it, since messages repeat it.
  uint64_t sent_ns;
  // The controller's annotation of the packet.
  struct PacelineAnnotation annotation;
  // Stream of the packet, from 0.
  uint8_t stream;
  // ECN field on arrival: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
  uint8_t ecn;
} PacelineArrival;

// A receiver of media in RTP.
typedef PacelineHandle PacelineReceiver;

// A datagram that came, as the receiver read it.
typedef struct PacelinePacket {
  // Sequence number of the packet, extended so that it does not wrap; of a retransmission that of what it restores.
  uint64_t number;
  // SSRC of the stream.
  uint32_t ssrc;
  // RTP timestamp.
  uint32_t timestamp;
  // Where the payload begins in the caller's datagram.
  uint32_t payload_offset;
  // Bytes of the payload; 0 of padding alone.
  uint32_t payload_length;
  // 1 if the datagram is a packet of an expected stream; 0 if there is nothing to deliver, and the rest means nothing.
  uint8_t delivered;
  // 1 if the packet is here for the first time; 0 if it is a duplicate.
  uint8_t first;
  // 1 if it was restored by a retransmission.
  uint8_t repaired;
  // Payload type, 0 to 127 (RFC 3550 section 5.1).
  uint8_t payload_type;
  // Marker bit, 0 or 1 (RFC 3550 section 5.1).
  uint8_t marker;
} PacelinePacket;

// A datagram that leaves now.
typedef struct PacelineDatagram {
  // Extended sequence number of an RTP packet; the low 16 bits are on the wire.
  uint64_t sequence;
  // Bytes that were written into the caller's buffer; 0 if nothing leaves now.
  uint32_t length;
  // Content of the datagram: one of PacelineContent.
  uint32_t content;
  // Stream of an RTP packet.
  uint8_t stream;
  // The ECN field to send it with: 0 Not-ECT, 1 ECT(1), 2 ECT(0).
  uint8_t ecn;
} PacelineDatagram;

// An event of a media sender or receiver. Fields that its kind does not name are 0.
typedef struct PacelineEvent {
  // Frame of a discarded packet.
  uint64_t frame;
  // Where its payload begins in that of its frame, in bytes, as far as it was pushed.
  uint64_t offset;
  // One of PacelineEventKind, which says what of the rest means something.
  uint32_t kind;
  // One of PacelineDiscardReason or PacelineBreaker.
  uint32_t reason;
  // SSRC that ended, or that was until now.
  uint32_t from;
  // SSRC from now on.
  uint32_t to;
  // Stream that it is about.
  uint8_t stream;
} PacelineEvent;

// Figures of a receiver.
typedef struct PacelineReceiverStatistics {
  // RTP packets of expected streams, retransmissions, padding and duplicates in.
  uint64_t packets;
  // Bytes of these, headers in.
  uint64_t bytes;
  // Datagrams that are neither RTP nor RTCP, and RTCP that contradicts itself.
  uint64_t malformed;
  // Packets of, and RTCP about, streams that are not expected. Transport-wide reports tell of these packets all the same.
  uint64_t unknown_ssrc;
  // Packets that no report tells of.
  uint64_t unreported;
  // Reports on packets that were written.
  uint64_t reports;
  // Packets that were asked for again, each time that they were.
  uint64_t asked;
  // Packets that retransmissions restored.
  uint64_t restored;
  // Packets that are missing, and that nobody asks for any more.
  uint64_t gave_up;
} PacelineReceiverStatistics;

// A sender of media in RTP.
typedef PacelineHandle PacelineSender;

// A packet of media as the application made it.
typedef struct PacelineMedia {
  // The frame that it belongs to, as the application counts; discards repeat it.
  uint64_t frame;
  // RTP timestamp: when the frame was captured, in ticks of the stream's clock. Of a whole packet its own counts.
  uint32_t timestamp;
  // Stream of the packet.
  uint8_t stream;
  // 1 if it is the last packet of its frame.
  uint8_t frame_end;
  // 1 if the bytes are a whole RTP packet, whose header extension, contributing sources, payload type, timestamp and marker are
  // kept, and whose number, SSRC and padding are not; 0 if they are a payload.
  uint8_t whole;
  // Payload type, 0 to 63 or 96 to 127. Of a whole packet its own counts.
  uint8_t payload_type;
  // Marker bit, 0 or 1. Of a whole packet its own counts.
  uint8_t marker;
} PacelineMedia;

// Figures of a sender.
typedef struct PacelineSenderStatistics {
  // Packets that were pushed.
  uint64_t pushed;
  // Packets of media that left, retransmissions out.
  uint64_t sent;
  // Packets that were discarded.
  uint64_t discarded;
  // Packets that were sent again.
  uint64_t resent;
  // RTCP packets that were read.
  uint64_t rtcp_received;
  // RTCP that is none, or contradicts itself.
  uint64_t rtcp_malformed;
  // RTCP about streams that the sender does not have, as of another session: nothing is done with it.
  uint64_t rtcp_unknown_ssrc;
  // Reported packets that were never sent, or too long ago.
  uint64_t unknown_reports;
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
} PacelineSenderStatistics;

// A stream's reception by the receiver's regular reports (RFC 3550 section 6.4).
typedef struct PacelineHeard {
  // When the last report came; PACELINE_UNKNOWN before the first.
  int64_t at_ns;
  // Fraction of packets lost since the report before, 0 to 1.
  double fraction_lost;
  // Packets expected less packets received.
  int64_t cumulative_lost;
  // Interarrival jitter, in nanoseconds (RFC 3550 section 6.4.1).
  int64_t jitter_ns;
  // Round-trip time; PACELINE_UNKNOWN where no report has told one.
  int64_t round_trip_ns;
} PacelineHeard;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a controller and writes its number to `controller`.
//
// `kind` and `profile` are names of `paceline list controllers`; NULL for `kind` is tempo, for `profile` the kind's usual one. `settings` are
// parameters of the controller and of its flow (largest_packet, l4s, priorities, initial_window, max_window), one a line or
// parted by semicolons: `target_bitrate_max = 5Mbps; largest_packet = 1212B`. NULL: none. Controllers that have a receiver half
// (tfrc, ccid3) go by its messages: see paceline_half_create.
//
// # Safety
// The texts are NULL or end with a zero, and `controller` has room for a number.
enum PacelineStatus paceline_create(const char *kind,
                                    const char *profile,
                                    const char *settings,
                                    PacelineController *controller);

// Destroys a controller, a receiver half, a group, a sender or a receiver. Its number is never given again. A controller that is destroyed
// leaves its group; of a group that is destroyed the members go on by themselves.
enum PacelineStatus paceline_destroy(PacelineHandle handle);

// The value found and the one expected when a call of this thread failed last; valid until it fails again. Never NULL.
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

// An event in the recovery of a transport that retransmits: one of PacelineRecovery, and the bytes that it speaks of.
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

// Writes what the controller puts on the packet of a stream that leaves now, for its receiver half.
//
// # Safety
// `annotation` is NULL or has room for `annotation_size` bytes.
enum PacelineStatus paceline_annotation(PacelineController controller,
                                        uint64_t now_ns,
                                        uint8_t stream,
                                        struct PacelineAnnotation *annotation,
                                        size_t annotation_size);

// The controller's receiver half sent this message.
//
// # Safety
// `message` is NULL or points to a struct of `message_size` bytes.
enum PacelineStatus paceline_on_message(PacelineController controller,
                                        uint64_t now_ns,
                                        const struct PacelineMessage *message,
                                        size_t message_size);

// Creates a group of controllers that share, which nobody is in yet, and writes its number to `group`.
//
// `kind` and `profile` are names of `paceline list couplings`; NULL for `kind` is active, for `profile` the kind's first. `settings` are
// parameters of the kind, as those of paceline_create: `leaving = subtract`. NULL: none.
//
// # Safety
// The texts are NULL or end with a zero, and `group` has room for a number.
enum PacelineStatus paceline_group_create(const char *kind,
                                          const char *profile,
                                          const char *settings,
                                          PacelineGroup *group);

// A controller begins to share, with its rate or window of now and a part by `priority`, 0.000001 to 1000000; after a pause it comes back
// so. From then on each call that tells it of an event may change what every member answers: ask paceline_state of all of them. It is in
// one group at most.
enum PacelineStatus paceline_group_join(PacelineGroup group,
                                        uint64_t now_ns,
                                        PacelineController controller,
                                        double priority);

// A controller shares no more: its flow has ended, or pauses. The others take what it leaves, or it takes its rate along (`leaving`).
enum PacelineStatus paceline_group_leave(PacelineGroup group,
                                         uint64_t now_ns,
                                         PacelineController controller);

// The weight of a member's part is this from now on, 0.000001 to 1000000.
enum PacelineStatus paceline_group_set_priority(PacelineGroup group,
                                                uint64_t now_ns,
                                                PacelineController controller,
                                                double priority);

// The application of a member could use this rate from now on, and the others take the rest; PACELINE_NEVER: any, as at first.
enum PacelineStatus paceline_group_set_desired(PacelineGroup group,
                                               uint64_t now_ns,
                                               PacelineController controller,
                                               uint64_t desired_bps);

// Writes the share of a member.
//
// # Safety
// `share` is NULL or has room for `share_size` bytes.
enum PacelineStatus paceline_group_share(PacelineGroup group,
                                         PacelineController controller,
                                         struct PacelineShare *share,
                                         size_t share_size);

// Creates the receiver half of a controller that has one (tfrc, ccid3), and writes its number to `half`. The arguments are those of
// paceline_create, the same as at the sender. Packets must carry the time of sending and what paceline_annotation says.
//
// # Safety
// The texts are NULL or end with a zero, and `half` has room for a number.
enum PacelineStatus paceline_half_create(const char *kind,
                                         const char *profile,
                                         const char *settings,
                                         PacelineHalf *half);

// A packet arrived. Writes 1 to `report_now` if paceline_half_report is to be called at once.
//
// # Safety
// `arrival` is NULL or points to a struct of `arrival_size` bytes, and `report_now` is NULL or has room for a byte.
enum PacelineStatus paceline_half_on_arrival(PacelineHalf half,
                                             uint64_t now_ns,
                                             const struct PacelineArrival *arrival,
                                             size_t arrival_size,
                                             uint8_t *report_now);

// Writes when paceline_half_report is due if nothing arrives; PACELINE_NEVER if it is not. Ask again after every call.
//
// # Safety
// `due_ns` is NULL or has room for a time.
enum PacelineStatus paceline_half_next_timeout(PacelineHalf half,
                                               uint64_t *due_ns);

// Writes 1 to `taken` and the message for the controller to `message`, or 0 if there is nothing to say.
//
// # Safety
// `message` is NULL or has room for `message_size` bytes, and `taken` is NULL or has room for a byte.
enum PacelineStatus paceline_half_report(PacelineHalf half,
                                         uint64_t now_ns,
                                         struct PacelineMessage *message,
                                         size_t message_size,
                                         uint8_t *taken);

// Creates a receiver that expects no stream yet, and writes its number to `receiver`.
//
// `settings`, which docs/endpoint-settings.md lists, are parameters of the receiver, of its reports on packets and of its RTCP:
// `format = twcc; reduced_size = true`. Give `seed` a number of the system's random source.
//
// # Safety
// `settings` is NULL or ends with a zero, and `receiver` has room for a number.
enum PacelineStatus paceline_receiver_create(const char *settings,
                                             PacelineReceiver *receiver);

// A stream is expected. `settings`, which docs/endpoint-settings.md lists, say its SSRC and more: `ssrc = 500; rtx_ssrc = 501`.
//
// # Safety
// `settings` is NULL or ends with a zero.
enum PacelineStatus paceline_receiver_add_stream(PacelineReceiver receiver,
                                                 const char *settings);

// A stream is expected no more, nor its retransmissions.
enum PacelineStatus paceline_receiver_remove_stream(PacelineReceiver receiver, uint32_t ssrc);

// A datagram came from the sender, with this ECN field: RTP or RTCP. Writes to `packet` what is to be delivered of it; the payload
// is where it was, in `bytes`. A datagram that cannot be read is counted, and changes nothing.
//
// # Safety
// `bytes` is NULL or points to `length` bytes, and `packet` is NULL or has room for `packet_size` bytes.
enum PacelineStatus paceline_receiver_receive(PacelineReceiver receiver,
                                              uint64_t now_ns,
                                              const uint8_t *bytes,
                                              size_t length,
                                              uint8_t ecn,
                                              struct PacelinePacket *packet,
                                              size_t packet_size);

// Writes the next datagram that goes back to the sender now into `buffer`, and what it is to `datagram`. Call until its length is 0.
// `buffer` has room for 1200 bytes.
//
// # Safety
// `buffer` is NULL or has room for `capacity` bytes, and `datagram` is NULL or has room for `datagram_size` bytes.
enum PacelineStatus paceline_receiver_poll(PacelineReceiver receiver,
                                           uint64_t now_ns,
                                           uint8_t *buffer,
                                           size_t capacity,
                                           struct PacelineDatagram *datagram,
                                           size_t datagram_size);

// Writes when paceline_receiver_poll is to be called; PACELINE_NEVER if not until something comes. Ask again after every call. It
// may be in the past: then at once.
//
// # Safety
// `due_ns` is NULL or has room for a time.
enum PacelineStatus paceline_receiver_next_timeout(PacelineReceiver receiver,
                                                   uint64_t *due_ns);

// Asks for a picture of a stream with the next datagram: one that mends what was lost (PLI), or if `full` is not 0 one that needs no
// other (FIR). Less than 300 ms after the last request nothing is done.
enum PacelineStatus paceline_receiver_ask_for_picture(PacelineReceiver receiver,
                                                      uint64_t now_ns,
                                                      uint32_t ssrc,
                                                      uint8_t full);

// Ends: the receiver says goodbye with its next datagram, and reports no more.
enum PacelineStatus paceline_receiver_leave(PacelineReceiver receiver);

// Writes what happened; PACELINE_EVENT_KIND_NONE if nothing more did. Call until then.
//
// # Safety
// `event` is NULL or has room for `event_size` bytes.
enum PacelineStatus paceline_receiver_poll_event(PacelineReceiver receiver,
                                                 struct PacelineEvent *event,
                                                 size_t event_size);

// Writes the figures of a receiver.
//
// # Safety
// `statistics` is NULL or has room for `statistics_size` bytes.
enum PacelineStatus paceline_receiver_statistics(PacelineReceiver receiver,
                                                 struct PacelineReceiverStatistics *statistics,
                                                 size_t statistics_size);

// Creates a sender without streams under a controller, and writes its number to `sender`.
//
// `kind` and `profile` are as for paceline_create. `settings` are parameters of the controller, of its flow and of the sender, which
// docs/endpoint-settings.md lists: `format = twcc; reduced_size = true; repair = true; largest_packet = 1200B`. Give `seed` a number
// of the system's random source.
//
// # Safety
// The texts are NULL or end with a zero, and `sender` has room for a number.
enum PacelineStatus paceline_sender_create(const char *kind,
                                           const char *profile,
                                           const char *settings,
                                           PacelineSender *sender);

// A stream joins. `settings`, which docs/endpoint-settings.md lists, say its SSRC and more: `ssrc = 500; priority = 2; rtx_ssrc = 501`.
// Its identifier is written to `stream`.
//
// # Safety
// `settings` is NULL or ends with a zero, and `stream` is NULL or has room for a byte.
enum PacelineStatus paceline_sender_add_stream(PacelineSender sender,
                                               uint64_t now_ns,
                                               const char *settings,
                                               uint8_t *stream);

// A stream leaves: what waits of it is discarded, and it says goodbye.
enum PacelineStatus paceline_sender_remove_stream(PacelineSender sender, uint64_t now_ns, uint8_t stream);

// The weight of a stream's share is this from now on, 0.001 to 1000.
enum PacelineStatus paceline_sender_set_priority(PacelineSender sender,
                                                 uint64_t now_ns,
                                                 uint8_t stream,
                                                 double priority);

// The application allows a stream targets from `min_bps` to `max_bps`.
enum PacelineStatus paceline_sender_set_limits(PacelineSender sender,
                                               uint64_t now_ns,
                                               uint8_t stream,
                                               uint64_t min_bps,
                                               uint64_t max_bps);

// A stream's packets have another SSRC from now on.
enum PacelineStatus paceline_sender_set_ssrc(PacelineSender sender,
                                             uint64_t now_ns,
                                             uint8_t stream,
                                             uint32_t ssrc);

// Begins to send.
enum PacelineStatus paceline_sender_start(PacelineSender sender, uint64_t now_ns);

// Ends: what waits is discarded, and the streams say goodbye with the next datagrams.
enum PacelineStatus paceline_sender_stop(PacelineSender sender, uint64_t now_ns);

// Takes a packet of media into the send queue of its stream: `length` bytes, which are copied. A packet that cannot be sent is an event
// PACELINE_EVENT_KIND_DISCARDED.
//
// # Safety
// `media` is NULL or points to a struct of `media_size` bytes, and `bytes` is NULL or points to `length` bytes.
enum PacelineStatus paceline_sender_push(PacelineSender sender,
                                         uint64_t now_ns,
                                         const struct PacelineMedia *media,
                                         size_t media_size,
                                         const uint8_t *bytes,
                                         size_t length);

// Does what is due, writes the next datagram that leaves now into `buffer`, and what it is to `datagram`. Call until its length is
// 0. `buffer` has room for the largest packet, and for 1200 bytes.
//
// # Safety
// `buffer` is NULL or has room for `capacity` bytes, and `datagram` is NULL or has room for `datagram_size` bytes.
enum PacelineStatus paceline_sender_poll(PacelineSender sender,
                                         uint64_t now_ns,
                                         uint8_t *buffer,
                                         size_t capacity,
                                         struct PacelineDatagram *datagram,
                                         size_t datagram_size);

// Writes when paceline_sender_poll is to be called; PACELINE_NEVER if not until something happens. Ask again after every call. It
// may be in the past: then at once.
//
// # Safety
// `due_ns` is NULL or has room for a time.
enum PacelineStatus paceline_sender_next_timeout(PacelineSender sender,
                                                 uint64_t *due_ns);

// A datagram came from the receiver, with this ECN field: RTCP. A datagram that cannot be read is counted, and changes nothing.
//
// # Safety
// `bytes` is NULL or points to `length` bytes.
enum PacelineStatus paceline_sender_receive(PacelineSender sender,
                                            uint64_t now_ns,
                                            const uint8_t *bytes,
                                            size_t length,
                                            uint8_t ecn);

// Writes the bitrate that the encoder of a stream is to make, headers in.
//
// # Safety
// `bps` is NULL or has room for a rate.
enum PacelineStatus paceline_sender_target(PacelineSender sender, uint8_t stream, uint64_t *bps);

// Writes what happened; PACELINE_EVENT_KIND_NONE if nothing more did. Call until then.
//
// # Safety
// `event` is NULL or has room for `event_size` bytes.
enum PacelineStatus paceline_sender_poll_event(PacelineSender sender,
                                               struct PacelineEvent *event,
                                               size_t event_size);

// Writes the figures of a sender.
//
// # Safety
// `statistics` is NULL or has room for `statistics_size` bytes.
enum PacelineStatus paceline_sender_statistics(PacelineSender sender,
                                               struct PacelineSenderStatistics *statistics,
                                               size_t statistics_size);

// Writes what the receiver's regular reports said last of a stream.
//
// # Safety
// `heard` is NULL or has room for `heard_size` bytes.
enum PacelineStatus paceline_sender_heard(PacelineSender sender,
                                          uint8_t stream,
                                          struct PacelineHeard *heard,
                                          size_t heard_size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PACELINE_H */
