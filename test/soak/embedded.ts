// A long run of the embedded system with faults and readers. Linux only: reads /proc.
import { LabClient, readControlToken } from "@isochrone/lab/testing";
import { seededRandom } from "@isochrone/runtime";
import { EmbeddedSystem } from "../harness/embedded.ts";
import { GraphLoad } from "./graph-load.ts";
import { LinkChanger } from "./links.ts";
import { readOptions, type SoakOptions } from "./options.ts";
import { PodKiller, RECOVERY_DEADLINE_MS } from "./pods.ts";
import { figures, verdictLines } from "./report.ts";
import { Sampler, type Sample } from "./sample.ts";
import { judge } from "./verdict.ts";

const WARM_UP_MS = 60_000;
const SAMPLE_MS = 5_000;
const CHANGE_MS = 15_000;
const KILL_MS = 40_000;

async function soak(options: SoakOptions, signal: AbortSignal): Promise<boolean> {
  const system = await EmbeddedSystem.start(
    "--acts",
    "spread",
    "--rate",
    String(options.requestsPerSecond),
    "--seed",
    String(options.seed),
  );
  const load = new GraphLoad(system);
  try {
    return await observe(system, load, options, signal);
  } finally {
    await load.stop();
    const code = await system.stop();
    console.log(`the system ended with exit code ${code}`);
    if (code !== 0) process.exitCode = 1;
  }
}

async function observe(
  system: EmbeddedSystem,
  load: GraphLoad,
  options: SoakOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const random = seededRandom(options.seed);
  const lab = new LabClient(system.urls.lab, {
    token: await readControlToken(system.urls.lab, process.env),
  });
  const links = new LinkChanger(lab, (await lab.matrix()).nodes, random);
  const killer = new PodKiller(system, random);
  const sampler = new Sampler(system, load, links);
  load.start();
  console.log(`warming up for ${WARM_UP_MS / 1000} s`);
  // The machine's load is known for a whole window when the measurement starts.
  for (const warmMs = Date.now() + WARM_UP_MS; Date.now() < warmMs && !signal.aborted;) {
    await sampler.take(warmMs);
    await pause(SAMPLE_MS, signal);
  }
  const beganMs = Date.now();
  const endMs = beganMs + options.durationMs - WARM_UP_MS;
  let nextChangeMs = beganMs;
  let nextKillMs = beganMs;
  const samples: Sample[] = [];
  for (let next = beganMs; Date.now() < endMs && !signal.aborted;) {
    const sample = await sampler.take(beganMs);
    samples.push(sample);
    printProgress(sample);
    await killer.check();
    const nowMs = Date.now();
    if (nowMs >= nextChangeMs) {
      console.log(`  link ${await links.change()}`);
      nextChangeMs = nowMs + CHANGE_MS;
    }
    const isRoom = endMs - nowMs > RECOVERY_DEADLINE_MS + SAMPLE_MS;
    if (nowMs >= nextKillMs && isRoom && !killer.isWaiting(nowMs)) {
      console.log(`  killed ${(await killer.kill()).pod}`);
      nextKillMs = nowMs + KILL_MS;
    }
    next += SAMPLE_MS;
    await pause(Math.max(0, next - Date.now()), signal);
  }
  const findings = { samples, kills: killer.kills, streamFailures: load.failures, events: load.events };
  const verdicts = judge(findings, options);
  console.log(
    `\n${samples.length} samples, ${links.changes} changes of links, ${killer.kills.length} killed pods\n`,
  );
  console.log(`${figures(samples)}\n\n${verdictLines(verdicts)}`);
  return verdicts.every(({ ok }) => ok);
}

function printProgress({ atMs, rssBytes, agreement, counters, othersShare, steady }: Sample): void {
  const seconds = (atMs / 1000).toFixed(0).padStart(5);
  const memory = (rssBytes.main / 2 ** 20).toFixed(0);
  const { compared, mediansOutside, p90sOutside } = agreement;
  const others = othersShare === null ? "?" : (othersShare * 100).toFixed(0);
  console.log(
    `${seconds} s  main ${memory} MB  ${compared} links, outside: ${mediansOutside} p50, ${p90sOutside} p90  missing ${counters.missing}  others ${others} %${steady ? "" : " (disturbed)"}`,
  );
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

export async function runEmbedded(args: readonly string[]): Promise<boolean> {
  const ending = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => ending.abort());
  return soak(readOptions(args), ending.signal);
}
