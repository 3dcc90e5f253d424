import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, Socket } from "node:net";
import { KernelSocket, loadLibc, SYS, type Libc } from "@isochrone/kernel-sockets";
import { ipBatch, run } from "../namespaces/commands.ts";
import { runInNamespace } from "../namespaces/enter.ts";
import { NamespaceError } from "../namespaces/errors.ts";
import { labPrefix } from "../namespaces/names.ts";
import { switchOffloadsOff } from "../namespaces/offloads.ts";
import { NAMESPACE_FOLDER, ownerOfThisProcess, Reaper, sweepDeadLabs } from "../namespaces/reaper.ts";
import { namespaceLabSupport } from "../namespaces/support.ts";
import type { FlowEnds, StageFlow, StageNetwork } from "../stages/stages.ts";
import type { MeshFlow, MeshLink } from "./mesh-plan.ts";
import { addressLines, addressOf, cableLine, capacityLines, flowLines, portsOf } from "./rules.ts";

interface MeshOptions {
  /** 2 to 70: more veth pairs take minutes. */
  readonly nodes: number;
  readonly links: readonly MeshLink[];
}

const MAX_NODES = 70;
/** Small socket buffers, so that frames wait in the stages' queues and not in the kernel. */
const SOCKET_BYTES = "4096 16384 32768";
const PROC = "/proc/sys/net/ipv4";

/**
 * Nodes as network namespaces, joined by links of limited capacity, each forwarding for the others. Needs
 * root. Removed on close or when its process ends.
 */
export class MeshLab implements StageNetwork<number> {
  readonly nodes: number;
  readonly #links: readonly MeshLink[];
  readonly #prefix: string;
  readonly #reaper: Reaper;
  readonly #libc: Libc;

  static async create(options: MeshOptions): Promise<MeshLab> {
    check(options);
    const support = await namespaceLabSupport();
    if (!support.supported) throw new NamespaceError("unsupported", support.reason);
    await sweepDeadLabs();
    const prefix = labPrefix(await ownerOfThisProcess(), randomBytes(4).toString("hex"));
    const lab = new MeshLab(options, prefix, await loadLibc());
    try {
      await lab.#build();
    } catch (error) {
      await lab.close();
      throw error;
    }
    return lab;
  }

  private constructor({ nodes, links }: MeshOptions, prefix: string, libc: Libc) {
    this.nodes = nodes;
    this.#links = links;
    this.#prefix = prefix;
    this.#libc = libc;
    this.#reaper = new Reaper([prefix]);
  }

  address(node: number): string {
    return addressOf(node);
  }

  /** Runs `run` with the calling thread on the node. `run` must be synchronous. */
  within<T>(node: number, run: () => T): T {
    return runInNamespace(this.#libc, `${NAMESPACE_FOLDER}/${this.#name(node)}`, run);
  }

  async open({ from, to, port }: StageFlow<number>): Promise<FlowEnds> {
    // Without a host, or Node.js opens the socket later and outside the namespace.
    const server = this.within(to, () => createServer().listen(port));
    // Node.js opens a connection's socket after the thread has left the node, so pass a descriptor. Write
    // only.
    const client = new Socket({ fd: this.#openSocket(from), readable: false, writable: true });
    let peer: Socket | null = null;
    const close = (): void => {
      client.destroy();
      peer?.destroy();
      server.close();
    };
    try {
      if (!server.listening) await once(server, "listening");
      const accepted = once(server, "connection") as Promise<[Socket]>;
      client.connect({ host: this.address(to), localAddress: this.address(from), port });
      client.setNoDelay();
      await once(client, "connect");
      [peer] = await accepted;
    } catch (error) {
      close();
      throw error;
    }
    for (const socket of [client, peer]) socket.on("error", () => undefined);
    return { client, peer, close };
  }

  #openSocket(node: number): number {
    const kind = { family: SYS.AF_INET, type: SYS.SOCK_STREAM, protocol: 0 };
    return this.within(node, () => KernelSocket.open(this.#libc, kind)).fd;
  }

  /** Applies paths and rates. Call once per mesh. */
  async apply(flows: readonly MeshFlow[]): Promise<void> {
    await this.#onEach(async (node, name) => {
      const { ip, tc } = flowLines(node, portsOf(node, this.#links), flows);
      if (ip.length > 0) await ipBatch(name, ip);
      if (tc.length > 0) await tcBatch(name, tc);
    });
  }

  async close(): Promise<void> {
    await this.#reaper.remove();
  }

  async #build(): Promise<void> {
    await this.#onEach((_, name) => run("ip", ["netns", "add", name]).then(() => undefined));
    const cables = this.#links.map(({ a, b }, link) => cableLine(link, [this.#name(a), this.#name(b)]));
    await ipBatch(this.#name(0), cables);
    await this.#onEach(async (node, name) => {
      const ports = portsOf(node, this.#links);
      this.within(node, () => {
        for (const { device } of ports) switchOffloadsOff(this.#libc, device);
        writeFileSync(`${PROC}/ip_forward`, "1");
        for (const where of ["all", "default"]) writeFileSync(`${PROC}/conf/${where}/rp_filter`, "0");
        writeFileSync(`${PROC}/tcp_congestion_control`, "reno");
        writeFileSync(`${PROC}/tcp_wmem`, SOCKET_BYTES);
        writeFileSync(`${PROC}/tcp_rmem`, SOCKET_BYTES);
      });
      await ipBatch(name, addressLines(node, ports, this.#nextHops(node)));
      await tcBatch(name, ports.flatMap(capacityLines));
    });
  }

  #nextHops(node: number): (number | null)[] {
    const next = new Map<number, number>([[node, node]]);
    for (const [at, by] of next)
      for (const { neighbour } of portsOf(at, this.#links))
        if (!next.has(neighbour)) next.set(neighbour, at === node ? neighbour : by);
    return Array.from({ length: this.nodes }, (_, target) => next.get(target) ?? null);
  }

  #name(node: number): string {
    return `${this.#prefix}${node}`;
  }

  async #onEach(act: (node: number, name: string) => Promise<void>): Promise<void> {
    for (let node = 0; node < this.nodes; node++) await act(node, this.#name(node));
  }
}

function tcBatch(namespace: string, lines: readonly string[]): Promise<string> {
  return run("tc", ["-n", namespace, "-batch", "-"], `${lines.join("\n")}\n`);
}

function check({ nodes, links }: MeshOptions): void {
  const refuse = (message: string): never => {
    throw new NamespaceError("invalid_argument", message);
  };
  if (!Number.isInteger(nodes) || nodes < 2 || nodes > MAX_NODES)
    refuse(`a mesh must have 2 to ${MAX_NODES} nodes, got ${nodes}`);
  for (const [at, { a, b, bitsPerSecond }] of links.entries()) {
    const isNode = (node: number): boolean => Number.isInteger(node) && node >= 0 && node < nodes;
    if (!isNode(a) || !isNode(b) || a === b)
      refuse(`link ${at} must join two nodes of 0 to ${nodes - 1}, got ${a} and ${b}`);
    if (!(bitsPerSecond >= 10_000 && bitsPerSecond <= 1e9))
      refuse(`link ${at} must have 10000 to 1e9 bit/s, got ${bitsPerSecond}`);
  }
}
