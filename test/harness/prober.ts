import { once } from "node:events";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { NamespaceLab } from "@isochrone/lab/namespaces";
import type { EngineConfig, EngineSnapshot, FlowSnapshot, ProbePeer } from "@isochrone/probe/testing";
import { Distribution, OUTCOMES, type Outcome } from "@isochrone/telemetry";

export interface ProberTask {
  readonly config: Omit<EngineConfig, "keys">;
  /** Hexadecimal. "": packets are not authenticated. */
  readonly secret: string;
  readonly peers: readonly ProbePeer[];
  /** Blocks the main thread for `busyMs` in every `busyEveryMs`. 0: never. */
  readonly busyMs: number;
  readonly busyEveryMs: number;
}

export type ProberLine =
  | { readonly kind: "open"; readonly udpPort: number; readonly tcpPort: number }
  | { readonly kind: "snapshot"; readonly snapshot: EngineSnapshot };

export interface FlowTotal {
  readonly node: string;
  readonly method: string;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  readonly rtt: Distribution;
  readonly application: Distribution;
  readonly jitterMs: number | null;
  readonly stamps: { readonly kernel: number; readonly user: number };
  readonly errors: Readonly<Record<string, number>>;
}

const SCRIPT = join(import.meta.dirname, "prober-process.ts");

export function engineConfig(
  values: Partial<Omit<EngineConfig, "keys">> & Pick<EngineConfig, "node" | "identity">,
): Omit<EngineConfig, "keys"> {
  return {
    bindAddress: values.identity.includes(":") ? "::" : "0.0.0.0",
    udpPort: 7411,
    tcpPort: 7411,
    methods: ["icmp"],
    intervalMs: 10,
    timeoutMs: 1000,
    publishIntervalMs: 500,
    warmupPackets: 0,
    packetBytes: 128,
    signingKeyId: 1,
    connectIntervalMs: 100,
    dscp: 0,
    icmpPayloadBytes: 56,
    icmpProber: "auto",
    acceptTranslatedSource: false,
    stallBoundMs: 20,
    responderPacketsPerSecond: 100_000,
    zeroCheckIntervalMs: 0,
    ...values,
  };
}

export class Prober {
  readonly #child: ChildProcess;
  readonly #snapshots: EngineSnapshot[] = [];
  readonly #log: string[] = [];
  readonly #open = Promise.withResolvers<{ udpPort: number; tcpPort: number }>();

  /** Resolves when its responder listens and its peers are set. */
  static async start(lab: NamespaceLab, node: string, task: ProberTask): Promise<Prober> {
    const prober = new Prober(
      lab.spawn(node, process.execPath, [SCRIPT, JSON.stringify(task)], { stdio: ["pipe", "pipe", "pipe"] }),
    );
    await prober.#open.promise;
    return prober;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    createInterface({ input: child.stdout! }).on("line", (line) =>
      this.#handle(JSON.parse(line) as ProberLine),
    );
    createInterface({ input: child.stderr! }).on("line", (line) => void this.#log.push(line));
    child.on("exit", (code) =>
      this.#open.reject(new Error(`the prober ended with ${code}: ${this.#log.join("\n")}`)),
    );
  }

  get log(): readonly string[] {
    return this.#log;
  }

  get snapshots(): readonly EngineSnapshot[] {
    return this.#snapshots;
  }

  async stop(): Promise<FlowTotal[]> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exit = once(this.#child, "exit");
      this.#child.stdin!.end();
      const timer = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
      await exit;
      clearTimeout(timer);
    }
    return totals(this.#snapshots.flatMap(({ flows }) => flows));
  }

  #handle(line: ProberLine): void {
    if (line.kind === "open") this.#open.resolve(line);
    else this.#snapshots.push(line.snapshot);
  }
}

function totals(flows: readonly FlowSnapshot[]): FlowTotal[] {
  const byKey = new Map<string, FlowSnapshot[]>();
  for (const flow of flows) {
    const key = `${flow.node} ${flow.method} ${flow.ipFamily}`;
    const list = byKey.get(key);
    if (list === undefined) byKey.set(key, [flow]);
    else list.push(flow);
  }
  return [...byKey.values()].map(addUp);
}

function addUp(flows: readonly FlowSnapshot[]): FlowTotal {
  const { node, method } = flows[0] as FlowSnapshot;
  const sum = (of: (flow: FlowSnapshot) => number): number => flows.reduce((all, flow) => all + of(flow), 0);
  const rtt = new Distribution();
  const application = new Distribution();
  const errors: Record<string, number> = {};
  for (const flow of flows) {
    rtt.mergeData(flow.rtt);
    application.mergeData(flow.application);
    for (const [reason, count] of Object.entries(flow.errors)) errors[reason] = (errors[reason] ?? 0) + count;
  }
  const differences = sum(({ variationCount }) => variationCount);
  return {
    node,
    method,
    outcomes: Object.fromEntries(
      OUTCOMES.map((outcome) => [outcome, sum(({ outcomes }) => outcomes[outcome])]),
    ) as Record<Outcome, number>,
    rtt,
    application,
    jitterMs:
      differences === 0 ? null : (sum(({ variationSeconds }) => variationSeconds) * 1000) / differences,
    stamps: { kernel: sum(({ stamps }) => stamps.kernel), user: sum(({ stamps }) => stamps.user) },
    errors,
  };
}
