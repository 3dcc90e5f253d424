// Reads the node's network interface. Needs hostNetwork: a pod's own network namespace has a virtual
// interface.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@isochrone/runtime";

const SAMPLE_MS = 250;

export interface NicUse {
  readonly name: string;
  /** Link speed reported by the driver, bit/s. Null if it reports none, as virtual interfaces do. */
  readonly capacityBitsPerSecond: number | null;
  /** Traffic of the busier direction over a quarter of a second, bit/s. */
  readonly usedBitsPerSecond: number;
}

interface NicPaths {
  readonly proc: string;
  readonly sys: string;
}

export async function readNic(
  clock: Clock,
  signal: AbortSignal,
  { proc, sys }: NicPaths = { proc: "/proc", sys: "/sys" },
): Promise<NicUse | null> {
  try {
    const name = defaultInterface(await readFile(join(proc, "net/route"), "utf8"));
    if (name === null) return null;
    const before = countersOf(await readFile(join(proc, "net/dev"), "utf8"), name);
    const startMs = clock.monotonic();
    await clock.sleep(SAMPLE_MS, signal);
    const after = countersOf(await readFile(join(proc, "net/dev"), "utf8"), name);
    if (before === null || after === null) return null;
    const seconds = Math.max(1, clock.monotonic() - startMs) / 1000;
    const bytes = Math.max(after.received - before.received, after.sent - before.sent, 0);
    const mbit = Number.parseInt(
      await readFile(join(sys, "class/net", name, "speed"), "utf8").catch(() => ""),
      10,
    );
    const capacityBitsPerSecond = mbit > 0 ? mbit * 1e6 : null;
    return { name, capacityBitsPerSecond, usedBitsPerSecond: (bytes * 8) / seconds };
  } catch {
    return null;
  }
}

function defaultInterface(table: string): string | null {
  let best: { readonly name: string; readonly metric: number } | null = null;
  for (const line of table.split("\n").slice(1)) {
    const [name, destination, , , , , metric, mask] = line.trim().split(/\s+/);
    if (name === undefined || destination !== "00000000" || mask !== "00000000") continue;
    const route = { name, metric: Number(metric) };
    if (best === null || route.metric < best.metric) best = route;
  }
  return best?.name ?? null;
}

function countersOf(table: string, name: string): { received: number; sent: number } | null {
  const line = table.split("\n").find((entry) => entry.trim().startsWith(`${name}:`));
  const fields =
    line
      ?.slice(line.indexOf(":") + 1)
      .trim()
      .split(/\s+/)
      .map(Number) ?? [];
  const [received, sent] = [fields[0], fields[8]];
  return received === undefined || sent === undefined ? null : { received, sent };
}
