// Nodes as network namespaces: a, b and the relay r with links, or four that share only a router.
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Returns null if a mesh can run here, otherwise the reason. */
export function whyNoMesh(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "network namespaces need root on Linux";
  for (const [tool, flag] of [
    ["ip", "-V"],
    ["tc", "-V"],
    ["nft", "--version"],
  ] as const)
    if (spawnSync(tool, [flag]).status !== 0) return `${tool} must be installed, it isn't`;
  const name = nameOf("t");
  try {
    run("ip", "netns", "add", name);
    inside(name, "tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:", "htb");
    inside(name, "nft", "add", "table", "inet", "isochrone_try");
    return null;
  } catch (error) {
    return `network namespaces, HTB or nftables don't work here: ${(error as Error).message}`;
  } finally {
    spawnSync("ip", ["netns", "del", name]);
  }
}

export type NodeName = "a" | "b" | "r" | "s";

/** A node's address, and its neighbours' addresses on their shared links. */
export const ADDRESS: Readonly<Record<NodeName, string>> = {
  a: "10.0.0.1",
  b: "10.0.0.2",
  r: "10.0.0.3",
  s: "10.0.0.4",
};
export const ADDRESS6: Readonly<Record<NodeName, string>> = {
  a: "fd00::1",
  b: "fd00::2",
  r: "fd00::3",
  s: "fd00::4",
};
export const NEIGHBOUR: Readonly<Record<string, { readonly address: string; readonly device: string }>> = {
  "a b": { address: "10.1.0.2", device: "ab" },
  "a r": { address: "10.2.0.3", device: "ar" },
  "r a": { address: "10.2.0.1", device: "ra" },
  "r b": { address: "10.3.0.2", device: "rb" },
  "b a": { address: "10.1.0.1", device: "ba" },
  "b r": { address: "10.3.0.3", device: "br0" },
};

export interface Mesh {
  namespace(node: NodeName): string;
  /** Command prefix that runs on the node. */
  prefix(node: NodeName): readonly string[];
  inside(node: NodeName, ...command: string[]): string;
  pod(node: NodeName, address: string): readonly string[];
  /** Returns all state that a network manager could change on the node, as text without counters. */
  rules(node: NodeName): string;
  /** Streams from a's address to b's port until `stop`. @param addresses @default ADDRESS */
  stream(port: number, addresses?: typeof ADDRESS): Promise<Stream>;
  remove(): void;
}

interface Stream {
  /** Received payload, bit/s, over a window of the receiver's clock. */
  rate(windowMs: number): Promise<number>;
  /** Maximum received rate of b's links over a window of this length since the last call, bit/s. */
  fastest(windowMs: number): number;
  /** Longest time without payload since the start, ms. */
  longestGapMs(): number;
  stop(): void;
}

export function createMesh(congestion: "reno" | "bbr" = "reno"): Mesh {
  return meshOf(["a", "b", "r"], congestion, (names) => {
    link([names.a, "ab", "10.1.0.1"], [names.b, "ba", "10.1.0.2"]);
    link([names.a, "ar", "10.2.0.1"], [names.r, "ra", "10.2.0.3"]);
    link([names.r, "rb", "10.3.0.3"], [names.b, "br0", "10.3.0.2"]);
    addRoutes(names);
  });
}

/** Creates nodes without shared links. Each has the device `uplink` to a router. Supports IPv4 and IPv6. */
export function createRoutedMesh(): Mesh {
  const nodes = ["a", "b", "r", "s"] as const;
  return meshOf([...nodes, "x"], "reno", (names) => {
    for (const [at, node] of nodes.entries()) {
      const [own, routers] = [`10.4.${at}.2`, `10.4.${at}.1`];
      link([names[node], "uplink", own], [names.x, `x${node}`, routers]);
      run("ip", "-n", names[node], "route", "add", "default", "via", routers, "src", ADDRESS[node]);
      run("ip", "-n", names.x, "route", "add", `${ADDRESS[node]}/32`, "via", own);
      routeOverIpv6(names, node, `fd04:${at}::`);
    }
  });
}

