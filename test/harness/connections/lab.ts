// Two nodes as network namespaces with pods and a Service address that the node translates.
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { supportFrom, type Support } from "../common/support.ts";

const PREFIX = `isoct${process.pid}`;
const AGENT = fileURLToPath(new URL("./agent-process.ts", import.meta.url));
const TRAFFIC = fileURLToPath(new URL("./traffic-process.ts", import.meta.url));

export const WORLD = { "s3-eu": "52.218.0.9", internet: "8.8.8.8" } as const;
const WORLD_NAMES = ["s3-eu", "internet"] as const;

const MAXIMUM = "/proc/sys/net/netfilter/nf_conntrack_max";

export const SERVICE = "10.96.0.10";
export const PORT = 8080;

type NodeName = "n1" | "n2";
type PodName = keyof typeof PODS;

export const PODS = {
  web: { node: "n1", address: "10.244.1.2" },
  cart: { node: "n1", address: "10.244.1.3" },
  near: { node: "n1", address: "10.244.1.4" },
  far: { node: "n2", address: "10.244.2.2" },
} as const;

const NAMESPACES = ["n1", "n2", "world", ...Object.keys(PODS)];

export function connectionLabSupport(): Support {
  const missing: string[] = [];
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    missing.push("network namespaces need root on Linux");
  for (const [tool, flag] of [
    ["ip", "-V"],
    ["nft", "--version"],
  ] as const)
    if (spawnSync(tool, [flag]).status !== 0) missing.push(`${tool} must be installed, it isn't`);
  const support = supportFrom("connection tracking", missing);
  if (!support.supported) console.log(support.reason);
  return support;
}

export interface AgentReport {
  /** Bytes by `client server`, and by `pod destination direction`. */
  readonly pairs: Map<string, number>;
  metrics: string;
  isReady: boolean;
}

interface RunningAgent {
  readonly report: AgentReport;
  stop(): Promise<void>;
}

export class ConnectionLab {
  readonly #children: ChildProcess[] = [];

  constructor() {
    try {
      this.#build();
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  #build(): void {
    for (const name of NAMESPACES) {
      run("ip", "netns", "add", nameOf(name));
      inside(name, "ip", "link", "set", "lo", "up");
    }
    for (const [node, gateway] of [
      ["n1", "10.244.1.1/24"],
      ["n2", "10.244.2.1/24"],
    ] as const) {
      inside(node, "ip", "link", "add", "br0", "type", "bridge");
      inside(node, "ip", "address", "add", gateway, "dev", "br0");
      inside(node, "ip", "link", "set", "br0", "up");
      write(node, "/proc/sys/net/ipv4/ip_forward", "1");
      write(node, "/proc/sys/net/netfilter/nf_conntrack_acct", "1");
    }
    for (const [pod, { node, address }] of Object.entries(PODS)) this.#plug(pod, node, address);
    this.#wire();
    this.#openToWorld();
  }

  /** Masquerades the first node's pods: they reach the outside from the node's address. */
  #openToWorld(): void {
    inside(
      "n1",
      "ip",
      "link",
      "add",
      "out0",
      "type",
      "veth",
      "peer",
      "name",
      "eth0",
      "netns",
      nameOf("world"),
    );
    inside("n1", "ip", "address", "add", "198.51.100.1/24", "dev", "out0");
    inside("n1", "ip", "link", "set", "out0", "up");
    inside("world", "ip", "address", "add", "198.51.100.2/24", "dev", "eth0");
    inside("world", "ip", "link", "set", "eth0", "up");
    for (const address of Object.values(WORLD)) {
      inside("world", "ip", "address", "add", `${address}/32`, "dev", "lo");
      inside("n1", "ip", "route", "add", `${address}/32`, "via", "198.51.100.2");
    }
    rules("n1", [
      "table ip leaving {",
      "  chain postrouting {",
      "    type nat hook postrouting priority srcnat;",
      '    oifname "out0" masquerade',
      "  }",
      "}",
    ]);
    const counters = (direction: string, match: "daddr" | "saddr"): string[] =>
      WORLD_NAMES.map((name) => `    ip ${match} ${WORLD[name]} counter name ${name}_${direction}`);
    rules("world", [
      "table ip seen {",
      ...WORLD_NAMES.flatMap((name) => [`  counter ${name}_sent {}`, `  counter ${name}_received {}`]),
      "  chain in {",
      "    type filter hook input priority 0;",
      ...counters("sent", "daddr"),
      "  }",
      "  chain out {",
      "    type filter hook output priority 0;",
      ...counters("received", "saddr"),
      "  }",
      "}",
    ]);
  }

