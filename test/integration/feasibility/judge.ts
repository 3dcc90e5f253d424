// kube-scheduler's own word on a pod and every node, without anything being bound: an extender that is told
// which nodes its filters let through, and refuses them all. One attempt judges all nodes.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Everything as it comes, but for preemption, which would delete placed pods, and for sampling. */
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

/** What kube-scheduler found out about a pod. */
export interface Finding {
  /** Nodes that all its filters let through. */
  readonly admitted: ReadonlySet<string>;
  /** Its reasons against the others, and how many nodes each is for. */
  readonly reasons: ReadonlyMap<string, number>;
  /** How many nodes it knew. */
  readonly nodes: number;
}

const REFUSAL = "only asked";

export class Judge {
  readonly url: string;
  readonly #server: Server;
  /** By pod UID: what the first attempt got through. */
  readonly #admitted = new Map<string, readonly string[]>();
  /** By namespace/name of the pod: where it is to go if it may. */
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

  /** Lets the pod onto this node, if the filters do. */
  send(pod: KubernetesObject, node: string): void {
    this.#targets.set(keyOf(pod), node);
  }

  /** null while kube-scheduler hasn't tried the pod. */
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

/** "0/8 nodes are available: 1 Insufficient cpu, 7 node(s) were unschedulable." */
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
