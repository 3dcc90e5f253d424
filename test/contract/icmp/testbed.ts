import { execFileSync, fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { IcmpReport, IcmpTask } from "@isochrone/probe/testing";
import { Distribution, type Outcome } from "@isochrone/telemetry";
import type { Answer, FromFar, ToFar } from "./far.ts";
import type { FromNear, ToNear } from "./near.ts";

/** `farIps` belong to the far end, `deadIp` and `dead6` to nobody. `nowhere` has no route. */
export const WIRE = {
  nearIp: "10.9.0.1",
  farIps: ["10.9.0.2", "10.9.0.3", "10.9.0.4", "10.9.0.5"],
  deadIp: "10.9.0.77",
  near6: "fd00:9::1",
  far6: "fd00:9::2",
  dead6: "fd00:9::77",
  nowhere: "10.77.0.1",
  /** The far end reports it as unreachable. */
  unreachable: "10.9.1.1",
} as const;

/** Whether namespaces can be created: root on Linux with iproute2 and util-linux. */
export function canMakeTestbed(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    execFileSync("unshare", ["--net", "ip", "link", "show", "lo"], { stdio: "ignore", timeout: 5000 });
    return true;
  } catch {
    return false;
  }
}

export interface FlowSums {
  readonly outcomes: Record<Outcome, number>;
  readonly errors: Record<string, number>;
  readonly stamps: { kernel: number; user: number };
  readonly rtt: Distribution;
  hops: number | null;
}

/** Two network namespaces joined by a wire, each held by a child process. They end with this process. */
export class Testbed {
  readonly #near: ChildProcess;
  readonly #far: ChildProcess;
  /** Sums at the near end since `forget`, by node name. */
  readonly flows = new Map<string, FlowSums>();
  readonly log: { readonly level: string; readonly event: string; readonly fields: unknown }[] = [];
  zeroCheck: { sent: number; received: number; source: string } | null = null;
  prober: string | null = null;
  restarts = 0;
  #lastReport: IcmpReport | null = null;