  #plug(pod: string, node: NodeName, address: string): void {
    inside(
      node,
      "ip",
      "link",
      "add",
      `to${pod}`,
      "type",
      "veth",
      "peer",
      "name",
      "eth0",
      "netns",
      nameOf(pod),
    );
    inside(node, "ip", "link", "set", `to${pod}`, "master", "br0", "up");
    inside(pod, "ip", "address", "add", `${address}/24`, "dev", "eth0");
    inside(pod, "ip", "link", "set", "eth0", "up");
    inside(pod, "ip", "route", "add", "default", "via", address.replace(/\d+$/, "1"));
  }

  #wire(): void {
    inside("n1", "ip", "link", "add", "up0", "type", "veth", "peer", "name", "up0", "netns", nameOf("n2"));
    for (const [node, own, peer, pods] of [
      ["n1", "192.0.2.1/24", "192.0.2.2", "10.244.2.0/24"],
      ["n2", "192.0.2.2/24", "192.0.2.1", "10.244.1.0/24"],
    ] as const) {
      inside(node, "ip", "address", "add", own, "dev", "up0");
      inside(node, "ip", "link", "set", "up0", "up");
      inside(node, "ip", "route", "add", pods, "via", peer);
      // The node tracks bridged traffic between its pods only with the rules of kube-proxy.
      rules(node, [
        "table ip service {",
        "  chain prerouting {",
        "    type nat hook prerouting priority dstnat;",
        `    ip daddr ${SERVICE} dnat to numgen inc mod 2 map { 0 : ${PODS.near.address}, 1 : ${PODS.far.address} }`,
        "  }",
        "  chain postrouting {",
        "    type nat hook postrouting priority srcnat;",
        // Replies within a node must pass through it, otherwise it can't translate the address back.
        `    ip saddr 10.244.1.0/24 ip daddr ${PODS.near.address} ct status dnat counter accept`,
        "  }",
        "}",
      ]);
    }
    // Pods send packets for pods of the same node through the node, as with a routing CNI.
    for (const pod of ["web", "cart", "near"] as const) {
      inside(pod, "ip", "route", "del", "10.244.1.0/24");
      inside(pod, "ip", "route", "add", "10.244.1.1", "dev", "eth0");
      inside(pod, "ip", "route", "replace", "default", "via", "10.244.1.1");
    }
    for (const kind of ["all", "default", "br0"])
      write("n1", `/proc/sys/net/ipv4/conf/${kind}/send_redirects`, "0");
    for (const server of ["near", "far"] as const)
      rules(server, [
        "table ip seen {",
        ...["web", "cart"].map((client) => `  counter ${client} {}`),
        "  chain in {",
        "    type filter hook input priority 0;",
        ...(["web", "cart"] as const).map(
          (client) => `    ip saddr ${PODS[client].address} counter name ${client}`,
        ),
        "  }",
        "  chain out {",
        "    type filter hook output priority 0;",
        ...(["web", "cart"] as const).map(
          (client) => `    ip daddr ${PODS[client].address} counter name ${client}`,
        ),
        "  }",
        "}",
      ]);
  }

  /** Returns the outside host's bytes by `pod destination direction`, for the one pod that talks to it. */
  countedOutside(pod: PodName): Map<string, number> {
    const text = inside("world", "nft", "list", "counters");
    const found = text.matchAll(/counter (\S+)_(sent|received) \{\s*packets \d+ bytes (\d+)/g);
    return new Map(
      Array.from(found, ([, name, direction, bytes]) => [
        `${PODS[pod].address} ${name} ${direction}`,
        Number(bytes),
      ]),
    );
  }

  /** Returns bytes by `client server`, as counted by the servers' kernels. */
  counted(): Map<string, number> {
    const bytes = new Map<string, number>();
    for (const server of ["near", "far"] as const) {
      const text = inside(server, "nft", "list", "counters");
      for (const client of ["web", "cart"] as const) {
        const found = new RegExp(`counter ${client} \\{\\s*packets \\d+ bytes (\\d+)`).exec(text);
        bytes.set(`${PODS[client].address} ${PODS[server].address}`, Number(found?.[1] ?? NaN));
      }
    }
    return bytes;
  }

  /** Forgets closed connections after 1 s, like a node with many connections. */
  forgetSoon(node: NodeName): void {
    for (const state of ["time_wait", "close", "close_wait", "last_ack", "fin_wait"])
      write(node, `/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_${state}`, "1");
  }

  setAccounting(node: NodeName, value: "0" | "1"): void {
    write(node, "/proc/sys/net/netfilter/nf_conntrack_acct", value);
  }

  /** The kernel has one conntrack limit for all namespaces. Returns a function that restores it. */
  limitTables(entries: number): () => void {
    const before = readFileSync(MAXIMUM, "utf8");
    writeFileSync(MAXIMUM, String(entries));
    return () => writeFileSync(MAXIMUM, before);
  }

  tracked(node: NodeName): number {
    return Number(inside(node, "cat", "/proc/sys/net/netfilter/nf_conntrack_count"));
  }

  /** Number of entries that did not fit into the node's table since its start. */
  drops(node: NodeName): number {
    const [head = "", ...cpus] = inside(node, "cat", "/proc/net/stat/nf_conntrack").trim().split("\n");
    const columns = head.split(/\s+/);
    const ofCpu = (line: string): number =>
      line
        .split(/\s+/)
        .reduce(
          (sum, value, at) => sum + (/^(drop|early_drop)$/.test(columns[at]!) ? parseInt(value, 16) : 0),
          0,
        );
    return cpus.reduce((sum, line) => sum + ofCpu(line), 0);
  }

  async agent(node: NodeName, intervalMs: number): Promise<RunningAgent> {
    const report: AgentReport = { pairs: new Map(), metrics: "", isReady: false };
    const child = this.#spawn(node, [AGENT, node, String(intervalMs)]);
    let rest = "";
    child.stdout!.on("data", (chunk: Buffer) => {
      const lines = `${rest}${chunk.toString()}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) take(report, line);
    });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    while (!report.isReady) {
      if (child.exitCode !== null) throw new Error(`the agent of ${node} has ended`);
      await sleep(50);
    }
    return {
      report,
      stop: async () => {
        child.kill("SIGTERM");
        await ended;
      },
    };
  }

  program(node: NodeName, path: string, env: Readonly<Record<string, string>>): ChildProcess {
    const child = spawn("ip", ["netns", "exec", nameOf(node), path], {
      stdio: ["ignore", "pipe", "ignore"],
      env,
    });
    this.#children.push(child);
    return child;
  }

  async serve(pod: PodName | "world"): Promise<void> {
    const child = this.#spawn(pod, [TRAFFIC, "serve", String(PORT)]);
    await new Promise<void>((resolve, reject) => {
      child.stdout!.once("data", () => resolve());
      child.once("close", () => reject(new Error(`the server in ${pod} has ended`)));
    });
  }

  async traffic(pod: PodName, ...args: readonly (string | number)[]): Promise<void> {
    const child = this.#spawn(pod, [TRAFFIC, ...args.map(String)]);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`the traffic of ${pod} ended with ${code}`);
  }

  remove(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    for (const name of NAMESPACES) spawnSync("ip", ["netns", "del", nameOf(name)]);
  }

  #spawn(name: string, args: readonly string[]): ChildProcess {
    const child = spawn("ip", ["netns", "exec", nameOf(name), process.execPath, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#children.push(child);
    return child;
  }
}

export function runInNamespace(program: string, ...args: readonly number[]): string {
  const path = fileURLToPath(new URL(program, import.meta.url));
  run("ip", "netns", "add", nameOf("own"));
  try {
    inside("own", "ip", "link", "set", "lo", "up");
    write("own", "/proc/sys/net/netfilter/nf_conntrack_acct", "1");
    rules("own", [
      "table ip seen {",
      "  chain out {",
      "    type filter hook output priority 0;",
      "    ct state new counter",
      "  }",
      "}",
    ]);
    return inside("own", process.execPath, path, ...args.map(String));
  } finally {
    spawnSync("ip", ["netns", "del", nameOf("own")]);
  }
}

function take(report: AgentReport, line: string): void {
  const said: { points?: [string, number][]; metrics?: string; isReady?: true } = JSON.parse(line);
  for (const [ends, bytes] of said.points ?? [])
    report.pairs.set(ends, (report.pairs.get(ends) ?? 0) + bytes);
  report.metrics = said.metrics ?? report.metrics;
  report.isReady ||= said.isReady === true;
}

function nameOf(name: string): string {
  return `${PREFIX}${name}`;
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function inside(name: string, command: string, ...args: readonly string[]): string {
  return run("ip", "netns", "exec", nameOf(name), command, ...args);
}

function rules(name: string, lines: readonly string[]): void {
  execFileSync("ip", ["netns", "exec", nameOf(name), "nft", "-f", "-"], { input: `${lines.join("\n")}\n` });
}

function write(name: string, path: string, value: string): void {
  inside(name, "sh", "-c", `echo ${value} > ${path}`);
}
