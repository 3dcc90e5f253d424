import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { loadLibc, type Libc } from "@isochrone/kernel-sockets";
import { DEVICE, nodeAddresses } from "./addresses.ts";
import { run } from "./commands.ts";
import { runInNamespace } from "./enter.ts";
import { NamespaceError } from "./errors.ts";
import { pairExchanges, type ExchangeKey } from "./exchanges.ts";
import { checkNodeNames, HUB, labPrefix } from "./names.ts";
import { switchOffloadsOff } from "./offloads.ts";
import { NAMESPACE_FOLDER, ownerOfThisProcess, Reaper, sweepDeadLabs } from "./reaper.ts";
import type { PacketFilter, WireExchange, WirePacket, WireRecord, WireTotals } from "./record.ts";
import {
  addShape,
  checkShape,
  hubPoint,
  removeShape,
  sentPoint,
  type Shape,
  type ShapingPoint,
} from "./shaping.ts";
import { namespaceLabSupport } from "./support.ts";
import { buildTopology, type Topology } from "./topology.ts";
import { spawnWire, type WireProcess } from "./wire-process.ts";
import type { IndexFilter } from "./wire/messages.ts";
import { applyPathChange, IDEAL_PATH, type PathChange, type PathSettings } from "./wire/settings.ts";

export interface NamespaceLabOptions {
  /** 1 to 128 names; their order determines the addresses. */
  readonly nodes: readonly string[];
  readonly topology?: Topology;
  /** Seed of the wire's jitter, loss and other draws. @default 1 */
  readonly seed?: number;
  /** Bytes of an IP packet, 1280 to 9000. @default 1500 */
  readonly mtu?: number;
  /**
   * For "direct" and "bridge": keep the veths' segmentation and checksum offloads on, like the kernel. The
   * wire needs them off.
   * @default true
   */
  readonly offloads?: boolean;
  /** Capacity of the wire's queue; further frames are dropped and counted. @default 16384 */
  readonly queueFrames?: number;
  readonly recordPackets?: number;
  /**
   * TCP slow start after idle longer than a retransmission timeout (kernel default). Disable when time is
   * stretched, because the least timeout (200 ms) isn't.
   * @default true
   */
  readonly slowStartAfterIdle?: boolean;
  /** Congestion control of nodes, such as reno, which every kernel has. @default null: the machine's */
  readonly congestionControl?: string | null;
}

const MIN_MTU = 1280;
const MAX_MTU = 9000;
const DEFAULT_QUEUE_FRAMES = 16_384;
const DEFAULT_RECORD_PACKETS = 262_144;

/** Groups allowed to open ICMP datagram sockets; nobody in a new namespace, unlike in containers. */
const PING_GROUPS = "/proc/sys/net/ipv4/ping_group_range";
const EVERY_GROUP = "0 2147483647";
const CONGESTION_CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control";
const SLOW_START_AFTER_IDLE = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";

/**
 * Nodes as network namespaces, joined by veth pairs, a bridge or an emulated wire. Programs see an ordinary
 * kernel network. Needs root. Removed on close, or when its process ends in any way.
 */
export class NamespaceLab {
  readonly nodes: readonly string[];
  readonly topology: Topology;
  readonly #prefix: string;
  readonly #reaper: Reaper;
  readonly #libc: Libc;
  #paths: PathSettings[][];
  #wire: WireProcess | null = null;
  #closing: Promise<void> | null = null;

  static async create(options: NamespaceLabOptions): Promise<NamespaceLab> {
    const plan = resolve(options);
    const support = await namespaceLabSupport();
    if (!support.supported) throw new NamespaceError("unsupported", support.reason);
    await sweepDeadLabs();
    const prefix = labPrefix(await ownerOfThisProcess(), randomBytes(4).toString("hex"));
    const lab = new NamespaceLab(plan, prefix, await loadLibc());
    try {
      await lab.#build(plan);
    } catch (error) {
      await lab.close();
      throw error;
    }
    return lab;
  }

  private constructor({ nodes, topology }: Required<NamespaceLabOptions>, prefix: string, libc: Libc) {
    this.nodes = nodes;
    this.topology = topology;
    this.#prefix = prefix;
    this.#libc = libc;
    this.#paths = nodes.map(() => nodes.map(() => IDEAL_PATH));
    // Before the first namespace exists, so that a remover always exists.
    this.#reaper = new Reaper([prefix]);
  }

  get wirePid(): number | null {
    return this.#wire?.pid ?? null;
  }

  get device(): string {
    return DEVICE;
  }

