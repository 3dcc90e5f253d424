// Loopback round trips of UDP_RR and TCP_RR, CPU per transaction on both sides, and the HMAC's share.
import { createMeasuringThreads } from "@isochrone/probe";
import type { MeasuringThreads } from "@isochrone/probe";
import {
  createRequest,
  type Engine,
  type EngineConfig,
  type EngineSnapshot,
  findFault,
  Keyring,
  parseAddress,
  signRequest,
} from "@isochrone/probe/testing";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { Distribution, type Method } from "@isochrone/telemetry";
import type { BenchResult } from "../types.ts";
import { compareClosedLoops } from "./closed-loop.ts";

const KEY = { id: 1, secret: Buffer.alloc(32, 7) };
const PEERS = 8;
const ORDINARY_PEERS = 16;
const INTERVAL_MS = 10;
const MEASURE_MS = 4000;
const SIGNATURES = 50_000;
const PACKET_BYTES = 128;

function configOf(index: number, methods: readonly Method[]): EngineConfig {
  const address = `127.0.9.${index + 1}`;
  return {
    node: `node-${index}`,
    identity: address,
    bindAddress: address,
    udpPort: 0,
    tcpPort: 0,
    methods,
    intervalMs: INTERVAL_MS,
    timeoutMs: 1000,
    publishIntervalMs: 1000,
    warmupPackets: 5,
    packetBytes: PACKET_BYTES,
    keys: [KEY],
    signingKeyId: KEY.id,
    acceptTranslatedSource: false,
    stallBoundMs: 20,
    responderPacketsPerSecond: 1_000_000,
    zeroCheckIntervalMs: index === 0 ? 20 : 0,
    connectIntervalMs: INTERVAL_MS,
    dscp: 0,
    icmpPayloadBytes: 56,
    icmpProber: "auto",
  };
}

interface Cluster {
  readonly thread: MeasuringThreads;
  readonly asker: Engine;
  readonly others: readonly Engine[];
  readonly snapshots: EngineSnapshot[];
}

async function openCluster(method: Method): Promise<Cluster> {
  const thread = createMeasuringThreads({ clock: systemClock, logger: new MemoryLogger() });
  const snapshots: EngineSnapshot[] = [];
  const asker = await thread.createEngine(configOf(0, [method]), {
    onSnapshot: (snapshot) => void snapshots.push(snapshot),
  });
  const others: Engine[] = [];
  for (let i = 1; i <= PEERS; i++)
    others.push(await thread.createEngine(configOf(i, [method]), { onSnapshot: () => undefined }));
  return { thread, asker, others, snapshots };
}

