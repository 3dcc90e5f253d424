// Ours and the fallbacks on a veth pair, idle and with the main thread busy 5 ms of every 20. The wire itself
// takes a few microseconds.
import { spawn, spawnSync } from "node:child_process";
import { median } from "@isochrone/primitives";
import { readFileSync, readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { IcmpProberName, IcmpTask } from "@isochrone/probe/testing";
import { Testbed, WIRE, canMakeTestbed, type FlowSums } from "../../contract/icmp/testbed.ts";
import { Distribution } from "@isochrone/telemetry";
import type { BenchResult } from "../types.ts";

const INTERVAL_MS = 10;
const WARM_MS = 4000;
const SETTLE_MS = 700;
const ROUNDS = 3;
/** A round has 400 samples, so its 99th percentile is the fourth-largest. */
const MEASURE_MS = 4000;
const MAX_P50_US = 15;
const MAX_P99_US = 50;
/** Flows of the fast run, and of the wide one: 10,000 and 5,000 probes per second. */
const FAST_FLOWS = 100;
const WIDE_FLOWS = 5000;
const WIDE_INTERVAL_MS = 1000;
const FAST_MS = 8000;

interface Measured {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly sent: number;
  readonly sentPerSecond: number;
  readonly lost: number;
  readonly kernelShare: number;
  readonly cpuMsPer1000: number;
  readonly cpuShare: number;
}

/** A long-running prober on its own wire, as in a service. */
interface Contender {
  readonly prober: IcmpProberName;
  readonly testbed: Testbed;
}

export async function run(): Promise<BenchResult[]> {
  if (!canMakeTestbed()) {
    console.error("icmp: network namespaces need root; skipped");
    return [];
  }
  const contenders: Contender[] = [];
  try {
    for (const prober of ["kernel", "net_ping"] as const) {
      const contender = await prepare(prober);
      if (contender !== null) contenders.push(contender);
    }
    const ours = contenders.find(({ prober }) => prober === "kernel");
    if (ours === undefined)
      throw new Error("no ICMP socket can be opened, though network namespaces can be made");
    return [
      ...(await compare(contenders, false)),
      ...(await compare(contenders, true)),
      ...(await many(ours.testbed, "10,000 probes/s", FAST_FLOWS, INTERVAL_MS)),
      ...(await many(ours.testbed, "5,000 flows, 1/s each", WIDE_FLOWS, WIDE_INTERVAL_MS)),
    ];
  } finally {
    await Promise.all(contenders.map(({ testbed }) => testbed.close()));
  }
}

/** Warms up the compiler. Returns null if the prober can't run here. */
async function prepare(prober: IcmpProberName): Promise<Contender | null> {
  const testbed = await Testbed.open();
  testbed.rest();
  testbed.task(taskOf(prober, 4, 2));
  await delay(WARM_MS);
  await testbed.look();
  testbed.task({ ...taskOf(prober, 0, INTERVAL_MS) });
  if (testbed.prober === prober) return { prober, testbed };
  await testbed.close();
  return null;
}

/** Alternates in rounds, so that the machine's load affects all. */
async function compare(contenders: readonly Contender[], busy: boolean): Promise<BenchResult[]> {
  const rounds = new Map<IcmpProberName | "fping", Measured[]>();
  const peer = spawnSync("fping", ["-v"]).error === undefined ? contenders[0] : undefined;
  for (let round = 0; round < ROUNDS; round++) {
    for (const { prober, testbed } of contenders) {
      testbed.busy(busy);
      const measured = await measure(testbed, taskOf(prober, 1, INTERVAL_MS), MEASURE_MS);
      testbed.busy(false);
      rounds.set(prober, [...(rounds.get(prober) ?? []), measured]);
    }
    if (peer === undefined) continue;
    peer.testbed.busy(busy);
    rounds.set("fping", [...(rounds.get("fping") ?? []), await measureFping(peer.testbed)]);
    peer.testbed.busy(false);
  }
  const middleRound = (prober: IcmpProberName | "fping"): Measured | null => {
    const measured = rounds.get(prober);
    return measured === undefined ? null : middle(measured);
  };
  return report(busy, middle(rounds.get("kernel") ?? []), middleRound("fping"), middleRound("net_ping"));
}

/** Median of each figure over the rounds. The kernel's share is the minimum. */
function middle(rounds: readonly Measured[]): Measured {
  const middleOf = (of: (one: Measured) => number): number => median(rounds.map(of)) ?? Number.NaN;
  return {
    p50: middleOf(({ p50 }) => p50),
    p90: middleOf(({ p90 }) => p90),
    p99: middleOf(({ p99 }) => p99),
    sent: middleOf(({ sent }) => sent),
    sentPerSecond: middleOf(({ sentPerSecond }) => sentPerSecond),
    lost: middleOf(({ lost }) => lost),
    kernelShare: Math.min(...rounds.map(({ kernelShare }) => kernelShare)),
    cpuMsPer1000: middleOf(({ cpuMsPer1000 }) => cpuMsPer1000),
    cpuShare: middleOf(({ cpuShare }) => cpuShare),
  };
}

function report(
  busy: boolean,
  ours: Measured,
  fping: Measured | null,
  netPing: Measured | null,
): BenchResult[] {
  const state = busy ? "busy" : "idle";
  const results: BenchResult[] = [];
  for (const quantile of ["p50", "p90", "p99"] as const) {
    const bound = { p50: MAX_P50_US, p90: null, p99: MAX_P99_US }[quantile];
    const name = `icmp veth ${state} ${quantile}`;
    const value = ours[quantile];
    results.push({
      name: `${name}, kernel stamps`,
      value,
      unit: "us",
      ...(bound === null ? {} : { target: `<= ${bound} us`, met: value <= bound }),
      ...(fping === null ? {} : { peer: "fping", ratio: value / fping[quantile] }),
    });
    if (fping !== null) results.push({ name: `${name}, fping`, value: fping[quantile], unit: "us" });
    if (netPing !== null)
      results.push({ name: `${name}, net-ping child`, value: netPing[quantile], unit: "us" });
  }
  const share = ours.kernelShare;
  results.push({
    name: `icmp veth ${state}, timed by the kernel's stamps`,
    value: share * 100,
    unit: "%",
    target: "100 %",
    met: share === 1,
  });
  // The load runs in the same process and can't be separated from its cost.
  return busy ? results : [...results, ...costs(ours, fping, netPing)];
}

function costs(ours: Measured, fping: Measured | null, netPing: Measured | null): BenchResult[] {
  const row = (who: string, { cpuMsPer1000 }: Measured): BenchResult => ({
    name: `icmp CPU per 1,000 probes at ${1000 / INTERVAL_MS}/s, ${who}`,
    value: cpuMsPer1000,
    unit: "ms",
  });
  return [
    {
      ...row("kernel", ours),
      ...(fping === null ? {} : { peer: "fping", ratio: ours.cpuMsPer1000 / fping.cpuMsPer1000 }),
    },
    ...(fping === null ? [] : [row("fping", fping)]),
    ...(netPing === null ? [] : [row("net-ping child", netPing)]),
  ];
}

async function many(
  testbed: Testbed,
  title: string,
  flows: number,
  intervalMs: number,
): Promise<BenchResult[]> {
  const measured = await measure(testbed, taskOf("kernel", flows, intervalMs), FAST_MS);
  const { p50, p99, sent, sentPerSecond, lost, cpuShare, cpuMsPer1000, kernelShare } = measured;
  const rate = (flows * 1000) / intervalMs;
  const sentShare = sentPerSecond / rate;
  return [
    {
      name: `icmp ${title}, sent`,
      value: sentShare * 100,
      unit: "% of planned",
      target: ">= 95 %",
      met: sentShare >= 0.95,
    },
    { name: `icmp ${title}, lost`, value: (100 * lost) / sent, unit: "%" },
    { name: `icmp ${title}, timed by the kernel's stamps`, value: kernelShare * 100, unit: "%" },
    { name: `icmp ${title}, p50`, value: p50, unit: "us" },
    { name: `icmp ${title}, p99`, value: p99, unit: "us" },
    { name: `icmp ${title}, CPU`, value: cpuShare * 100, unit: "% of a core" },
    { name: `icmp ${title}, CPU per 1,000 probes`, value: cpuMsPer1000, unit: "ms" },
  ];
}

async function measure(testbed: Testbed, task: IcmpTask, measureMs: number): Promise<Measured> {
  testbed.task(task);
  await delay(SETTLE_MS + Math.min(task.intervalMs, 1000));
  await testbed.look();
  // Reports come every half second, or less often with many flows. Measure between two reports.
  testbed.flows.clear();
  const cpuBefore = cpuMs(testbed);
  const packetsBefore = packetsOnWire(testbed);
  const startMs = performance.now();
  await delay(measureMs);
  await testbed.look();
  const flows = [...testbed.flows.values()];
  const usedMs = cpuMs(testbed) - cpuBefore;
  const tookMs = performance.now() - startMs;
  const measured = summary(flows, usedMs, tookMs, packetsOnWire(testbed) - packetsBefore);
  testbed.task({ ...task, peers: [] });
  return measured;
}

const FPING_LINE = /\[\d+\], (?:\d+ bytes, ([\d.]+) ms|timed out)/;

/** The peer's own figures on the same wire. Its lines are parsed here, so the CPU time is fping's alone. */
async function measureFping(testbed: Testbed): Promise<Measured> {
  const flags = ["-l", "-p", String(INTERVAL_MS), "-t", "1000", "-b", "56"];
  const command = ["-t", String(testbed.nearPid), "-n", "fping", ...flags, WIRE.farIps[0]];
  const child = spawn("nsenter", command, { stdio: ["ignore", "pipe", "ignore"] });
  const rtt = new Distribution();
  let lost = 0;
  const lines = createInterface({ input: child.stdout }).on("line", (line) => {
    const result = FPING_LINE.exec(line);
    if (result?.[1] !== undefined) rtt.record(Number(result[1]) / 1000);
    else if (result !== null) lost++;
  });
  const startMs = performance.now();
  const ended = once(lines, "close");
  await delay(MEASURE_MS);
  const tookMs = performance.now() - startMs;
  const usedMs = Number(readFileSync(`/proc/${child.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  child.kill("SIGKILL");
  await ended;
  const sent = rtt.count + lost;
  const us = (quantile: number): number => (rtt.quantile(quantile) ?? Number.NaN) * 1e6;
  return {
    p50: us(0.5),
    p90: us(0.9),
    p99: us(0.99),
    sent,
    sentPerSecond: (sent * 1000) / tookMs,
    lost,
    kernelShare: 0,
    cpuMsPer1000: (usedMs / sent) * 1000,
    cpuShare: usedMs / tookMs,
  };
}

function summary(flows: readonly FlowSums[], usedMs: number, tookMs: number, sent: number): Measured {
  const rtt = flows[0]?.rtt;
  if (rtt === undefined) throw new Error("nothing was measured");
  for (const flow of flows.slice(1)) rtt.merge(flow.rtt);
  const sum = (of: (flow: FlowSums) => number): number => flows.reduce((total, flow) => total + of(flow), 0);
  const kernel = sum(({ stamps }) => stamps.kernel);
  const us = (quantile: number): number => (rtt.quantile(quantile) ?? Number.NaN) * 1e6;
  return {
    p50: us(0.5),
    p90: us(0.9),
    p99: us(0.99),
    sent,
    sentPerSecond: (sent * 1000) / tookMs,
    lost: sum(({ outcomes }) => outcomes.lost),
    kernelShare: kernel / (kernel + sum(({ stamps }) => stamps.user)),
    cpuMsPer1000: (usedMs / sent) * 1000,
    cpuShare: usedMs / tookMs,
  };
}

function taskOf(prober: IcmpProberName, flows: number, intervalMs: number): IcmpTask {
  const peers = Array.from({ length: flows }, (_, i) => ({
    node: `n${i}`,
    address: WIRE.farIps[i % WIRE.farIps.length] as string,
  }));
  return {
    engine: 1,
    peers,
    intervalMs,
    timeoutMs: 1000,
    warmupPackets: 0,
    zeroCheckIntervalMs: 0,
    dscp: 0,
    payloadBytes: 56,
    prober,
  };
}

/** Packets sent by the near end. Exact at every moment, unlike the rare reports of many flows. */
function packetsOnWire(testbed: Testbed): number {
  const line = testbed
    .inNear("cat", "/proc/net/dev")
    .split("\n")
    .find((text) => text.includes("wire0:"));
  // Bytes, packets and six more receive counters come first.
  return Number(line?.trim().split(/\s+/)[10]);
}

/** CPU time of the near end and its children, ms. */
function cpuMs(testbed: Testbed): number {
  const pids = [testbed.nearPid, ...testbed.children().map(({ pid }) => pid)];
  const ns = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`).map((task) =>
      Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
    ),
  );
  return ns.reduce((sum, each) => sum + each, 0) / 1e6;
}
