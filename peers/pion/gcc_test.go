// Package pion is GCC of github.com/pion/interceptor as a program that Paceline runs.
//
// pion reads the time from the package time. In a bubble of testing/synctest that is the time of the run: so the program is
// a test, compiled by `go test -c`.
package pion

import (
	"bufio"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const (
	headerSize = 12
	// pion's leaky bucket sends at this part of the target.
	pacingFactor = 1.5
	// The largest offset that RFC 8888, section 3.1, can say, in 1/1024 s.
	largestOffset = 0x1FFD
)

func TestServe(t *testing.T) {
	// Two goroutines of pion's race for the rate that arrives; one at a time runs the same way each time.
	runtime.GOMAXPROCS(1)
	synctest.Test(t, func(t *testing.T) {
		if err := serve(bufio.NewReaderSize(os.Stdin, 1<<16)); err != nil {
			t.Fatal(err)
		}
	})
	os.Exit(0)
}

type controller struct {
	bwe     *gcc.SendSideBWE
	begun   time.Time
	writers map[uint8]interceptor.RTPWriter
	payload [1 << 16]byte
}

func serve(input *bufio.Reader) error {
	var own *controller
	for {
		message, err := read(input)
		if err != nil {
			if own != nil {
				own.bwe.Close()
			}
			return nil
		}
		letter := message.u8()
		if letter == 'D' {
			if err := describe().send(os.Stdout); err != nil {
				return err
			}
			continue
		}
		number, now := message.u64(), message.f64()
		switch letter {
		case 'S':
			if own, err = start(&message); err != nil {
				return err
			}
		case 'P':
			own.until(now)
			own.sent(&message)
			continue // Nobody waits for an answer.
		case 'R':
			own.until(now)
			if err := own.report(&message); err != nil {
				return err
			}
		}
		synctest.Wait()
		if err := own.answer(number).send(os.Stdout); err != nil {
			return err
		}
	}
}

func describe() outgoing {
	message := newMessage('d')
	message.u16(1)
	message.text("GCC of pion/interceptor")
	message.text(version())
	message.u8('m')
	message.u8(1 + 16) // Packets sent, without an answer.
	limits := []struct{ name, value, help string }{
		{"target_bitrate_min", "5kbps", "lowest target"},
		{"target_bitrate_start", "10kbps", "first target"},
		{"target_bitrate_max", "50Mbps", "highest target"},
	}
	message.u16(uint16(len(limits)))
	for _, limit := range limits {
		message.text(limit.name)
		message.text(limit.value)
		message.text(limit.help)
	}
	return message
}

// The version of the module that is compiled in.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/pion/interceptor" {
				return module.Version
			}
		}
	}
	return ""
}

func start(message *incoming) (*controller, error) {
	message.u32() // Largest packet.
	message.u8()  // L4S.
	message.u64() // First window.
	for streams := message.u16(); streams > 0; streams-- {
		message.f64()
	}
	rates := map[string]int{}
	for parameters := message.u16(); parameters > 0; parameters-- {
		name := message.text()
		message.u8() // n: all are numbers.
		rates[name] = int(message.f64() * 1e6)
	}
	bwe, err := gcc.NewSendSideBWE(
		gcc.SendSideBWEMinBitrate(rates["target_bitrate_min"]),
		gcc.SendSideBWEInitialBitrate(rates["target_bitrate_start"]),
		gcc.SendSideBWEMaxBitrate(rates["target_bitrate_max"]),
		gcc.SendSideBWEPacer(gcc.NewNoOpPacer()),
	)
	return &controller{bwe: bwe, begun: time.Now(), writers: map[uint8]interceptor.RTPWriter{}}, err
}

// Lets the bubble's time go on until that of the run.
func (c *controller) until(now float64) {
	time.Sleep(time.Duration(math.Round(now*1e9)) - time.Since(c.begun))
}

func ssrc(stream uint8) uint32 { return uint32(stream) + 1 }

func (c *controller) sent(message *incoming) {
	stream, sequence, size := message.u8(), message.u64(), message.u32()
	writer := c.writers[stream]
	if writer == nil {
		nothing := func(*rtp.Header, []byte, interceptor.Attributes) (int, error) { return 0, nil }
		writer = c.bwe.AddStream(&interceptor.StreamInfo{SSRC: ssrc(stream)}, interceptor.RTPWriterFunc(nothing))
		c.writers[stream] = writer
	}
	header := &rtp.Header{Version: 2, SSRC: ssrc(stream), SequenceNumber: uint16(sequence)}
	writer.Write(header, c.payload[:max(int(size)-headerSize, 0)], nil)
}

type result struct {
	stream   uint8
	sequence uint64
	marked   bool
	arrived  float64 // NaN: it has not.
}

// The report as a message of RFC 8888, whose time is the newest arrival. Arrivals are multiples of 1/1024 s, as there.
func (c *controller) report(message *incoming) error {
	results := make([]result, message.u32())
	newest := 0.0
	for i := range results {
		one := &results[i]
		one.stream, one.sequence = message.u8(), message.u64()
		message.u32() // Size.
		message.f64() // Time sent.
		one.marked, one.arrived = message.u8()&3 == 2, message.f64()
		if one.arrived > newest {
			newest = one.arrived
		}
	}
	feedback := &rtcp.CCFeedbackReport{ReportTimestamp: uint32(uint64(math.Round(newest * 65536)))}
	for i, one := range results {
		if i == 0 || results[i-1].stream != one.stream || results[i-1].sequence+1 != one.sequence {
			feedback.ReportBlocks = append(feedback.ReportBlocks, rtcp.CCFeedbackReportBlock{
				MediaSSRC: ssrc(one.stream), BeginSequence: uint16(one.sequence),
			})
		}
		metric := rtcp.CCFeedbackMetricBlock{}
		if !math.IsNaN(one.arrived) {
			offset := math.Round((newest - one.arrived) * 1024)
			metric = rtcp.CCFeedbackMetricBlock{Received: true, ArrivalTimeOffset: uint16(min(offset, largestOffset))}
			if one.marked {
				metric.ECN = rtcp.ECNCE
			}
		}
		block := &feedback.ReportBlocks[len(feedback.ReportBlocks)-1]
		block.MetricBlocks = append(block.MetricBlocks, metric)
	}
	return c.bwe.WriteRTCP([]rtcp.Packet{feedback}, nil)
}

func (c *controller) answer(number uint64) outgoing {
	target := float64(c.bwe.GetTargetBitrate()) / 1e6
	message := newMessage('a')
	message.u64(number)
	message.u8(3) // The first two of the four fields count.
	message.f64(target)
	message.f64(pacingFactor * target)
	message.f64(0)
	message.f64(0)
	return message
}
