// What fping prints in loop mode, without -q, line by line (5.1 to 5.5):
//   [1795266727.42475] 10.9.0.2   : [0], 64 bytes, 1.03 ms (1.03 avg, 0% loss)
//   [1795266727.73429] 10.9.0.77  : [0], timed out (NaN avg, 100% loss)
//   ICMP Host Unreachable from 10.9.0.1 for ICMP Echo sent to 10.9.0.77
// A reply from elsewhere than the target is told by ` [<- 10.9.0.3]`, which goes to the error stream, before
// the line that it belongs to.

export type FpingLine =
  | {
      readonly kind: "reply";
      readonly target: string;
      /** Counts the packets to this target from 0. */
      readonly index: number;
      readonly rttMs: number;
      /** ICMP payload of the reply. */
      readonly payloadBytes: number;
      /** Who sent it; null: the target itself. */
      readonly source: string | null;
    }
  | { readonly kind: "timeout"; readonly target: string; readonly index: number }
  | { readonly kind: "icmp_error"; readonly target: string; readonly reason: string };

const SOURCE = /^\s*\[<- ([0-9a-fA-F:.]+)\]\s*/;
const RESULT = /^(?:\[\d+\.\d+\] )?(\S+)\s*: \[(\d+)\], (?:(\d+) bytes, ([\d.]+) ms|timed out)/;
const ICMP_ERROR = /^ICMP(?:v6)? (.+?) (?:\(.*\) )?from \S+ for ICMP(?:v6)? Echo(?: Request)? sent to (\S+)/;
const ICMP_HEADER_BYTES = 8;

/** Null: nothing about a packet. */
export function parseFpingLine(line: string): FpingLine | null {
  const error = ICMP_ERROR.exec(line);
  if (error !== null) {
    const [, reason = "", target = ""] = error;
    return { kind: "icmp_error", target, reason: reason.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_") };
  }
  const source = SOURCE.exec(line);
  const result = RESULT.exec(source === null ? line : line.slice(source[0].length));
  if (result === null) return null;
  const [, target = "", index, bytes, rtt] = result;
  if (rtt === undefined) return { kind: "timeout", target, index: Number(index) };
  return {
    kind: "reply",
    target,
    index: Number(index),
    rttMs: Number(rtt),
    payloadBytes: Number(bytes) - ICMP_HEADER_BYTES,
    source: source?.[1] ?? null,
  };
}
