// The controller of aimd.py as a program of Node: node aimd.mjs
import { readSync, writeSync } from "node:fs";

const state = { base: Infinity, last: 0, cut: 0 };

/** The next `size` bytes of standard input; null at its end. */
function read(size) {
  const bytes = Buffer.alloc(size);
  for (let done = 0; done < size; ) {
    const count = readSync(0, bytes, done, size - done);
    if (count === 0) return null;
    done += count;
  }
  return bytes;
}

function send(fields) {
  const message = Buffer.concat(fields);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(message.length);
  const bytes = Buffer.concat([length, message]);
  for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
}

/** Takes one field after the other. */
class Fields {
  constructor(message) {
    this.message = message;
    this.place = 0;
  }
  next(method, size) {
    const value = this.message[method](this.place);
    this.place += size;
    return value;
  }
  u8 = () => this.next("readUInt8", 1);
  u16 = () => this.next("readUInt16LE", 2);
  u32 = () => this.next("readUInt32LE", 4);
  u64 = () => this.next("readBigUInt64LE", 8);
  f64 = () => this.next("readDoubleLE", 8);
  text() {
    const end = this.u16() + this.place;
    const text = this.message.toString("utf8", this.place, end);
    this.place = end;
    return text;
  }
}

const u8 = (value) => Buffer.from([value]);
const number = (size, method, value) => {
  const bytes = Buffer.alloc(size);
  bytes[method](value);
  return bytes;
};
const u16 = (value) => number(2, "writeUInt16LE", value);
const f64 = (value) => number(8, "writeDoubleLE", value);
const letter = (value) => Buffer.from(value);
const text = (value) => Buffer.concat([u16(Buffer.byteLength(value)), Buffer.from(value)]);

function describe() {
  const declared = [
    ["target_bitrate_start", "1Mbps", "first rate"],
    ["step", "1Mbps", "increase in a second"],
    ["factor", "0.7", "part of the rate that stays after congestion"],
    ["wait", "50ms", "queue delay that is congestion"],
  ];
  // It steers media, and hears neither packets sent, timeouts, recovery nor assignments.
  const facts = [letter("d"), u16(1), text("Additive increase, multiplicative decrease"), text("1.0"), letter("m"), u8(0)];
  send([...facts, u16(declared.length), ...declared.flat().map(text)]);
}

function start(now, fields) {
  fields.u32(), fields.u8(), fields.u64(); // Largest packet, L4S, first window.
  for (let streams = fields.u16(); streams > 0; streams--) fields.f64();
  for (let parameters = fields.u16(); parameters > 0; parameters--) {
    const name = fields.text();
    state[name] = fields.u8() === 0x6e ? fields.f64() : fields.text();
  }
  state.rate = state.target_bitrate_start;
  state.last = now;
}

function report(now, fields) {
  let congested = false;
  let rtt = 0;
  for (let packets = fields.u32(); packets > 0; packets--) {
    fields.u8(), fields.u64(), fields.u32(); // Stream, sequence number, size.
    const sent = fields.f64();
    const mark = fields.u8();
    const arrived = fields.f64();
    rtt = now - sent;
    if (Number.isNaN(arrived)) {
      congested = true;
      continue;
    }
    const delay = arrived - sent;
    state.base = Math.min(state.base, delay);
    congested ||= mark === 2 || delay - state.base > state.wait;
  }
  if (!congested) {
    state.rate += state.step * (now - state.last);
  } else if (now - state.cut > 2 * rtt) {
    state.rate = Math.max(state.rate * state.factor, 0.1);
    state.cut = now;
  }
  state.last = now;
}

for (let length; (length = read(4)) !== null; ) {
  const fields = new Fields(read(length.readUInt32LE()));
  const kind = String.fromCharCode(fields.u8());
  if (kind === "D") {
    describe();
    continue;
  }
  const event = fields.u64();
  const now = fields.f64();
  if (kind === "S") start(now, fields);
  if (kind === "R") report(now, fields);
  // The first two of the four fields count.
  const answer = [f64(state.rate), f64(1.5 * state.rate), f64(0), f64(0)];
  send([letter("a"), number(8, "writeBigUInt64LE", event), u8(3), ...answer]);
}
