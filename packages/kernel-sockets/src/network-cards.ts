// A node's physical network interfaces. Tunnels, bridges, VLANs, bonds and veths count the same packets
// again.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

interface NetworkPaths {
  readonly proc: string;
  readonly sys: string;
}

interface CardBytes {
  readonly name: string;
  readonly received: number;
  readonly sent: number;
}

interface Interface {
  readonly name: string;
  /** Backed by a bus device, excluding representors of virtual functions. */
  readonly isDevice: boolean;
  readonly isBridge: boolean;
  readonly lower: readonly string[];
}

/**
 * phys_port_name of a virtual or sub-function's representor, whose traffic the card's own port counts too.
 */
const REPRESENTOR = /^(?:c\d+)?pf\d+(?:vf|sf)\d+$/;
const ANY_IP6 = /^0{32} 00 /;

/**
 * Names the cards in this network namespace, sorted: interfaces with a device. A device below another (a
 * cloud's virtual function) counts with it. Without any device, as in a container node: the lowest interfaces
 * below the default routes. Empty: unreadable.
 */
export async function networkCards(
  { proc, sys }: NetworkPaths = { proc: "/proc", sys: "/sys" },
): Promise<readonly string[]> {
  const folder = join(sys, "class/net");
  const names = await namesIn(folder);
  const known = new Map<string, Interface>();
  for (const name of names) known.set(name, await readInterface(folder, name));
  const devices = [...known.values()].filter(({ isDevice }) => isDevice);
  const below = new Set(devices.flatMap(({ name }) => everyLower(known, name)));
  const cards = devices.map(({ name }) => name).filter((name) => !below.has(name));
  return (cards.length > 0 ? cards : await lowestOfRoutes(known, proc)).toSorted();
}

export async function readCardBytes(
  paths: NetworkPaths = { proc: "/proc", sys: "/sys" },
): Promise<CardBytes[]> {
  const cards = new Set(await networkCards(paths));
  const text = await readFile(join(paths.proc, "net/dev"), "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [, name = "", counters = ""] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    const columns = counters.split(/\s+/).map(Number);
    const [received = NaN, sent = NaN] = [columns[0], columns[8]];
    return cards.has(name) && Number.isFinite(received + sent) ? [{ name, received, sent }] : [];
  });
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}

async function readInterface(folder: string, name: string): Promise<Interface> {
  const entries = await namesIn(join(folder, name));
  const port = await readFile(join(folder, name, "phys_port_name"), "utf8").catch(() => "");
  return {
    name,
    isDevice: entries.includes("device") && !REPRESENTOR.test(port.trim()),
    isBridge: entries.includes("bridge"),
    lower: entries.filter((entry) => entry.startsWith("lower_")).map((entry) => entry.slice("lower_".length)),
  };
}

function everyLower(known: ReadonlyMap<string, Interface>, name: string, seen = new Set<string>()): string[] {
  for (const lower of known.get(name)?.lower ?? []) {
    if (seen.has(lower)) continue;
    seen.add(lower);
    everyLower(known, lower, seen);
  }
  return [...seen];
}

/** Lowest interfaces below the default routes. A bridge counts itself: its ports include pod cables. */
async function lowestOfRoutes(known: ReadonlyMap<string, Interface>, proc: string): Promise<string[]> {
  const [ip4, ip6] = await Promise.all(
    ["net/route", "net/ipv6_route"].map((file) => readFile(join(proc, file), "utf8").catch(() => "")),
  );
  const routes = [
    ...(ip4 ?? "").split("\n").flatMap((line) => {
      const [name = "", destination, , , , , , mask] = line.trim().split(/\s+/);
      return destination === "00000000" && mask === "00000000" ? [name] : [];
    }),
    ...(ip6 ?? "")
      .split("\n")
      .flatMap((line) => (ANY_IP6.test(line) ? [line.trim().split(/\s+/).at(-1)!] : [])),
  ];
  const lowest = new Set<string>();
  for (const name of routes) {
    if (name === "lo" || !known.has(name)) continue;
    const all = known.get(name)?.isBridge === true ? [] : everyLower(known, name);
    const ends = all.filter((lower) => known.get(lower)?.lower.length === 0);
    for (const end of ends.length > 0 ? ends : [name]) lowest.add(end);
  }
  return [...lowest];
}
