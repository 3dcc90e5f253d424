// The asker is a separate process, so this process' CPU is the responder's.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { EngineConfig } from "@isochrone/probe/testing";
import { ResponderThread } from "@isochrone/probe/testing";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { BenchResult } from "../types.ts";

const KEY = { id: 1, secret: Buffer.alloc(32, 7) };
const FULL_LOAD = { count: 60_000, window: 256, perSecond: 0 };
const WARM_UP = { ...FULL_LOAD, count: 20_000 };
const ONE_BY_ONE = { count: 3000, window: 1, perSecond: 0 };
/** A node of a large cluster gets some hundred flows with one request per second each. */
const NORMAL_LOAD = { count: 800, window: 256, perSecond: 400 };
const NOTHING = { ...ONE_BY_ONE, count: 1 };
const IDLE_MS = 2000;

type Load = typeof FULL_LOAD;

interface Answer {
  readonly answered: number;
  readonly lost: number;
  readonly elapsedMs: number;
  readonly rttUs: { readonly p50: number; readonly p99: number };
  readonly residenceUs: { readonly p50: number; readonly p99: number };
  readonly cpuMs: number;
}

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const sockets of ["auto", "node"] as const) {
    for (const hmac of [true, false]) results.push(...(await measure(sockets, hmac)));
  }
  return results;
}

async function measure(sockets: "auto" | "node", hmac: boolean): Promise<BenchResult[]> {
  const thread = new ResponderThread({ clock: systemClock, logger: new MemoryLogger(), sockets });
  const { udpPort } = await thread.open(1, configOf(hmac));
  const ask = (load: Load): Promise<Answer> => askWith(udpPort, hmac, load);
  try {
    await ask(WARM_UP);
    // Starting the asker costs this process as well.
    const { cpuMs: spawnMs } = await ask(NOTHING);
    const full = await ask(FULL_LOAD);
    const single = await ask(ONE_BY_ONE);
    const idleMs = await cpuDuring(() => systemClock.sleep(IDLE_MS));
    const normal = await ask(NORMAL_LOAD);
    const name = `responder.${sockets === "auto" ? "kernel" : "node"}.${hmac ? "hmac" : "open"}`;
    const idleShare = idleMs / IDLE_MS;
    return [
      { name: `${name}.answers_per_second`, value: full.answered / (full.elapsedMs / 1000), unit: "1/s" },
      { name: `${name}.cpu_per_1000`, value: ((full.cpuMs - spawnMs) / full.answered) * 1000, unit: "ms" },
      {
        name: `${name}.cpu_per_1000_at_400_per_second`,
        value: ((normal.cpuMs - spawnMs - idleShare * normal.elapsedMs) / normal.answered) * 1000,
        unit: "ms",
      },
      { name: `${name}.idle_cpu`, value: idleShare * 100, unit: "% of a core" },
      { name: `${name}.rtt_p50`, value: single.rttUs.p50, unit: "us" },
      { name: `${name}.rtt_p99`, value: single.rttUs.p99, unit: "us" },
      { name: `${name}.residence_p50`, value: single.residenceUs.p50, unit: "us" },
      { name: `${name}.rtt_p50_at_400_per_second`, value: normal.rttUs.p50, unit: "us" },
      { name: `${name}.residence_p50_at_400_per_second`, value: normal.residenceUs.p50, unit: "us" },
      { name: `${name}.lost`, value: full.lost + single.lost + normal.lost, unit: "requests" },
    ];
  } finally {
    await thread.closeAll();
  }
}

async function askWith(port: number, hmac: boolean, { count, window, perSecond }: Load): Promise<Answer> {
  const file = fileURLToPath(new URL("responder-asker.ts", import.meta.url));
  const key = hmac ? KEY.secret.toString("base64") : "none";
  let output = "";
  const cpuMs = await cpuDuring(async () => {
    const child = spawn(process.execPath, [file, ...[port, key, count, window, perSecond].map(String)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    if (code !== 0) throw new Error(`the asker ended with code ${code}`);
  });
  return { ...(JSON.parse(output) as Omit<Answer, "cpuMs">), cpuMs };
}

async function cpuDuring(run: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function configOf(hmac: boolean): EngineConfig {
  return {
    node: "answerer",
    identity: "127.0.0.2",
    bindAddress: "127.0.0.2",
    udpPort: 0,
    tcpPort: 0,
    methods: ["udp_rr"],
    intervalMs: 1000,
    timeoutMs: 1000,
    publishIntervalMs: 1000,
    warmupPackets: 0,
    packetBytes: 128,
    keys: hmac ? [KEY] : [],
    signingKeyId: hmac ? KEY.id : 0,
    connectIntervalMs: 1000,
    dscp: 0,
    icmpPayloadBytes: 56,
    icmpProber: "auto",
    acceptTranslatedSource: false,
    stallBoundMs: 20,
    responderPacketsPerSecond: 1_000_000,
    zeroCheckIntervalMs: 0,
  };
}