  static async open(
    options: { readonly pingGroupRange: string | null } = { pingGroupRange: null },
  ): Promise<Testbed> {
    const testbed = new Testbed(forkInNamespace("near.ts"), forkInNamespace("far.ts"));
    await Promise.all([testbed.#next(testbed.#near, "started"), testbed.#next(testbed.#far, "started")]);
    testbed.#lay();
    if (options.pingGroupRange !== null) {
      testbed.inNear("sh", "-c", `echo ${options.pingGroupRange} > /proc/sys/net/ipv4/ping_group_range`);
    }
    return testbed;
  }

  private constructor(near: ChildProcess, far: ChildProcess) {
    this.#near = near;
    this.#far = far;
  }

  get nearPid(): number {
    return this.#near.pid as number;
  }

  inNear(...command: string[]): string {
    return inNamespace(this.#near, command);
  }

  inFar(...command: string[]): string {
    return inNamespace(this.#far, command);
  }

  task(task: IcmpTask): void {
    this.#near.send({ type: "task", task } satisfies ToNear);
  }

  async rule(rules: Readonly<Record<string, Partial<Answer>>> | null): Promise<void> {
    const whole =
      rules === null
        ? null
        : Object.fromEntries(
            Object.entries(rules).map(([address, rule]) => [
              address,
              { copies: 1, delayMs: 0, source: address, alteredByte: -1, ...rule },
            ]),
          );
    this.#far.send({ type: "rules", rules: whole } satisfies ToFar);
    await this.#next(this.#far, "ruled");
  }

  async requests(): Promise<number> {
    return (await this.counted()).requests;
  }

  counted(): Promise<Extract<FromFar, { type: "counted" }>> {
    this.#far.send({ type: "count" } satisfies ToFar);
    return this.#next(this.#far, "counted");
  }

  /** Adds the prober's reports to `flows` until the condition holds. Fails with `what` after the deadline. */
  async until(what: string, condition: () => boolean, deadlineMs = 15_000): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    for (;;) {
      await this.look();
      if (condition()) return;
      if (performance.now() > endMs) {
        const seen = [...this.flows].map(([node, { outcomes }]) => `${node} ${JSON.stringify(outcomes)}`);
        throw new Error(`still waiting for ${what}; ${this.prober}: ${seen.join(", ")}`);
      }
      await delay(50);
    }
  }

  async look(engine = 1): Promise<void> {
    this.#near.send({ type: "take", engine } satisfies ToNear);
    const { report, prober, restarts, log } = await this.#next(this.#near, "taken");
    this.prober = prober;
    this.restarts = restarts;
    this.log.push(...log);
    if (report.flows.length > 0) this.#lastReport = report;
    for (const flow of report.flows) this.#add(flow);
    const zero = report.zeroCheck;
    if (zero === null) return;
    const before = this.zeroCheck ?? { sent: 0, received: 0 };
    const source = zero.source === "none" ? (this.zeroCheck?.source ?? "none") : zero.source;
    this.zeroCheck = { sent: before.sent + zero.sent, received: before.received + zero.received, source };
  }

  get reported(): string[] {
    return (this.#lastReport?.flows ?? []).map(({ node }) => node);
  }

  of(node: string): FlowSums {
    const flow = this.flows.get(node);
    if (flow === undefined) throw new Error(`nothing was reported of ${node}`);
    return flow;
  }

  /** Stops the prober and drops its reports. */
  async stop(): Promise<void> {
    this.#near.send({ type: "close" } satisfies ToNear);
    await this.#next(this.#near, "closed");
    await this.look();
    this.flows.clear();
    this.log.length = 0;
    this.zeroCheck = null;
  }

  /** Leaves the far end to its kernel permanently. */
  rest(): void {
    this.#far.send({ type: "rest" } satisfies ToFar);
  }

  /** Keeps the near end's main thread busy for 5 ms of every 20, or stops that. */
  busy(on: boolean): void {
    this.#near.send({ type: "busy", on } satisfies ToNear);
  }

  children(): { readonly pid: number; readonly name: string }[] {
    return readdirSync(`/proc/${this.nearPid}/task`).flatMap((task) => {
      const text = readFileSync(`/proc/${this.nearPid}/task/${task}/children`, "utf8").trim();
      const pids = text === "" ? [] : text.split(" ").map(Number);
      return pids.map((pid) => ({ pid, name: basename(readlinkSync(`/proc/${pid}/exe`)) }));
    });
  }

  async close(): Promise<void> {
    await Promise.all(
      [this.#near, this.#far].map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, "exit");
        child.kill("SIGKILL");
        await exited;
      }),
    );
  }

  /** Takes the near end's interface down. */
  cut(): void {
    this.inNear("ip", "link", "set", "wire0", "down");
  }

  /** Brings it up and restores settings that the kernel drops for a downed interface. */
  mend(): void {
    this.inNear("ip", "link", "set", "wire0", "up");
    this.inNear("ip", "addr", "replace", `${WIRE.near6}/64`, "dev", "wire0", "nodad");
    this.#layRoute();
  }

  #layRoute(): void {
    this.inNear("ip", "route", "replace", `${WIRE.unreachable}/32`, "via", WIRE.farIps[0]);
  }

  #add(flow: IcmpReport["flows"][number]): void {
    const sums = this.flows.get(flow.node) ?? {
      outcomes: Object.fromEntries(
        Object.keys(flow.outcomes).map((name) => [name, 0]),
      ) as FlowSums["outcomes"],
      errors: {},
      stamps: { kernel: 0, user: 0 },
      rtt: new Distribution(),
      hops: null,
    };
    this.flows.set(flow.node, sums);
    for (const [name, count] of Object.entries(flow.outcomes) as [Outcome, number][])
      sums.outcomes[name] += count;
    for (const [name, count] of Object.entries(flow.errors))
      sums.errors[name] = (sums.errors[name] ?? 0) + count;
    sums.stamps.kernel += flow.stamps.kernel;
    sums.stamps.user += flow.stamps.user;
    sums.rtt.mergeData(flow.rtt);
    sums.hops = flow.hops ?? sums.hops;
  }

  #lay(): void {
    const { nearIp, farIps, near6, far6, unreachable } = WIRE;
    this.inNear(
      "ip",
      "link",
      "add",
      "wire0",
      "type",
      "veth",
      "peer",
      "name",
      "wire1",
      "netns",
      String(this.#far.pid),
    );
    for (const [run, device, addresses] of [
      [this.inNear.bind(this), "wire0", [`${nearIp}/24`, `${near6}/64`]],
      [this.inFar.bind(this), "wire1", [...farIps.map((ip) => `${ip}/24`), `${far6}/64`]],
    ] as const) {
      run("ip", "link", "set", "lo", "up");
      run("ip", "link", "set", device, "up");
      for (const address of addresses) {
        run("ip", "addr", "add", address, "dev", device, ...(address.includes(":") ? ["nodad"] : []));
      }
    }
    this.#layRoute();
    this.inFar("ip", "route", "add", "unreachable", `${unreachable}/32`);
    this.inFar("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward");
    // The kernel otherwise limits errors to one per second and target.
    this.inFar("sh", "-c", "echo 0 > /proc/sys/net/ipv4/icmp_ratelimit");
  }

  async #next<T extends (FromNear | FromFar)["type"]>(
    child: ChildProcess,
    type: T,
  ): Promise<Extract<FromNear | FromFar, { type: T }>> {
    const signal = AbortSignal.timeout(10_000);
    for await (const [message] of onMessages(child, signal)) {
      const said = message as FromNear | FromFar;
      if (said.type === type) return said as Extract<FromNear | FromFar, { type: T }>;
    }
    throw new Error(`the child process ended before it said ${type}`);
  }
}

async function* onMessages(child: ChildProcess, signal: AbortSignal): AsyncIterable<unknown[]> {
  for (;;) {
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    const over = (): void => ended.abort(new Error("the child process ended"));
    child.once("exit", over);
    try {
      yield (await once(child, "message", { signal: either })) as unknown[];
    } finally {
      child.off("exit", over);
    }
  }
}

function forkInNamespace(file: string): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), {
    execPath: "unshare",
    execArgv: ["--net", process.execPath],
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

function inNamespace(child: ChildProcess, command: readonly string[]): string {
  return execFileSync("nsenter", ["-t", String(child.pid), "-n", ...command], {
    encoding: "utf8",
    timeout: 10_000,
  });
}
