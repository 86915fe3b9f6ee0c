package pion

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
)

// A message that was read, from its next field on.
type incoming []byte

func (m *incoming) take(count int) []byte {
	taken := (*m)[:count]
	*m = (*m)[count:]
	return taken
}

func (m *incoming) u8() uint8    { return m.take(1)[0] }
func (m *incoming) u16() uint16  { return binary.LittleEndian.Uint16(m.take(2)) }
func (m *incoming) u32() uint32  { return binary.LittleEndian.Uint32(m.take(4)) }
func (m *incoming) u64() uint64  { return binary.LittleEndian.Uint64(m.take(8)) }
func (m *incoming) f64() float64 { return math.Float64frombits(m.u64()) }
func (m *incoming) text() string { return string(m.take(int(m.u16()))) }

// The next message, without its length.
func read(input *bufio.Reader) (incoming, error) {
	var length [4]byte
	if _, err := io.ReadFull(input, length[:]); err != nil {
		return nil, err
	}
	message := make(incoming, binary.LittleEndian.Uint32(length[:]))
	_, err := io.ReadFull(input, message)
	return message, err
}

// A message that is written, with room for its length in front.
type outgoing []byte

func newMessage(letter byte) outgoing { return outgoing{0, 0, 0, 0, letter} }

func (m *outgoing) u8(value uint8)    { *m = append(*m, value) }
func (m *outgoing) u16(value uint16)  { *m = binary.LittleEndian.AppendUint16(*m, value) }
func (m *outgoing) u64(value uint64)  { *m = binary.LittleEndian.AppendUint64(*m, value) }
func (m *outgoing) f64(value float64) { m.u64(math.Float64bits(value)) }

func (m *outgoing) text(value string) {
	m.u16(uint16(len(value)))
	*m = append(*m, value...)
}

func (m outgoing) send(output io.Writer) error {
	binary.LittleEndian.PutUint32(m, uint32(len(m)-4))
	_, err := output.Write(m)
	return err
}
