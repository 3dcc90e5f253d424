import type { Random } from "@isochrone/runtime";
import type { EmbeddedSystem } from "../harness/embedded.ts";
import { processName } from "./proc.ts";

interface Pids {
  readonly relay: number[];
  readonly pods: number[];
  readonly load: number[];
}

export async function pidsOf(system: EmbeddedSystem): Promise<Pids> {
  const { relayPid, pids } = await system.get<{ relayPid: number | null; pids: number[] }>(
    "lab",
    "/lab/v1/processes",
  );
  const isPod = (pid: number): boolean => processName(pid)?.includes("/") ?? false;
  return {
    relay: relayPid === null ? [] : [relayPid],
    pods: pids.filter(isPod),
    load: pids.filter((pid) => processName(pid) === "load"),
  };
}

export interface Kill {
  readonly pod: string;
  readonly atMs: number;
  /** Time until its process was back. Null: not yet. */
  backMs: number | null;
  /** Time until every channel had its previous rate. Null: not yet. */
  recoveredMs: number | null;
  /** Channel furthest from its previous rate in the last sample. */
  furthest: string;
}

type Rates = ReadonlyMap<string, number>;

/** Maximum time for a pod to return with all rates. */
export const RECOVERY_DEADLINE_MS = 60_000;
/** Requests arrive at random: over a window of 30 s a rate of 10/s has a standard deviation of 6 %. */
const RATE_TOLERANCE = 0.25;
/** The window must have forgotten the previous rates. */
const WINDOW_MS = 30_000;

/** Kills pods one at a time, each after the previous one's traffic has recovered. */
export class PodKiller {
  readonly kills: Kill[] = [];
  readonly #system: EmbeddedSystem;
  readonly #random: Random;
  #before: Rates = new Map();

  constructor(system: EmbeddedSystem, random: Random) {
    this.#system = system;
    this.#random = random;
  }

  isWaiting(nowMs: number): boolean {
    const last = this.kills.at(-1);
    return last !== undefined && last.recoveredMs === null && nowMs - last.atMs <= RECOVERY_DEADLINE_MS;
  }

  async kill(): Promise<Kill> {
    this.#before = await this.#rates();
    const { pods } = await pidsOf(this.#system);
    const pid = pods[Math.floor(this.#random.next() * pods.length)];
    const pod = pid === undefined ? null : processName(pid);
    if (pid === undefined || pod === null) throw new Error("there is no pod to kill");
    process.kill(pid, "SIGKILL");
    const kill: Kill = { pod, atMs: Date.now(), backMs: null, recoveredMs: null, furthest: "not looked at" };
    this.kills.push(kill);
    return kill;
  }

  async check(): Promise<void> {
    const kill = this.kills.at(-1);
    if (kill === undefined || kill.recoveredMs !== null) return;
    if (kill.backMs === null) {
      const { pods } = await pidsOf(this.#system);
      if (pods.some((pid) => processName(pid) === kill.pod)) kill.backMs = Date.now() - kill.atMs;
    }
    const elapsedMs = Date.now() - kill.atMs;
    if (kill.backMs === null || elapsedMs < WINDOW_MS) return;
    const rates = await this.#rates();
    let worst = 0;
    for (const [channel, before] of this.#before) {
      const now = rates.get(channel) ?? 0;
      const deviation = Math.abs(now - before) / before;
      if (deviation <= worst) continue;
      worst = deviation;
      kill.furthest = `${channel} ${before.toFixed(1)}/s before, ${now.toFixed(1)}/s after`;
    }
    if (worst <= RATE_TOLERANCE) kill.recoveredMs = elapsedMs;
  }

  async #rates(): Promise<Rates> {
    const { channels } = await this.#system.workflow();
    return new Map(
      channels.map(({ source, target, requestsPerSecond }) => [
        `${source} ${target}`,
        requestsPerSecond ?? 0,
      ]),
    );
  }
}