function routeOverIpv6(names: Names, node: NodeName, prefix: string): void {
  const [own, routers, nodes] = [`${prefix}2`, `${prefix}1`, ADDRESS6[node]];
  run("ip", "-n", names[node], "addr", "add", `${nodes}/128`, "dev", "lo");
  for (const [name, device, link, address] of [
    [names[node], "uplink", "fe80::2", own],
    [names.x, `x${node}`, "fe80::1", routers],
  ] as const)
    // A node resolves its router's hardware address from its link-local address.
    for (const each of [link, address])
      run("ip", "-n", name, "addr", "add", `${each}/64`, "dev", device, "nodad");
  run("ip", "-n", names[node], "-6", "route", "add", "default", "via", routers, "src", nodes);
  run("ip", "-n", names.x, "-6", "route", "add", `${nodes}/128`, "via", own);
}

type Names = Readonly<Record<NodeName | "x", string>>;

function meshOf(nodes: readonly (NodeName | "x")[], congestion: string, build: (names: Names) => void): Mesh {
  removeOrphans();
  const names: Names = { a: nameOf("a"), b: nameOf("b"), r: nameOf("r"), s: nameOf("s"), x: nameOf("x") };
  const children: ChildProcess[] = [];
  const pods: string[] = [];
  const remove = (): void => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    for (const node of nodes) spawnSync("ip", ["netns", "del", names[node]]);
    for (const pod of pods.splice(0)) spawnSync("ip", ["netns", "del", pod]);
  };
  try {
    for (const node of nodes) addNode(names[node], node === "x" ? "10.0.0.9" : ADDRESS[node], congestion);
    build(names);
  } catch (error) {
    remove();
    throw error;
  }
  return {
    namespace: (node) => names[node],
    prefix: (node) => ["ip", "netns", "exec", names[node]],
    inside: (node, ...command) => inside(names[node], ...command),
    pod(node, address) {
      const pod = nameOf("p");
      pods.push(pod);
      addNode(pod, address, congestion);
      link([pod, "eth0", "10.5.0.2"], [names[node], "pod", "10.5.0.1"]);
      run("ip", "-n", pod, "route", "add", "default", "via", "10.5.0.1", "src", address);
      return ["ip", "netns", "exec", pod];
    },
    rules: (node) => rulesOf(names[node]),
    stream: (port, addresses = ADDRESS) => openStream(names, port, addresses, children),
    remove,
  };
}

function addNode(name: string, address: string, congestion: string): void {
  run("ip", "netns", "add", name);
  run("ip", "-n", name, "link", "set", "lo", "up");
  run("ip", "-n", name, "addr", "add", `${address}/32`, "dev", "lo");
  const settings = [
    "net/ipv4/ip_forward=1",
    "net/ipv6/conf/all/forwarding=1",
    "net/ipv4/conf/all/rp_filter=0",
    "net/ipv4/conf/default/rp_filter=0",
    `net/ipv4/tcp_congestion_control=${congestion}`,
  ];
  for (const setting of settings) {
    const [path = "", value = ""] = setting.split("=");
    inside(name, "sh", "-c", `echo ${value} > /proc/sys/${path}`);
  }
}

type End = readonly [namespace: string, device: string, address: string];

function link([one, oneDevice, oneAddress]: End, [other, otherDevice, otherAddress]: End): void {
  const peer = ["type", "veth", "peer", "name", otherDevice, "netns", other];
  run("ip", "link", "add", oneDevice, "netns", one, ...peer);
  for (const [name, device, address] of [
    [one, oneDevice, oneAddress],
    [other, otherDevice, otherAddress],
  ] as const) {
    run("ip", "-n", name, "addr", "add", `${address}/24`, "dev", device);
    // Automatic link-local addresses appear later and are not needed here.
    run("ip", "-n", name, "link", "set", device, "addrgenmode", "none", "up");
  }
}

function addRoutes(names: Names): void {
  const ways: readonly (readonly [NodeName, NodeName, string])[] = [
    ["a", "b", "10.1.0.2"],
    ["b", "a", "10.1.0.1"],
    ["a", "r", "10.2.0.3"],
    ["r", "a", "10.2.0.1"],
    ["r", "b", "10.3.0.2"],
    ["b", "r", "10.3.0.3"],
  ];
  for (const [from, to, via] of ways)
    run("ip", "-n", names[from], "route", "add", `${ADDRESS[to]}/32`, "via", via, "src", ADDRESS[from]);
}

