// Compared with qperf in the same run on the same loopback.
import { median } from "@isochrone/primitives";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { createMeasuringThreads } from "@isochrone/probe";
import type { ClosedLoopOptions, EngineConfig, FlowSnapshot, ProbePeer } from "@isochrone/probe/testing";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { Distribution } from "@isochrone/telemetry";
import type { BenchResult } from "../types.ts";
import { freePort } from "./free-port.ts";

/** Alternating blocks, so that the machine's load affects both. */
const ROUNDS = 5;
const BLOCK_MS = 600;
/** Warm-up time, after which code is compiled. */
const WARMUP_MS = 800;
const MAX_RATIO = 1.5;
const QPERF_SECONDS = 1;

const METHODS = ["udp_rr", "tcp_rr"] as const;
type RrMethod = (typeof METHODS)[number];

interface Block {
  readonly p50: number;
  readonly p99: number;
  readonly cpuMsPer1000: number;
}

/** Microseconds, with and without HMAC, and qperf's. `configOf(index, authenticated)`: 0 asks, 1 answers. */
export async function compareClosedLoops(
  configOf: (index: number, authenticated: boolean) => EngineConfig,
): Promise<BenchResult[]> {
  const blocks = new Map<string, Block[]>();
  const peers = new Map<RrMethod, number[]>();
  const port = await freePort();
  const qperf = spawn("qperf", ["-lp", String(port)], { stdio: "ignore" });
  const installed = await Promise.race([
    once(qperf, "error").then(() => false),
    once(qperf, "spawn").then(() => true),
  ]);
  const answerers = {
    true: await openAnswerer(configOf(1, true)),
    false: await openAnswerer(configOf(1, false)),
  };
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const method of METHODS) {
        for (const authenticated of [false, true] as const) {
          const { peer } = answerers[`${authenticated}`];
          const config = configOf(0, authenticated);
          const block = await runBlock({ config, peer, method, durationMs: BLOCK_MS, warmupMs: WARMUP_MS });
          push(blocks, `${method} ${authenticated}`, block);
        }
        if (installed) push(peers, method, await qperfRoundTripUs(port, method));
      }
    }
  } finally {
    qperf.kill();
    for (const { close } of Object.values(answerers)) await close();
  }
  return METHODS.flatMap((method) => resultsOf(method, blocks, peers.get(method) ?? []));
}

function resultsOf(
  method: RrMethod,
  blocks: ReadonlyMap<string, readonly Block[]>,
  peer: readonly number[],
): BenchResult[] {
  const results: BenchResult[] = [];
  const peerUs = peer.length === 0 ? null : median(peer)!;
  for (const authenticated of [false, true]) {
    const own = blocks.get(`${method} ${authenticated}`) ?? [];
    const name = `probe.${method}.closed_loop_${authenticated ? "hmac" : "open"}`;
    const p50 = median(own.map((block) => block.p50))!;
    const ratio = peerUs === null ? null : p50 / peerUs;
    results.push({
      name: `${name}_p50`,
      value: p50,
      unit: "us",
      ...(ratio === null ? {} : { peer: `qperf ${peerUs?.toFixed(1)} us`, ratio }),
      ...(ratio === null || authenticated
        ? {}
        : { target: `<= ${MAX_RATIO} x qperf`, met: ratio <= MAX_RATIO }),
    });
    results.push({ name: `${name}_p99`, value: median(own.map((block) => block.p99))!, unit: "us" });
    results.push({
      name: `${name}_cpu_per_1000`,
      value: median(own.map((block) => block.cpuMsPer1000))!,
      unit: "ms",
    });
  }
  return results;
}

async function runBlock(options: ClosedLoopOptions): Promise<Block> {
  const worker = new Worker(new URL("./closed-loop.worker.ts", import.meta.url), { workerData: options });
  const [{ snapshot, cpuMs }] = (await once(worker, "message")) as [
    { snapshot: FlowSnapshot; cpuMs: number },
  ];
  await worker.terminate();
  const times = new Distribution();
  times.mergeData(snapshot.application);
  const { received } = snapshot.outcomes;
  return {
    p50: (times.quantile(0.5) ?? Number.NaN) * 1e6,
    p99: (times.quantile(0.99) ?? Number.NaN) * 1e6,
    cpuMsPer1000: (cpuMs / received) * 1000,
  };
}

async function openAnswerer(config: EngineConfig): Promise<{ peer: ProbePeer; close: () => Promise<void> }> {
  const thread = createMeasuringThreads({ clock: systemClock, logger: new MemoryLogger() });
  const { udpPort, tcpPort } = await thread.createEngine(config, { onSnapshot: () => undefined });
  const { node, identity } = config;
  const peer = {
    node,
    zone: null,
    region: null,
    address: identity,
    identity,
    udpPort,
    tcpPort,
    bandwidthPort: null,
  };
  return { peer, close: () => thread.close() };
}

/** qperf prints one-way time; a round trip is two. */
async function qperfRoundTripUs(port: number, method: RrMethod): Promise<number> {
  const test = method === "udp_rr" ? "udp_lat" : "tcp_lat";
  const args = ["-lp", String(port), "-t", String(QPERF_SECONDS), "-m", "128", "127.0.0.1", test];
  const client = spawn("qperf", args, { stdio: ["ignore", "pipe", "pipe"], timeout: 10_000 });
  let text = "";
  for await (const chunk of client.stdout) text += String(chunk);
  const found = /latency\s*=\s*([\d.]+)\s*(ns|us|ms)/.exec(text);
  if (found === null) throw new Error(`qperf ${test} said ${JSON.stringify(text)}`);
  const scale = { ns: 1e-3, us: 1, ms: 1e3 }[found[2] as "ns" | "us" | "ms"];
  return 2 * Number(found[1]) * scale;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
