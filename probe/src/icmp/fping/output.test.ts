import { describe, expect, test } from "vitest";
import { parseFpingLine } from "./output.ts";

describe("lines of fping", () => {
  test.each([
    [
      "[1795266727.42475] 10.9.0.2   : [0], 64 bytes, 1.03 ms (1.03 avg, 0% loss)",
      { kind: "reply", target: "10.9.0.2", index: 0, rttMs: 1.03, payloadBytes: 56, source: null },
    ],
    [
      "[1795266728.44436] fd00:9::2  : [1432], 40 bytes, 0.050 ms (0.076 avg, 0% loss)",
      { kind: "reply", target: "fd00:9::2", index: 1432, rttMs: 0.05, payloadBytes: 32, source: null },
    ],
    [
      " [<- 10.9.0.3][1795266728.44436] 10.9.0.2 : [7], 64 bytes, 123 ms (99 avg, 0% loss)",
      { kind: "reply", target: "10.9.0.2", index: 7, rttMs: 123, payloadBytes: 56, source: "10.9.0.3" },
    ],
    [
      " [<- fd00::1]fd00::2 : [7], 64 bytes, 0.1 ms (99 avg, 0% loss)",
      { kind: "reply", target: "fd00::2", index: 7, rttMs: 0.1, payloadBytes: 56, source: "fd00::1" },
    ],
    [
      "[1795266727.73429] 10.9.0.77  : [3], timed out (NaN avg, 100% loss)",
      { kind: "timeout", target: "10.9.0.77", index: 3 },
    ],
    [
      "ICMP Host Unreachable from 10.9.0.1 for ICMP Echo sent to 10.9.0.77",
      { kind: "icmp_error", target: "10.9.0.77", reason: "host_unreachable" },
    ],
    [
      "ICMP Port Unreachable from 21.4.7.231 for ICMP Echo sent to 10.255.255.1",
      { kind: "icmp_error", target: "10.255.255.1", reason: "port_unreachable" },
    ],
  ])("%j", (line, expected) => {
    expect(parseFpingLine(line)).toEqual(expected);
  });

  test.each([
    "",
    "fping: can't create socket (must run as root?)",
    "10.9.0.2 is alive",
    "127.0.0.1 : xmt/rcv/%loss = 1/1/0%",
  ])("%j says nothing of a packet", (line) => {
    expect(parseFpingLine(line)).toBeNull();
  });
});