function rulesOf(name: string): string {
  const shown = [
    inside(name, "tc", "qdisc", "show"),
    inside(name, "nft", "-s", "list", "ruleset"),
    inside(name, "ip", "-4", "rule", "show"),
    inside(name, "ip", "-6", "rule", "show"),
    inside(name, "ip", "-4", "route", "show", "table", "all"),
    inside(name, "ip", "-6", "route", "show", "table", "all"),
    inside(name, "ip", "-o", "link", "show"),
  ];
  return shown.join("\n").replaceAll(/ direct_packets_stat \d+/g, "");
}

/** Removes handles and class ids, because recreated queues and flows that lost their mark get new ones. */
export function unnumbered(rules: string): string {
  const plain = rules.replaceAll(/qdisc bfifo \w+:/g, "qdisc bfifo").replaceAll(/15c0:2\w{3}/g, "15c0:flow");
  return plain.split("\n").toSorted().join("\n");
}

const STREAM = fileURLToPath(new URL("./stream-process.ts", import.meta.url));

interface Arrival {
  readonly ms: number;
  readonly bytes: number;
  readonly wireBytes: number;
}

async function openStream(
  names: Names,
  port: number,
  addresses: typeof ADDRESS,
  children: ChildProcess[],
): Promise<Stream> {
  const start = (node: NodeName, ...args: string[]): ChildProcess => {
    const child = spawn("ip", ["netns", "exec", names[node], process.execPath, STREAM, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    return child;
  };
  const arrivals: Arrival[] = [];
  let rest = "";
  const receiver = start("b", "receive", addresses.b, String(port));
  const isListening = new Promise<void>((resolve) => {
    receiver.stdout!.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const arrival = JSON.parse(line) as Arrival;
        arrivals.push(arrival);
        if (arrival.bytes === 0) resolve();
      }
    });
  });
  await isListening;
  const sender = start("a", "send", addresses.a, addresses.b, String(port));
  const until = async (test: () => boolean): Promise<void> => {
    while (!test()) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  let looked = 0;
  return {
    fastest(windowMs) {
      let most = 0;
      let first = looked;
      for (let last = looked; last < arrivals.length; last++) {
        const passed = (at: number): number => arrivals[last]!.ms - arrivals[at]!.ms;
        while (passed(first + 1) >= windowMs) first++;
        if (passed(first) < windowMs) continue;
        most = Math.max(
          most,
          ((arrivals[last]!.wireBytes - arrivals[first]!.wireBytes) * 8_000) / passed(first),
        );
      }
      looked = arrivals.length;
      return most;
    },
    async rate(windowMs) {
      await until(() => arrivals.length > 1);
      const first = arrivals.at(-1)!;
      await until(() => arrivals.at(-1)!.ms - first.ms >= windowMs);
      const last = arrivals.at(-1)!;
      return ((last.bytes - first.bytes) * 8_000) / (last.ms - first.ms);
    },
    longestGapMs() {
      let gap = 0;
      let heard = arrivals.find(({ bytes }) => bytes > 0) ?? null;
      for (const arrival of arrivals) {
        if (heard === null || arrival.bytes === heard.bytes) continue;
        gap = Math.max(gap, arrival.ms - heard.ms);
        heard = arrival;
      }
      return gap;
    },
    stop() {
      for (const child of [sender, receiver]) child.kill("SIGKILL");
    },
  };
}

/** Removes leftovers of killed test processes. */
function removeOrphans(): void {
  const list = execFileSync("ip", ["netns", "list"], { timeout: 10_000 }).toString();
  for (const [name, pid] of list.matchAll(/^isofl[a-z](\d+)x\d+/gm))
    if (!existsSync(`/proc/${pid}`)) spawnSync("ip", ["netns", "del", name]);
}

let made = 0;

function nameOf(kind: string): string {
  return `isofl${kind}${process.pid}x${++made}`;
}

function inside(name: string, ...command: string[]): string {
  return run("ip", "netns", "exec", name, ...command);
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { stdio: ["ignore", "pipe", "pipe"], timeout: 20_000 }).toString();
}
