import {
  isWorkloadKind,
  repeatsOthers,
  RESOURCE_ATTRIBUTES,
  type EndRule,
  type Series,
} from "@isochrone/telemetry";
import { isOutsideName, OUTSIDE_NAMESPACE } from "@isochrone/telemetry/outside";
import { isIP } from "node:net";
import type { ClusterFacts, PodFact } from "../speakers/authority.ts";
import { textOf, type Labels } from "../text.ts";

export interface ResolvedEnd extends PodFact {
  /** True if resolved through a pod, whose name or address may be reused. */
  readonly mayChange: boolean;
}

/**
 * "nobody": the row names no workload. "stranger": no pod has the address. "later": the pod is unknown, or
 * not known yet. "repeated": other series count the same bytes.
 */
type End = ResolvedEnd | "nobody" | "stranger" | "later" | "repeated";

/** Matches calcId in containers/registry.go of coroot-node-agent. */
const CONTAINER = /^\/k8s\/([^/]+)\/([^/]+)\/[^/]+$/;

export function endOf(rule: EndRule, series: Series, facts: ClusterFacts): End {
  switch (rule.by) {
    case "workload":
      return workloadOf(rule, series);
    case "pod":
      return ownPod(series, facts);
    case "container":
      return ofContainer(textOf(series.attributes[rule.label]) ?? "", facts);
    case "address": {
      const address = addressOf(textOf(series.attributes[rule.label]) ?? "");
      const found = address === null ? "nobody" : facts.podAt(address);
      return found === "no" ? "stranger" : found === "nobody" ? found : looked(found);
    }
    case "outside":
      return namedOutside(textOf(series.attributes[rule.label]) ?? "");
    default:
      return rule satisfies never;
  }
}

function ofContainer(path: string, facts: ClusterFacts): End {
  const [, namespace = "", pod = ""] = CONTAINER.exec(path) ?? [];
  return pod === "" ? "nobody" : looked(facts.podNamed(namespace, pod));
}

function namedOutside(name: string): End {
  return isOutsideName(name) ? outsideEnd(name) : "nobody";
}

/** External end of a row that may name an external address; null: it does not. */
export function outsideOf(rule: EndRule, { attributes }: Series, facts: ClusterFacts): ResolvedEnd | null {
  const address = rule.by === "address" ? addressOf(textOf(attributes[rule.label]) ?? "") : null;
  const name = address === null ? null : facts.outsideAt(address);
  return name === null ? null : outsideEnd(name);
}

export function outsideEnd(name: string, mayChange = false): ResolvedEnd {
  return { namespace: OUTSIDE_NAMESPACE, workload: name, node: null, mayChange };
}

function workloadOf(
  { namespace: label, names, kind }: Extract<EndRule, { readonly by: "workload" }>,
  { attributes }: Series,
): End {
  const namespace = textOf(attributes[label]);
  const workload = names.map((name) => textOf(attributes[name])).find((name) => name !== null) ?? null;
  const ofKind = kind === undefined ? null : String(attributes[kind] ?? "");
  if (ofKind !== null && repeatsOthers(ofKind)) return "repeated";
  const isOne = ofKind === null || isWorkloadKind(ofKind);
  if (namespace === null || workload === null || !isOne) return "nobody";
  return { namespace, workload, node: null, mayChange: false };
}

/** The collector sets the resource; labels may be the page's own. */
function ownPod({ attributes, resource }: Series, facts: ClusterFacts): End {
  const labels: Labels<"namespace" | "pod"> = attributes;
  const namespace = textOf(resource[RESOURCE_ATTRIBUTES.namespace]) ?? textOf(labels.namespace);
  const pod = textOf(resource[RESOURCE_ATTRIBUTES.pod]) ?? textOf(labels.pod);
  return namespace === null || pod === null ? "nobody" : looked(facts.podNamed(namespace, pod));
}

function looked(found: ReturnType<ClusterFacts["podAt"]>): End {
  return typeof found === "object" ? { ...found, mayChange: true } : "later";
}

/** Parses `address`, `address:port` and `[address]:port`. */
function addressOf(text: string): string | null {
  if (isIP(text) !== 0) return text;
  const host = /^\[(.*)\]:\d+$/.exec(text)?.[1] ?? /^(.*):\d+$/.exec(text)?.[1] ?? "";
  return isIP(host) === 0 ? null : host;
}
