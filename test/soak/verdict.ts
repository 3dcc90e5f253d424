import { ascending, nearestRank } from "@isochrone/primitives";
import type { CounterName } from "./counters.ts";
import { RECOVERY_DEADLINE_MS, type Kill } from "./pods.ts";
import type { Sample } from "./sample.ts";

interface Findings {
  readonly samples: readonly Sample[];
  readonly kills: readonly Kill[];
  readonly streamFailures: number;
  readonly events: number;
}

export interface Verdict {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

const MEBIBYTE = 2 ** 20;
const MAX_GROWTH_BYTES = 50 * MEBIBYTE;
const MAX_GROWTH_RATIO = 0.2;
/** Samples at each end whose median is compared, so that a garbage collection does not count as growth. */
const END_SAMPLES = 5;

export function judge(findings: Findings, limits: { readonly maxGraphP99Ms: number }): Verdict[] {
  const { samples } = findings;
  return [
    judgeMemory(samples),
    judgeLatency(samples, limits.maxGraphP99Ms),
    judgeCounter(samples, "missing", "records missing"),
    judgeCounter(samples, "refused", "telemetry refused"),
    judgeCounter(samples, "dropped", "records or event clients dropped"),
    judgeCounter(samples, "failed", "failed builds"),
    judgeAgreement(samples),
    judgeKills(findings.kills),
    {
      check: "event streams and polls stay up",
      ok: findings.streamFailures === 0 && findings.events > 0,
      detail: `${findings.streamFailures} failures, ${findings.events} events`,
    },
  ];
}

function judgeMemory(samples: readonly Sample[]): Verdict {
  const rss = samples.map(({ rssBytes }) => rssBytes.main);
  const middle = (bytes: readonly number[]): number => nearestRank(ascending(bytes), 0.5) ?? Number.NaN;
  const first = middle(rss.slice(0, END_SAMPLES));
  const last = middle(rss.slice(-END_SAMPLES));
  const growth = last - first;
  return {
    check: "main process grows by less than 20 % or 50 MB after warm-up",
    ok: growth < Math.max(MAX_GROWTH_RATIO * first, MAX_GROWTH_BYTES),
    detail: `${mebibytes(first)} -> ${mebibytes(last)} MB (${((growth / first) * 100).toFixed(1)} %)`,
  };
}

function judgeLatency(samples: readonly Sample[], limitMs: number): Verdict {
  const sorted = ascending(samples.flatMap(({ latenciesMs }) => latenciesMs));
  // NaN without responses passes no check.
  const at = (share: number): string => (nearestRank(sorted, share) ?? Number.NaN).toFixed(1);
  const p99 = nearestRank(sorted, 0.99) ?? Number.NaN;
  return {
    check: `graph API p99 below ${limitMs} ms`,
    ok: p99 < limitMs,
    detail: `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms of ${sorted.length} answers`,
  };
}

function judgeCounter(samples: readonly Sample[], name: CounterName, words: string): Verdict {
  const highest = samples.reduce((most, { counters }) => Math.max(most, counters[name]), 0);
  return { check: `no ${words}`, ok: samples.length > 0 && highest === 0, detail: String(highest) };
}

function judgeAgreement(samples: readonly Sample[]): Verdict {
  // On a busy machine packets wait for the CPU instead of the emulated network.
  const agreements = samples.filter(({ steady }) => steady).map(({ agreement }) => agreement);
  const outside = agreements.filter(({ worst, compared }) => worst > 1 || compared === 0);
  const worst = agreements.toSorted((a, b) => b.worst - a.worst)[0];
  return {
    check: "settled links within 5 % or 1.5 ms of the emulator's record",
    ok: agreements.length > 0 && outside.length === 0,
    detail: `${outside.length} of ${agreements.length} steady samples outside, ${samples.length - agreements.length} samples disturbed by other programs; worst ${((worst?.worst ?? 0) * 100).toFixed(0)} % of what is allowed: ${worst?.detail ?? "none"}`,
  };
}

function judgeKills(kills: readonly Kill[]): Verdict {
  const recovered = kills.filter(({ recoveredMs }) => recoveredMs !== null);
  const seconds = kills.map(
    ({ pod, backMs, recoveredMs, furthest }) =>
      `${pod} back ${inSeconds(backMs)}, rates ${inSeconds(recoveredMs)} (furthest: ${furthest})`,
  );
  return {
    check: `killed pods are back with all rates within ${RECOVERY_DEADLINE_MS / 1000} s`,
    ok: kills.length > 0 && recovered.length === kills.length,
    detail: `${recovered.length} of ${kills.length}; ${seconds.join("; ")}`,
  };
}

function inSeconds(ms: number | null): string {
  return ms === null ? "never" : `${(ms / 1000).toFixed(1)} s`;
}

/** MB as tools print them: 2^20 bytes. */
export function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1);
}
