import type { KubernetesObject } from "@isochrone/kubernetes";
import { withDeadline } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { isRecord, looseFields, looseList, looseText, reasonOf } from "@isochrone/primitives";
import { ExtenderError } from "../errors.ts";
import { podSpec } from "../objects.ts";

export interface ExtenderConfig {
  readonly urlPrefix: string;
  /** Empty or absent: doesn't filter. */
  readonly filterVerb?: string;
  /** Empty or absent: doesn't score. */
  readonly prioritizeVerb?: string;
  readonly weight?: number;
  readonly httpTimeoutMs?: number;
  /** Only node names are sent. @default false */
  readonly nodeCacheCapable?: boolean;
  /** Scheduling continues if the extender fails. @default false */
  readonly ignorable?: boolean;
  /** Extended resources; if given, only pods that request one are sent. */
  readonly managedResources?: readonly string[];
}

interface FilterResult {
  readonly feasible: KubernetesObject[];
  /** Reason by node; unresolvable ones win. */
  readonly failed: ReadonlyMap<string, string>;
}

const MAX_EXTENDER_SCORE = 10;
const MAX_NODE_SCORE = 100;

/** Client of the HTTP extender protocol (extender/v1): PascalCase JSON. */
export class ExtenderClient {
  readonly config: ExtenderConfig;
  readonly #clock: Clock;

  constructor(config: ExtenderConfig, clock: Clock) {
    if (config.prioritizeVerb && (config.weight ?? 1) <= 0)
      throw new ExtenderError(
        `weight of extender ${config.urlPrefix} must be positive when it has a prioritizeVerb, got ${config.weight}`,
      );
    this.config = config;
    this.#clock = clock;
  }

  isInterested(pod: KubernetesObject): boolean {
    const managed = this.config.managedResources ?? [];
    if (managed.length === 0) return true;
    const containers = podSpec(pod).containers ?? [];
    return containers.some(({ resources }) =>
      managed.some((name) => name in (resources?.requests ?? {}) || name in (resources?.limits ?? {})),
    );
  }

  async filter(pod: KubernetesObject, nodes: readonly KubernetesObject[]): Promise<FilterResult> {
    if (!this.config.filterVerb) return { feasible: [...nodes], failed: new Map() };
    const reply = await this.#send(this.config.filterVerb, pod, nodes);
    const error = field(reply, "Error");
    if (typeof error === "string" && error !== "")
      throw new ExtenderError(`extender ${this.config.urlPrefix} refused to filter: ${error}`);
    const failed = new Map([
      ...reasons(field(reply, "FailedNodes")),
      ...reasons(field(reply, "FailedAndUnresolvableNodes")),
    ]);
    const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
    const feasible = this.#namesIn(reply).map((name) => {
      const node = byName.get(name);
      if (node === undefined)
        throw new ExtenderError(
          `extender ${this.config.urlPrefix} claims a filtered node "${name}" which is not found in the input node list`,
        );
      return node;
    });
    return { feasible, failed };
  }

  /** Scores by node on kube-scheduler's scale: 0..10 times weight times 10. Unnamed nodes are absent. */
  async prioritize(pod: KubernetesObject, nodes: readonly KubernetesObject[]): Promise<Map<string, number>> {
    const scores = new Map<string, number>();
    if (!this.config.prioritizeVerb) return scores;
    const reply = await this.#send(this.config.prioritizeVerb, pod, nodes);
    if (reply !== null && !Array.isArray(reply))
      throw new ExtenderError(
        `extender ${this.config.urlPrefix} must answer ${this.config.prioritizeVerb} with a list`,
      );
    const factor = (this.config.weight ?? 1) * (MAX_NODE_SCORE / MAX_EXTENDER_SCORE);
    for (const entry of reply ?? []) {
      const host = field(entry, "Host");
      const score = field(entry, "Score");
      if (typeof host !== "string" || typeof score !== "number" || !Number.isSafeInteger(score))
        throw new ExtenderError(
          `extender ${this.config.urlPrefix} must answer with {Host, Score: integer}, got ${JSON.stringify(entry)}`,
        );
      scores.set(host, score * factor);
    }
    return scores;
  }

  #namesIn(reply: unknown): string[] {
    const names = field(reply, "NodeNames");
    if (this.config.nodeCacheCapable === true && Array.isArray(names)) return names.map(String);
    const items = field(field(reply, "Nodes"), "items");
    return Array.isArray(items)
      ? looseList<KubernetesObject>(items).map(({ metadata }) =>
          looseText(looseFields<Record<"name", unknown>>(metadata).name),
        )
      : [];
  }

  async #send(verb: string, pod: KubernetesObject, nodes: readonly KubernetesObject[]): Promise<unknown> {
    const cached = this.config.nodeCacheCapable === true;
    const args = {
      Pod: pod,
      Nodes: cached ? null : { metadata: {}, items: nodes },
      NodeNames: cached ? nodes.map(({ metadata }) => metadata.name) : null,
    };
    const url = `${this.config.urlPrefix.replace(/\/+$/, "")}/${verb}`;
    const timeoutMs = this.config.httpTimeoutMs ?? 5_000;
    try {
      return await withDeadline<unknown>(this.#clock, timeoutMs, "the answer", async (signal) => {
        const response = await fetch(url, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(args),
          signal,
        });
        if (response.status !== 200) throw new Error(`answered with status ${response.status}`);
        return await response.json();
      });
    } catch (cause) {
      const reason = reasonOf(cause);
      throw new ExtenderError(`extender call ${url} failed: ${reason}`, { cause });
    }
  }
}

/** Case-insensitive, like Go's decoder. */
function field(value: unknown, name: string): unknown {
  if (!isRecord(value)) return undefined;
  if (name in value) return value[name];
  const key = Object.keys(value).find((candidate) => candidate.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : value[key];
}

function reasons(value: unknown): [string, string][] {
  return typeof value === "object" && value !== null
    ? Object.entries(value).map(([node, reason]) => [node, String(reason)])
    : [];
}
