"""A controller: its rate grows by a step each second, and falls where packets wait, are lost or are marked."""


class Aimd:
    """Additive increase, multiplicative decrease"""

    steers = "media"
    parameters = {
        "target_bitrate_start": ("1Mbps", "first rate"),
        "step": ("1Mbps", "increase in a second"),
        "factor": (0.7, "part of the rate that stays after congestion"),
        "wait": ("50ms", "queue delay that is congestion"),
    }

    def __init__(self, flow, target_bitrate_start, step, factor, wait):
        self.rate, self.step, self.factor, self.wait = target_bitrate_start, step, factor, wait
        self.base, self.last, self.cut = float("inf"), 0.0, 0.0

    def start(self, now_s):
        self.last = now_s
        return self.answer()

    def report(self, now_s, packets):
        congested, rtt = False, 0.0
        for packet in packets:
            rtt = now_s - packet.sent_s
            if packet.arrived_s is None:
                congested = True
                continue
            delay = packet.arrived_s - packet.sent_s
            self.base = min(self.base, delay)
            congested = congested or packet.marked or delay - self.base > self.wait
        if not congested:
            self.rate += self.step * (now_s - self.last)
        elif now_s - self.cut > 2.0 * rtt:
            self.rate, self.cut = max(self.rate * self.factor, 0.1), now_s
        self.last = now_s
        return self.answer()

    def answer(self):
        return {"target_mbps": self.rate, "pacing_mbps": 1.5 * self.rate}
