// Flows of placed jobs with the known addresses of their ends.
import { streamWorkloadName, type KubernetesObject } from "@isochrone/kubernetes";
import type { AddressedFlow } from "./domain/flow-plans.ts";
import type { JobFlow, Placement } from "./domain/placement.ts";
import { podAddress } from "./job-pods.ts";
import type { KnownJob } from "./known-jobs.ts";

interface JobFlowsOptions {
  readonly podOf: (job: KnownJob, task: string, node: string) => KubernetesObject | null;
  readonly addresses: ReadonlyMap<string, string>;
}

interface OfJob {
  /** Whether all tasks have pods: only the pod shows whether its address is the node's. */
  readonly isComplete: boolean;
  readonly nodes: Set<string>;
  readonly withoutAddress: string[];
  readonly ids: Map<string, string>;
}

const SOURCE = "source";

export class JobFlows {
  readonly addressed: AddressedFlow[] = [];
  readonly #options: JobFlowsOptions;
  readonly #ofJob = new Map<string, OfJob>();
  #leftOut: readonly AddressedFlow[] = [];

  constructor(options: JobFlowsOptions) {
    this.#options = options;
  }

  add(job: KnownJob, placement: Placement): void {
    const { podOf } = this.#options;
    const isComplete = [...placement.hosts].every(([task, node]) => podOf(job, task, node) !== null);
    const ofJob: OfJob = { isComplete, nodes: new Set(), withoutAddress: [], ids: new Map() };
    this.#ofJob.set(job.uid, ofJob);
    for (const flow of placement.flows) {
      const source = this.#end(job, flow.from, flow.route[0]!);
      const target = this.#end(job, flow.to, flow.route.at(-1)!);
      if (source === null || target === null) {
        ofJob.withoutAddress.push(nameOf(flow));
        continue;
      }
      for (const node of flow.route) ofJob.nodes.add(node);
      const { namespace = "default", name } = job.object.metadata;
      const id = `${namespace}/${name}/${nameOf(flow)}`;
      ofJob.ids.set(id, nameOf(flow));
      this.addressed.push({
        id,
        owner: { kind: "StreamJob", namespace, name },
        channel: {
          source: streamWorkloadName(name, flow.from ?? SOURCE),
          target: streamWorkloadName(name, flow.to),
        },
        source: { ...source, port: null },
        target: { ...target, port: flow.port },
        route: flow.route,
        bitsPerSecond: flow.bitsPerSecond,
      });
    }
  }

  addressOfNode(node: string): string | null {
    return this.#options.addresses.get(node) ?? null;
  }

  /** True if all flows that can be known before its pods run are known. */
  isComplete(uid: string): boolean {
    return this.#ofJob.get(uid)?.isComplete === true;
  }

  nodesOf(uid: string): Iterable<string> {
    return this.#ofJob.get(uid)?.nodes ?? [];
  }

  withoutAddress(uid: string): readonly string[] {
    return this.#ofJob.get(uid)?.withoutAddress ?? [];
  }

  leaveOut(flows: readonly AddressedFlow[]): void {
    this.#leftOut = flows;
  }

  get leftOut(): readonly AddressedFlow[] {
    return this.#leftOut;
  }

  withoutPlace(uid: string): readonly string[] {
    const ids = this.#ofJob.get(uid)?.ids;
    return this.#leftOut.flatMap(({ id }) => ids?.get(id) ?? []);
  }

  /** Frames start on the source's node itself. */
  #end(job: KnownJob, task: string | null, node: string): { node: string; address: string } | null {
    const own = this.addressOfNode(node);
    if (task === null) return own === null ? null : { node, address: own };
    const pod = this.#options.podOf(job, task, node);
    const address = pod === null ? null : podAddress(pod, own);
    return address === null ? null : { node, address };
  }
}

function nameOf({ from, to }: JobFlow): string {
  return `${from ?? SOURCE}->${to}`;
}
