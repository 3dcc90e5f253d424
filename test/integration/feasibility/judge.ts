// Gets kube-scheduler's verdict without binding: an extender records and rejects all nodes.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Defaults, except for preemption, which would delete placed pods, and for node sampling. */
export const SCHEDULER_CONFIG = (url: string): string => `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: "@KUBECONFIG@", qps: 2000, burst: 4000}
leaderElection: {leaderElect: false}
percentageOfNodesToScore: 100
profiles:
- schedulerName: default-scheduler
  plugins: {postFilter: {disabled: [{name: "*"}]}}
extenders:
- {urlPrefix: "${url}", filterVerb: filter, nodeCacheCapable: true, httpTimeout: 30s}
`;

interface ExtenderArgs {
  readonly Pod: KubernetesObject;
  readonly NodeNames: readonly string[];
}

export interface Finding {
  /** Nodes that all filters accept. */
  readonly admitted: ReadonlySet<string>;
  readonly reasons: ReadonlyMap<string, number>;
  readonly nodes: number;
}

const REFUSAL = "only asked";

export class Judge {
  readonly url: string;
  readonly #server: Server;
  readonly #admitted = new Map<string, readonly string[]>();
  /** Target node by pod as namespace/name. */
  readonly #targets = new Map<string, string>();

  static async start(): Promise<Judge> {
    const judge: Judge[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const args = JSON.parse(Buffer.concat(chunks).toString()) as ExtenderArgs;
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(judge[0]!.#answer(args)));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    judge.push(new Judge(server));
    return judge[0]!;
  }

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Allows the pod on this node if the filters do. */
  send(pod: KubernetesObject, node: string): void {
    this.#targets.set(keyOf(pod), node);
  }

  /** Returns null before kube-scheduler has tried the pod. */
  finding(pod: KubernetesObject): Finding | null {
    const conditions = (pod.status?.["conditions"] ?? []) as {
      type: string;
      reason: string;
      message: string;
    }[];
    const condition = conditions.find(({ type }) => type === "PodScheduled");
    if (condition?.reason !== "Unschedulable") return null;
    const { nodes, reasons } = parse(condition.message);
    return { admitted: new Set(this.#admitted.get(pod.metadata.uid!)), reasons, nodes };
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => void this.#server.close(() => resolve()));
  }

  #answer({ Pod: pod, NodeNames: names }: ExtenderArgs): Record<string, unknown> {
    const uid = pod.metadata.uid!;
    if (!this.#admitted.has(uid)) this.#admitted.set(uid, names);
    const target = this.#targets.get(keyOf(pod));
    const kept = names.filter((name) => name === target);
    const refused = names.filter((name) => name !== target);
    return { NodeNames: kept, FailedNodes: Object.fromEntries(refused.map((name) => [name, REFUSAL])) };
  }
}

function keyOf({ metadata: { namespace, name } }: KubernetesObject): string {
  return `${namespace}/${name}`;
}

function parse(message: string): { nodes: number; reasons: Map<string, number> } {
  const match = /^0\/(\d+) nodes are available: (.*?)\.?(?: preemption: .*| no new claims .*)?$/s.exec(
    message,
  );
  if (match === null) throw new Error(`kube-scheduler says something unexpected: ${message}`);
  const reasons = new Map<string, number>();
  for (const part of match[2]!.split(", ")) {
    const [count = "", ...words] = part.split(" ");
    const reason = words.join(" ");
    if (reason !== REFUSAL) reasons.set(reason, Number(count));
  }
  return { nodes: Number(match[1]), reasons };
}
