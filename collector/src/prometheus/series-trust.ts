// Limits what a series may report by the labels that Prometheus gave its target. With honor_labels off a page
// can't change those; its own become exported_*. A pod can forge everything else.
import { servedBy } from "../discovery/trusted.ts";
import { rowEnds, rowRefusal, ROW_REFUSALS, type PageScope, type RowEnds } from "../domain/page-scope.ts";
import { MAX_SERIES_BYTES } from "../domain/row-judge.ts";
import type { RawSeries } from "./answer.ts";
import { NODE_EXPORTER, type Preset } from "./presets.ts";
import type { Query } from "./queries.ts";

/** Metric label `reason` of isochrone_collector_prometheus_series_refused_total. */
const SERIES_REFUSALS = [
  ...ROW_REFUSALS,
  "no_target",
  /** Only pods named by an operator may report this. */
  "not_trusted",
  "no_node",
] as const;
type SeriesRefusal = (typeof SERIES_REFUSALS)[number];

export interface TrustSettings {
  readonly prometheusNamespaceLabel: string;
  readonly prometheusPodLabel: string;
  readonly prometheusTrustUnlabelled: boolean;
  readonly prometheusTrustedPods: readonly string[];
  readonly waypointServes: readonly string[];
  readonly ztunnelDaemonSets: readonly string[];
  readonly hubbleDaemonSets: readonly string[];
  readonly nodeExporterDaemonSets: readonly string[];
}

/** The first refused series of an answer is logged. */
interface RefusedSeries {
  readonly reason: SeriesRefusal;
  readonly metric: string;
  readonly namespace: string;
  readonly pod: string;
  readonly ends: RowEnds | null;
}

const MESH = /^istio_/;
const HUBBLE = /^hubble_/;
const NODE_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
/** Istio's series have some 25. */
const MAX_LABELS = 64;
/** The API server truncates a generated name to this length before appending five characters. */
const GENERATED_NAME_CHARACTERS = 58;

export class SeriesTrust {
  readonly #settings: TrustSettings;

  constructor(settings: TrustSettings) {
    this.#settings = settings;
  }

  refusal({ name: query, preset }: Query, { metric, labels }: RawSeries): SeriesRefusal | null {
    if (isTooLarge(labels)) return "too_large";
    const { hubbleDaemonSets, prometheusTrustedPods, prometheusTrustUnlabelled } = this.#settings;
    const { namespace, pod } = this.target(labels);
    if (query === "node_exporter") return this.#exporterRefusal(labels, namespace, pod);
    if (isPodOf(namespace, pod, prometheusTrustedPods)) return null;
    if (preset !== null) return pod === "" || this.#isOwnUsage(query, preset, labels) ? null : "not_trusted";
    if (namespace === "" || pod === "") return prometheusTrustUnlabelled ? null : "no_target";
    // Its rows name the far end; Prometheus names the source.
    if (query === "linkerd") return null;
    if (MESH.test(metric)) return this.#meshRefusal(labels, namespace, pod);
    return HUBBLE.test(metric) && isPodOf(namespace, pod, hubbleDaemonSets) ? null : "not_trusted";
  }

  refused(reason: SeriesRefusal, { metric, labels }: RawSeries): RefusedSeries {
    const ends = MESH.test(metric) ? rowEnds((name) => labels[name] ?? "") : null;
    const { namespace, pod } = this.target(labels);
    return { reason, metric, namespace: namespace.slice(0, 253), pod: pod.slice(0, 253), ends };
  }

  /** Adds the source pod to a series of its own calls, under the graphs' label names. */
  withPod(query: Query, series: RawSeries): RawSeries {
    if (query.name !== "linkerd") return series;
    return { ...series, labels: { ...series.labels, ...this.target(series.labels) } };
  }

  target(labels: RawSeries["labels"]): { readonly namespace: string; readonly pod: string } {
    const { prometheusNamespaceLabel, prometheusPodLabel } = this.#settings;
    return { namespace: labels[prometheusNamespaceLabel] ?? "", pod: labels[prometheusPodLabel] ?? "" };
  }

  /**
   * For usage series with a pod label. Kubelets report all pods of their node and Prometheus adds no pod
   * label, so the reported pod's is in the first label. If it is in another label, the first one is of a
   * scraped pod; nodes aren't pods.
   */
  #isOwnUsage(query: Query["name"], preset: Preset, labels: RawSeries["labels"]): boolean {
    if (query === "nodes") return false;
    const told = preset.pod.find((label) => (labels[label] ?? "") !== "");
    return told === this.#settings.prometheusPodLabel;
  }

  /** An operator configured every target that isn't a pod. */
  #exporterRefusal(labels: RawSeries["labels"], namespace: string, pod: string): SeriesRefusal | null {
    const { nodeExporterDaemonSets, prometheusTrustedPods } = this.#settings;
    const named = [...nodeExporterDaemonSets, ...prometheusTrustedPods];
    if (pod !== "" && !isPodOf(namespace, pod, named)) return "not_trusted";
    const node = NODE_EXPORTER.node.map((label) => labels[label] ?? "").find((text) => text !== "") ?? "";
    return NODE_NAME.test(node) ? null : "no_node";
  }

  #meshRefusal(labels: RawSeries["labels"], namespace: string, pod: string): SeriesRefusal | null {
    const { ztunnelDaemonSets, waypointServes } = this.#settings;
    const label = (name: string): string => labels[name] ?? "";
    if (isPodOf(namespace, pod, ztunnelDaemonSets)) return rowRefusal(EVERYBODY, label);
    const own = label(`${label("reporter") === "source" ? "source" : "destination"}_workload`);
    const workloads = isNamedAfter(pod, own) ? [own] : [];
    return rowRefusal(
      { of: "pod", namespace, workloads, serves: servedBy(namespace, waypointServes) },
      label,
    );
  }
}

/** Prometheus doesn't tell which pods are on its node. */
const EVERYBODY: PageScope = { of: "node", runs: () => true };

function isTooLarge(labels: RawSeries["labels"]): boolean {
  let count = 0;
  let characters = 0;
  for (const name in labels) {
    count++;
    characters += name.length + labels[name]!.length;
  }
  return count > MAX_LABELS || characters > MAX_SERIES_BYTES;
}

/** True if the pod is named like the pods of a listed controller (namespace/name). */
function isPodOf(namespace: string, pod: string, controllers: readonly string[]): boolean {
  return controllers.some((entry) => {
    const [of, name = ""] = entry.split("/");
    return of === namespace && isNamedAfter(pod, name);
  });
}

function isNamedAfter(pod: string, workload: string): boolean {
  if (workload === "") return false;
  return pod === workload || pod.startsWith(`${workload}-`.slice(0, GENERATED_NAME_CHARACTERS));
}
