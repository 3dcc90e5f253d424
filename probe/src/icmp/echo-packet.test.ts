import { describe, expect, test } from "vitest";
import { ECHO_HEADER_BYTES, EchoCodec, checksum } from "./echo-packet.ts";

const ECHO_BYTES = ECHO_HEADER_BYTES + 56;

describe("echo packets", () => {
  const codecOf = (family: 4 | 6, id: number | null = 77, nonce = 99n): EchoCodec =>
    new EchoCodec({ family, id, nonce });

  function replyTo(request: Buffer, family: 4 | 6): Buffer {
    const reply = Buffer.from(request);
    reply[0] = family === 4 ? 0 : 129;
    reply.writeUInt16BE(0, 2);
    if (family === 4) reply.writeUInt16BE(checksum(reply), 2);
    return reply;
  }

  function requestOf(codec: EchoCodec, sequence: number, bytes = ECHO_BYTES): Buffer {
    const request = Buffer.alloc(bytes, 0xee);
    codec.write(request, sequence);
    return request;
  }

  test.each([
    // RFC 1071, section 3: the sum of these words is ddf2.
    [[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0x220d],
    [[0xff, 0xff], 0x0000],
    [[0x00, 0x00], 0xffff],
    [[0x01, 0x00, 0x02], 0xfcff],
  ])("checksum of %j", (bytes, expected) => {
    expect(checksum(Buffer.from(bytes))).toBe(expected);
  });

  test.each([0, 5, 0xffff, 0x10000, 0x12345678, 0xffffffff])(
    "a written request with sequence %i is valid at every size, and its reply is ours",
    (sequence) => {
      for (const bytes of [24, 40, 63, ECHO_BYTES, 1480]) {
        const request = requestOf(codecOf(4), sequence, bytes);
        expect(checksum(request)).toBe(0);
        expect(codecOf(4).read(replyTo(request, 4), 0, bytes)).toEqual({ kind: "ours", sequence });
      }
    },
  );

  test("an IPv6 request has its own types and leaves the checksum to the kernel", () => {
    const request = requestOf(codecOf(6), 7);
    expect([request[0], request[1], request.readUInt16BE(2)]).toEqual([128, 0, 0]);
    const reply = replyTo(request, 6);
    expect(codecOf(6).read(reply, 0, reply.length)).toEqual({ kind: "ours", sequence: 7 });
    expect(codecOf(4).read(reply, 0, reply.length).kind).toBe("foreign");
  });

  test("replies to others, requests and stubs are foreign", () => {
    const request = requestOf(codecOf(4), 5);
    const reply = replyTo(request, 4);
    expect(codecOf(4).read(request, 0, ECHO_BYTES).kind).toBe("foreign");
    expect(codecOf(4, 77, 98n).read(reply, 0, ECHO_BYTES).kind).toBe("foreign");
    expect(codecOf(4, 77, 99n + (1n << 32n)).read(reply, 0, ECHO_BYTES).kind).toBe("foreign");
    expect(codecOf(4, 78).read(reply, 0, ECHO_BYTES).kind).toBe("foreign");
    expect(codecOf(4, null).read(reply, 0, ECHO_BYTES).kind).toBe("ours");
    expect(codecOf(4).read(reply, 0, 12).kind).toBe("foreign");
  });

  test("one of ours with any byte of sequence or pattern altered is corrupt", () => {
    const request = requestOf(codecOf(4), 0x12345678);
    const identity = new Set([0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15]);
    for (let at = 0; at < ECHO_BYTES; at++) {
      if (identity.has(at)) continue;
      const reply = replyTo(request, 4);
      reply[at] = (reply[at] as number) ^ 0x10;
      expect(codecOf(4).read(reply, 0, ECHO_BYTES).kind).toBe("corrupt");
    }
  });

  test("a payload too small for the identity, or too big for a packet, is refused", () => {
    expect(() => requestOf(codecOf(4), 1, 23)).toThrow(/must be 16 to 1472 bytes, got 15/);
    expect(() => requestOf(codecOf(4), 1, 1481)).toThrow(/must be 16 to 1472 bytes, got 1473/);
  });
});