  address(node: string, family: 4 | 6 = 4): string {
    const { v4, v6 } = nodeAddresses(this.#index(node));
    return family === 4 ? v4 : v6;
  }

  namespace(node: string): string {
    this.#index(node);
    return this.#prefix + node;
  }

  /** Argument of `enterNamespace`, for example in a worker's data. */
  namespacePath(node: string): string {
    return `${NAMESPACE_FOLDER}/${this.namespace(node)}`;
  }

  /** Like `child_process.spawn`, on a node. Killed with the lab. */
  spawn(
    node: string,
    command: string,
    args: readonly string[] = [],
    options: SpawnOptions = {},
  ): ChildProcess {
    this.#checkOpen();
    return spawn("ip", ["netns", "exec", this.namespace(node), command, ...args], options);
  }

  /**
   * Runs synchronous `run` with the calling thread on the node; see `runInNamespace`. For longer work use
   * `spawn`, or a worker thread with `enterNamespace`.
   */
  within<T>(node: string, run: () => T): T {
    this.#checkOpen();
    return runInNamespace(this.#libc, this.namespacePath(node), run);
  }

  /** The configured settings of the path, not measured ones. */
  path(source: string, target: string): PathSettings {
    return this.#paths[this.#index(source)]![this.#index(target)]!;
  }

  /** Resolves when the change applies to new packets; earlier packets keep their times. */
  async setPath(source: string, target: string, change: PathChange): Promise<void> {
    const from = this.#index(source);
    const to = this.#index(target);
    if (from === to) {
      throw new NamespaceError("invalid_argument", `a path must join two nodes, got "${source}" twice`);
    }
    const path = applyPathChange(`path ${source} to ${target}`, this.path(source, target), change);
    await this.#needWire().call("setPath", { source: from, target: to, path });
    this.#paths[from]![to] = path;
  }

  async setPaths(a: string, b: string, change: PathChange): Promise<void> {
    await this.setPath(a, b, change);
    await this.setPath(b, a, change);
  }

  mark(): Promise<number> {
    return this.#needWire().call("mark", null);
  }

  /** Counts and exact times of matching packets. */
  record(filter: PacketFilter = {}): Promise<WireRecord> {
    return this.#needWire().call("record", this.#byIndex(filter));
  }

  async packets(filter: PacketFilter = {}): Promise<readonly WirePacket[]> {
    const { packets } = await this.#needWire().call("packets", this.#byIndex(filter));
    return packets.map((packet) => ({
      ...packet,
      source: this.nodes[packet.source]!,
      target: this.nodes[packet.target]!,
    }));
  }

  /**
   * Requests of `source` to `target` with answers, matched by ICMP identifier and sequence, else by flow and
   * first 40 bytes of payload.
   * @param filter of requests; answers match with ports swapped
   * @param key for protocols whose answers don't repeat the request
   */
  async exchanges(
    filter: PacketFilter & { readonly source: string; readonly target: string },
    key?: ExchangeKey,
  ): Promise<readonly WireExchange[]> {
    const { source, target, sourcePort, targetPort, ...same } = filter;
    const answers = {
      ...same,
      source: target,
      target: source,
      sourcePort: targetPort,
      targetPort: sourcePort,
    };
    return pairExchanges(await this.packets(filter), await this.packets(answers), key);
  }

  async totals(): Promise<WireTotals> {
    const { paths, wire } = await this.#needWire().call("totals", null);
    const pairs = this.nodes.flatMap((source, i) =>
      this.nodes.flatMap((target, j) => (i === j ? [] : [{ source, target, ...paths[i]![j]! }])),
    );
    return { paths: pairs, wire };
  }

  /** Sets the kernel's token bucket filter on a node, replacing one of the same direction. */
  async shape(node: string, shape: Shape): Promise<void> {
    this.#checkOpen();
    checkShape(node, shape);
    const { sent, received } = this.#shapingPoints(node);
    const direction = shape.direction ?? "sent";
    if (direction !== "received") await addShape(sent, shape);
    if (direction === "sent") return;
    if (received === null) {
      throw new NamespaceError(
        "invalid_argument",
        `shape of ${node}: what a node receives can be shaped on "bridge" and "direct" only, this is "wire"; its paths have a bandwidth`,
      );
    }
    await addShape(received, shape);
  }

  async unshape(node: string): Promise<void> {
    this.#checkOpen();
    const { sent, received } = this.#shapingPoints(node);
    await removeShape(sent);
    if (received !== null) await removeShape(received);
  }

  /** Unplugs or plugs a node's cable (carrier). Not for "direct". */
  async setPlugged(node: string, plugged: boolean): Promise<void> {
    this.#checkOpen();
    if (this.topology === "direct") {
      throw new NamespaceError(
        "invalid_argument",
        `cable of ${node}: it can't be pulled with topology "direct"`,
      );
    }
    const { namespace, device } = hubPoint(this.#prefix + HUB, this.#index(node));
    await run("ip", ["-n", namespace, "link", "set", device, plugged ? "up" : "down"]);
  }

  /**
   * Ends programs on the nodes and removes everything; idempotent.
   * @throws NamespaceError `command_failed`
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#wire?.kill();
    await this.#reaper.remove();
  }

  async #build(plan: Required<NamespaceLabOptions>): Promise<void> {
    const namespaces = this.nodes.map((node) => this.#prefix + node);
    const hub = this.#prefix + HUB;
    await buildTopology({ topology: this.topology, namespaces, hub, mtu: plan.mtu });
    for (const node of this.nodes) this.within(node, () => this.#prepareNode(plan));
    if (this.topology !== "wire") return;
    this.#wire = await spawnWire();
    await this.#wire.call("start", {
      hubPath: `${NAMESPACE_FOLDER}/${hub}`,
      nodes: this.nodes.length,
      paths: this.#paths,
      seed: plan.seed,
      mtu: plan.mtu,
      queueFrames: plan.queueFrames,
      recordPackets: plan.recordPackets,
    });
  }

  #prepareNode(plan: Required<NamespaceLabOptions>): void {
    const { topology, offloads, slowStartAfterIdle, congestionControl } = plan;
    if (topology === "wire" || !offloads) switchOffloadsOff(this.#libc, DEVICE);
    writeFileSync(PING_GROUPS, EVERY_GROUP);
    if (!slowStartAfterIdle) writeFileSync(SLOW_START_AFTER_IDLE, "0");
    if (congestionControl !== null) writeFileSync(CONGESTION_CONTROL, congestionControl);
  }

  #shapingPoints(node: string): { readonly sent: ShapingPoint; readonly received: ShapingPoint | null } {
    const index = this.#index(node);
    const sent = sentPoint(this.namespace(node));
    if (this.topology === "wire") return { sent, received: null };
    if (this.topology === "bridge") return { sent, received: hubPoint(this.#prefix + HUB, index) };
    return { sent, received: sentPoint(this.namespace(this.nodes[1 - index]!)) };
  }

  #byIndex({ source, target, ...same }: PacketFilter): IndexFilter {
    return {
      ...same,
      ...(source === undefined ? {} : { source: this.#index(source) }),
      ...(target === undefined ? {} : { target: this.#index(target) }),
    };
  }

  #index(node: string): number {
    const index = this.nodes.indexOf(node);
    if (index >= 0) return index;
    throw new NamespaceError(
      "unknown_node",
      `there is no node "${node}", the lab has ${this.nodes.join(", ")}`,
    );
  }

  #needWire(): WireProcess {
    this.#checkOpen();
    if (this.#wire !== null) return this.#wire;
    throw new NamespaceError(
      "invalid_argument",
      `paths and records need topology "wire", this is "${this.topology}"`,
    );
  }

  #checkOpen(): void {
    if (this.#closing !== null) throw new NamespaceError("closed", "the lab is closed");
  }
}

function resolve(options: NamespaceLabOptions): Required<NamespaceLabOptions> {
  const plan = {
    nodes: [...options.nodes],
    topology: options.topology ?? "wire",
    seed: options.seed ?? 1,
    mtu: options.mtu ?? 1500,
    offloads: options.offloads ?? true,
    queueFrames: options.queueFrames ?? DEFAULT_QUEUE_FRAMES,
    recordPackets: options.recordPackets ?? DEFAULT_RECORD_PACKETS,
    slowStartAfterIdle: options.slowStartAfterIdle ?? true,
    congestionControl: options.congestionControl ?? null,
  };
  checkNodeNames(plan.nodes);
  if (plan.topology === "direct" && plan.nodes.length !== 2) {
    throw new NamespaceError("invalid_argument", `topology "direct" joins 2 nodes, got ${plan.nodes.length}`);
  }
  checkInteger("seed", plan.seed, -(2 ** 31), 2 ** 32 - 1);
  checkInteger("mtu", plan.mtu, MIN_MTU, MAX_MTU);
  checkInteger("queueFrames", plan.queueFrames, 1, 1 << 20);
  checkInteger("recordPackets", plan.recordPackets, 1, 1 << 22);
  return plan;
}

function checkInteger(name: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new NamespaceError(
    "invalid_argument",
    `${name} must be an integer from ${min} to ${max}, got ${value}`,
  );
}
