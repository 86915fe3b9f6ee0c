"""REMB of aiortc: the receiver's estimator decides the rate. It is fed from reports with what its receiver would have seen."""

from importlib.metadata import version

from aiortc.rate import RemoteBitrateEstimator

HEADER = 12
"""Bytes of RTP's header, which aiortc does not count."""


class Remb:
    """Receiver-estimated maximum bitrate of aiortc"""

    steers = "media"
    version = version("aiortc")
    # An encoder of aiortc begins with 500 kbit/s (VP8).
    parameters = {"target_bitrate_start": ("500kbps", "first rate")}

    def __init__(self, flow, target_bitrate_start):
        self.target = target_bitrate_start
        self.estimator = RemoteBitrateEstimator()

    def start(self, now_s):
        # Its sender does not space packets.
        return {"target_mbps": self.target, "pacing_mbps": None}

    def report(self, now_s, packets):
        new = [packet for packet in packets if packet.arrived_s is not None]
        for packet in sorted(new, key=lambda packet: packet.arrived_s):
            estimate = self.estimator.add(
                arrival_time_ms=int(packet.arrived_s * 1000),
                abs_send_time=int(packet.sent_s * 2**18) & 0xFFFFFF,
                payload_size=packet.size - HEADER,
                ssrc=packet.stream,
            )
            if estimate is not None:
                self.target = estimate[0] / 1e6
        return {"target_mbps": self.target}
