// HTTP/2 frames of kinds that have crashed or exhausted servers: RFC 9113, and floods of each frame.
import type { Draws } from "./random.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA = 0;
const HEADERS = 1;
const PRIORITY = 2;
const RST_STREAM = 3;
const SETTINGS = 4;
const PUSH_PROMISE = 5;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const HEAD_BYTES = 9;
const FLOOD = 1_500;

type Field = readonly [string, string];

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length & 0xffffff, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream >>> 0, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK, literal fields without an index (RFC 7541, section 6.2.2). */
function block(list: readonly Field[]): Buffer {
  return Buffer.concat(list.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const most = 127;
  if (bytes.length < most) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [most];
  let left = bytes.length - most;
  for (; left >= 128; left >>= 7) length.push((left & 127) | 128);
  return Buffer.concat([Buffer.from([...length, left]), bytes]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

const OTHERS: readonly Field[] = [
  ["content-length", "2"],
  ["content-length", "7"],
  ["transfer-encoding", "chunked"],
  ["connection", "close"],
  ["te", "gzip"],
  ["expect", "100-continue"],
  ["host", "plain.shop"],
  ["X-Upper", "1"],
  ["x-null", "a\u0000b"],
  ["x-break", "a\r\nx-other: b"],
  ["content-type", "application/grpc"],
  ["grpc-timeout", "1n"],
  ["cookie", "a=b"],
  [":path", "/late"],
  [":odd", "x"],
  ["", "x"],
  ["x-long", "a".repeat(15_000)],
];

function requestOf(draws: Draws): Field[] {
  const fields: Field[] = [
    [":method", draws.pick(["GET", "GET", "POST", "HEAD", "CONNECT", ""])],
    [":scheme", draws.pick(["http", "http", "http", "ftp"])],
    [":path", draws.pick(["/a", "/a", "/a", "*", "http://plain.shop/a", ""])],
    [":authority", draws.pick(["web.shop", "web.shop", "plain.shop", "streams.shop", ""])],
  ];
  if (draws.chance(0.1)) fields.splice(draws.below(fields.length), 1);
  if (draws.chance(0.1)) fields.push([":protocol", "websocket"]);
  for (let left = draws.chance(0.5) ? draws.below(4) : 0; left > 0; left--) fields.push(draws.pick(OTHERS));
  if (draws.chance(0.05)) for (let at = 0; at < 2_000; at++) fields.push([`x-${at}`, "1"]);
  return fields;
}

function answerOf(draws: Draws): Field[] {
  const fields: Field[] = [
    [":status", draws.pick(["200", "200", "204", "304", "100", "103", "101", "0", "x"])],
  ];
  if (draws.chance(0.1)) fields.pop();
  for (let left = draws.chance(0.5) ? draws.below(4) : 0; left > 0; left--) fields.push(draws.pick(OTHERS));
  return fields;
}

/** A block of fields, in one piece or in fragments that may never end. */
function headers(draws: Draws, stream: number, list: readonly Field[], flags: number): Buffer {
  const all = block(list);
  if (draws.chance(0.8)) return frame(HEADERS, flags | END_HEADERS, stream, all);
  const pieces = Array.from({ length: draws.pick([1, 3, FLOOD]) }, () =>
    frame(CONTINUATION, 0, stream, all.subarray(0, 5)),
  );
  const end = draws.chance(0.5) ? [frame(CONTINUATION, END_HEADERS, stream)] : [];
  return Buffer.concat([frame(HEADERS, flags, stream, all), ...pieces, ...end]);
}

/** Frames that either side may send at any time, valid or not. */
function anyFrame(draws: Draws, stream: number): Buffer {
  const times = draws.chance(0.15) ? FLOOD : 1;
  const others = [
    () =>
      frame(
        SETTINGS,
        0,
        0,
        Buffer.concat([Buffer.from([0, draws.below(9)]), number(draws.pick([0, 1, 2 ** 31, 2 ** 32 - 1]))]),
      ),
    () => frame(SETTINGS, ACK, 0),
    () => frame(SETTINGS, 0, stream, Buffer.alloc(5)),
    () => frame(PING, draws.pick([0, ACK]), 0, Buffer.alloc(draws.pick([8, 8, 7]))),
    () => frame(RST_STREAM, 0, stream, number(draws.pick([0, 7, 8, 11]))),
    () => frame(PRIORITY, 0, stream, Buffer.concat([number(draws.pick([0, stream, 3])), Buffer.from([9])])),
    () => frame(WINDOW_UPDATE, 0, draws.pick([0, stream]), number(draws.pick([0, 1, 2 ** 31 - 1]))),
    () =>
      frame(GOAWAY, 0, 0, Buffer.concat([number(draws.pick([0, stream])), number(draws.pick([0, 2, 11]))])),
    () => frame(PUSH_PROMISE, END_HEADERS, stream, Buffer.concat([number(2), block(requestOf(draws))])),
    () => frame(CONTINUATION, END_HEADERS, stream, block([["x-a", "1"]])),
    () =>
      frame(DATA, draws.pick([0, END_STREAM]), stream, Buffer.from("ab".repeat(draws.pick([0, 1, 8_000])))),
    () => frame(DATA, 8, stream, Buffer.from([draws.pick([0, 9]), 1, 2])),
    () => frame(draws.pick([10, 16, 255]), 255, stream, Buffer.alloc(3)),
    () => Buffer.from([0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1]),
  ];
  return Buffer.concat(Array.from({ length: times }, draws.pick(others)));
}

export function drawClientFrames(draws: Draws): Buffer {
  const parts = [Buffer.from(PREFACE), frame(SETTINGS, 0, 0)];
  if (draws.chance(0.1)) return Buffer.concat([...parts, rapidResets(draws)]);
  let stream = 1;
  // A connection error ends all streams, so some inputs have none.
  const isCalm = draws.chance(0.4);
  for (let left = 1 + draws.below(5); left > 0; left--) {
    const isWhole = draws.chance(isCalm ? 0.9 : 0.5);
    parts.push(headers(draws, stream, requestOf(draws), isWhole ? END_STREAM : 0));
    for (let more = isCalm ? 0 : draws.below(3); more > 0; more--) parts.push(anyFrame(draws, stream));
    if (!isWhole && draws.chance(0.5))
      parts.push(headers(draws, stream, [["x-sum", "1"], draws.pick(OTHERS)], END_STREAM));
    stream += draws.pick([2, 2, 2, 0, 1]);
  }
  return Buffer.concat(parts);
}

/** CVE-2023-44487: requests that are reset at once. */
function rapidResets(draws: Draws): Buffer {
  const fields: Field[] = [
    [":method", "GET"],
    [":scheme", "http"],
    [":path", "/a"],
    [":authority", draws.pick(["web.shop", "streams.shop"])],
  ];
  const all = block(fields);
  return Buffer.concat(
    Array.from({ length: FLOOD }, (_, at) => [
      frame(HEADERS, END_HEADERS | END_STREAM, 2 * at + 1, all),
      frame(RST_STREAM, 0, 2 * at + 1, number(8)),
    ]).flat(),
  );
}

export function drawAnswerFrames(draws: Draws): Buffer {
  const parts: Buffer[] = [];
  for (let left = 1 + draws.below(4); left > 0; left--) {
    if (draws.chance(0.7)) parts.push(headers(draws, 1, answerOf(draws), draws.chance(0.3) ? END_STREAM : 0));
    if (draws.chance(0.5)) parts.push(anyFrame(draws, 1));
  }
  if (draws.chance(0.7)) parts.push(frame(DATA, END_STREAM, 1, Buffer.from("ok")));
  return Buffer.concat(parts);
}

/** A complete response: 200 with a body. */
export const PLAIN_ANSWER = Buffer.concat([
  frame(HEADERS, END_HEADERS, 1, block([[":status", "200"]])),
  frame(DATA, END_STREAM, 1, Buffer.from("ok")),
]);

export const SERVER_PREFACE = frame(SETTINGS, 0, 0);

/** Streams opened by these bytes, counting complete frames only. */
export function streamsBegun(bytes: Buffer): number[] {
  return framesOf(bytes).flatMap(({ type, stream }) => (type === HEADERS ? [stream] : []));
}

/** Moves frames of stream 1 to another stream. */
export function onStream(bytes: Buffer, stream: number): Buffer {
  const moved = Buffer.from(bytes);
  for (const { at, stream: own } of framesOf(moved)) if (own === 1) moved.writeUInt32BE(stream, at + 5);
  return moved;
}

function framesOf(bytes: Buffer): { readonly at: number; readonly type: number; readonly stream: number }[] {
  const found: { at: number; type: number; stream: number }[] = [];
  for (let at = 0; at + HEAD_BYTES <= bytes.length; at += HEAD_BYTES + bytes.readUIntBE(at, 3))
    found.push({ at, type: bytes.readUInt8(at + 3), stream: bytes.readUInt32BE(at + 5) });
  return found;
}