async function cpuMsDuring(ms: number): Promise<number> {
  const before = process.cpuUsage();
  await systemClock.sleep(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function measure(method: Method): Promise<BenchResult[]> {
  const { thread, asker, others, snapshots } = await openCluster(method);
  await systemClock.sleep(1000);
  const idleMs = await cpuMsDuring(MEASURE_MS);
  asker.setPeers(
    others.map(({ udpPort, tcpPort }, index) => {
      const { node, identity } = configOf(index + 1, [method]);
      return {
        node,
        zone: null,
        region: null,
        address: identity,
        identity,
        udpPort,
        tcpPort,
        bandwidthPort: null,
      };
    }),
  );
  // Exclude the compiler's warm-up, which does not matter for a long-running probe.
  await systemClock.sleep(2000);
  snapshots.length = 0;
  const busyMs = await cpuMsDuring(MEASURE_MS);
  await thread.close();
  const transactions = (PEERS * MEASURE_MS) / INTERVAL_MS;
  const cpu = {
    name: `probe.${method}.cpu_per_1000`,
    value: ((busyMs - idleMs) / transactions) * 1000,
    unit: "ms",
  };
  return [
    ...timesOf(method, snapshots),
    cpu,
    { name: `probe.${method}.idle_cpu`, value: (idleMs / MEASURE_MS) * 100, unit: "% of a core" },
  ];
}

function timesOf(method: Method, snapshots: readonly EngineSnapshot[]): BenchResult[] {
  const rtt = new Distribution();
  const zero = new Distribution();
  const late = new Distribution();
  for (const { flows, zeroCheck, sendLateness } of snapshots) {
    for (const flow of flows) rtt.mergeData(flow.rtt);
    if (zeroCheck !== null) zero.mergeData(zeroCheck.rtt);
    late.mergeData(sendLateness);
  }
  const results = [
    micros(`probe.${method}.loopback_rtt_p50`, rtt.quantile(0.5)),
    micros(`probe.${method}.loopback_rtt_p99`, rtt.quantile(0.99)),
    micros(`probe.${method}.send_lateness_p99`, late.quantile(0.99)),
    micros(`probe.${method}.zero_check_p50`, zero.quantile(0.5)),
  ];
  return results.filter((result) => result !== null);
}

/** Null without a measurement, e.g. without permission to send ICMP. */
function micros(name: string, seconds: number | null): BenchResult | null {
  return seconds === null ? null : { name, value: seconds * 1e6, unit: "us" };
}

function closedLoopConfig(index: number, authenticated: boolean): EngineConfig {
  const config = { ...configOf(index, ["udp_rr", "tcp_rr"]), zeroCheckIntervalMs: 0, stallBoundMs: 1000 };
  return authenticated ? config : { ...config, keys: [], signingKeyId: 0 };
}

/** The number of peers is bounded, with one request per second and method each. */
async function measureOrdinary(): Promise<BenchResult[]> {
  const methods = ["udp_rr", "tcp_rr", "tcp_connect"] as const;
  const ordinary = (index: number): EngineConfig => ({
    ...configOf(index, methods),
    intervalMs: 1000,
    connectIntervalMs: 1000,
    publishIntervalMs: 10_000,
    zeroCheckIntervalMs: 0,
  });
  // Both sides together: the process asks and answers.
  const thread = createMeasuringThreads({ clock: systemClock, logger: new MemoryLogger() });
  const asker = await thread.createEngine(ordinary(0), { onSnapshot: () => undefined });
  const answerer = await thread.createEngine(ordinary(1), { onSnapshot: () => undefined });
  const { udpPort, tcpPort } = answerer;
  const { identity } = ordinary(1);
  const peers = Array.from({ length: ORDINARY_PEERS }, (_, i) => {
    return {
      node: `peer-${i}`,
      zone: null,
      region: null,
      address: identity,
      identity,
      udpPort,
      tcpPort,
      bandwidthPort: null,
    };
  });
  await systemClock.sleep(1000);
  const idleMs = await cpuMsDuring(MEASURE_MS);
  asker.setPeers(peers);
  await systemClock.sleep(2000);
  const busyMs = await cpuMsDuring(2 * MEASURE_MS);
  await thread.close();
  return [
    { name: "probe.idle_cpu", value: (idleMs / MEASURE_MS) * 1000, unit: "ms/s" },
    {
      name: `probe.${ORDINARY_PEERS}_peers_x_3_methods_per_second_cpu`,
      value: (busyMs / (2 * MEASURE_MS)) * 1000,
      unit: "ms/s",
    },
  ];
}

function signAndVerify(): BenchResult {
  const keys = new Keyring([KEY]);
  const address = parseAddress("127.0.0.1") ?? new Uint8Array(16);
  const request = createRequest(
    { bytes: PACKET_BYTES, transport: "udp", session: 1, nonce: 1n, source: address, destination: address },
    KEY.id,
  );
  let faults = 0;
  const round = (): void => {
    for (let sequence = 0; sequence < SIGNATURES; sequence++) {
      signRequest(request, sequence, keys);
      if (findFault(request, "request", "udp", keys) !== null) faults++;
    }
  };
  round();
  const startMs = performance.now();
  round();
  const eachUs = ((performance.now() - startMs) * 1000) / SIGNATURES;
  if (faults > 0) throw new Error(`${faults} packets that were just signed didn't verify`);
  return { name: "probe.sign_and_verify", value: eachUs, unit: "us" };
}

export async function run(): Promise<BenchResult[]> {
  return [
    signAndVerify(),
    ...(await compareClosedLoops(closedLoopConfig)),
    ...(await measure("udp_rr")),
    ...(await measure("tcp_rr")),
    ...(await measureOrdinary()),
  ];
}
