import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { podAddress } from "./addresses.ts";
import { MESSAGE, NetlinkReader, request, type Connection, type NetlinkVisitor } from "./netlink.ts";
import { connectionMessage, cpuMessage, doneMessage } from "./testing/messages.ts";

/** Linux 6.18, nf_conntrack_acct 1: TCP from 10.244.1.2 to Service 10.96.0.10, translated to 10.244.2.2. */
const RECORDED = [
  "0c01000000010200010000008f690000020000003400018014000180080001000af40102080002000a60000a1c",
  "000280050001000600000006000200975e0000060003001f9000003400028014000180080001000af402020800",
  "02000af401021c0002800500010006000000060002001f90000006000300975e000008000300000001ae080008",
  "000000000008000c0097d89e4a08000b00000000010800070000000076300004802c0001800500010007000000",
  "050002000a000000050003000a000000060004002700000006000500230000001c0009800c0001000000000000",
  "00000d0c00020000000000000161e81c000a800c000100000000000000000a0c00020000000000000063bf",
].join("");

function readAll(bytes: Buffer): {
  connections: Connection[];
  ends: boolean[];
  whole: boolean;
  done: number[];
} {
  const connections: Connection[] = [];
  const ends: boolean[] = [];
  const done: number[] = [];
  const visitor: NetlinkVisitor = {
    connection(connection, isEnd) {
      connections.push({ ...connection });
      ends.push(isEnd);
    },
    done: (errno) => void done.push(errno),
  };
  const whole = new NetlinkReader().read(bytes, visitor);
  return { connections, ends, whole, done };
}

const named = ({ client, server, bytes, id, zone }: Connection): unknown[] => [
  podAddress(client),
  podAddress(server),
  bytes,
  id,
  zone,
];

describe("messages of connection tracking", () => {
  test("name who opened a connection, and the pod behind the Service's address, which the answers come from", () => {
    const bytes = Buffer.concat([
      connectionMessage({ id: 7, bytes: 1001, service: "10.96.0.10" }),
      connectionMessage({
        id: 8,
        bytes: 5,
        client: "fd00:0:0:0:0:0:0:1",
        server: "fd00:0:0:1:0:0:0:9",
        zone: 3,
      }),
      connectionMessage({ id: 9, bytes: null }, true),
      doneMessage(),
    ]);
    const { connections, ends, whole, done } = readAll(bytes);
    expect(connections.map(named)).toEqual([
      ["10.0.1.7", "10.0.2.9", 1001, 7, 0],
      ["fd00::1", "fd00:0:0:1::9", 5, 8, 3],
      ["10.0.1.7", "10.0.2.9", null, 9, 0],
    ]);
    expect([ends, whole, done]).toEqual([[false, false, true], true, [0]]);
  });

  test("are read as a kernel sent them", () => {
    const { connections, whole } = readAll(Buffer.from(RECORDED, "hex"));
    expect(whole).toBe(true);
    expect(connections.map(named)).toEqual([["10.244.1.2", "10.244.2.2", 90_600 + 25_535, 0x97d89e4a, 0]]);
  });

  test("tell connections apart by their ports, and what has none by the kernel's number", () => {
    const keyOf = (more: Parameters<typeof connectionMessage>[0]): string =>
      readAll(connectionMessage(more)).connections[0]!.key;
    const one = keyOf({ id: 1 });
    expect(keyOf({ id: 2, service: "10.96.0.10", zone: 9 })).toBe(one);
    expect(keyOf({ id: 1, clientPort: 40_001 })).not.toBe(one);
    expect(keyOf({ id: 1, protocol: 17 })).not.toBe(one);
    expect(keyOf({ id: 1, protocol: 1 })).not.toBe(keyOf({ id: 2, protocol: 1 }));
  });

  test.each([4789, 8472, 6081, 51820])("know port %i of UDP for a tunnel's", (serverPort) => {
    const isTunnel = (protocol: number): boolean =>
      readAll(connectionMessage({ id: 1, protocol, serverPort })).connections[0]!.isTunnel;
    expect([isTunnel(17), isTunnel(6)]).toEqual([true, false]);
  });

  test("may be an error, or what a table had no room for", () => {
    expect(readAll(doneMessage(1)).done).toEqual([1]);
    const drops: unknown[] = [];
    new NetlinkReader().read(Buffer.concat([cpuMessage(1, 2, 3), cpuMessage(4, 0, 0)]), {
      drops: (each) => void drops.push(each),
      done: () => undefined,
    });
    expect(drops).toEqual([
      { dropped: 1, evicted: 2, insertsFailed: 3 },
      { dropped: 4, evicted: 0, insertsFailed: 0 },
    ]);
  });

  test("that are cut off, or lie about their lengths, are not read beyond their end", () => {
    const whole = connectionMessage({ id: 1, bytes: 10 });
    expect(readAll(whole.subarray(0, whole.length - 4))).toMatchObject({ connections: [], whole: false });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(), (noise, at) => {
        const bytes = Buffer.concat([whole, Buffer.from(noise)]);
        bytes.set(noise.subarray(0, 4), at % whole.length);
        readAll(bytes);
      }),
      { numRuns: 300 },
    );
  });

  test("are asked for with the header of a dump", () => {
    expect(request(MESSAGE.get, 5).toString("hex")).toBe("1400000001010103050000000000000000000000");
    expect(request(MESSAGE.statistics, 1).readUInt16LE(6)).toBe(1);
  });
});

describe("addresses", () => {
  test.each([
    ["0000", null],
    ["7f000001", null],
    ["a9fe0102", null],
    ["e0000001", null],
    ["0af40102", "10.244.1.2"],
    ["00000000000000000000000000000001", null],
    ["fe800000000000000000000000000001", null],
    ["ff020000000000000000000000000001", null],
    ["fd000000000000000000000000000000", "fd00::"],
    ["20010db8000000010000000000000001", "2001:db8:0:1::1"],
    ["20010db8000100020003000400050006", "2001:db8:1:2:3:4:5:6"],
    ["20010db8000000010001000100010001", "2001:db8:0:1:1:1:1:1"],
  ])("%s is %s", (hex, text) => {
    expect(podAddress(Buffer.from(hex, "hex").toString("latin1"))).toBe(text);
  });
});
