import { visibleData } from "@isochrone/runtime/basics";
import { droppedElements } from "@isochrone/topology";
import type { ClusterGraphSnapshot, Demand, Dropped, Link, WorkflowGraphSnapshot } from "@isochrone/topology";
import { GraphClientError, type GraphClient } from "@isochrone/topology/client";
import { graphClientOf, type GraphServerOptions } from "../graph-client.ts";
import { graphDot } from "../output/dot.ts";
import type { Format } from "../output/format.ts";
import { heatMatrix } from "../output/heat-matrix.ts";
import type { PairFigure } from "../output/heat-matrix.ts";
import type { Canvas } from "../output/heat.ts";
import { byPlace } from "@isochrone/primitives";
import { show, viewOf } from "../output/show.ts";
import type { Print, View } from "../output/show.ts";
import { matrix, table } from "../output/table.ts";

interface GraphOptions extends GraphServerOptions {
  readonly output: Format | "dot";
  readonly watch?: number;
  readonly workflow?: readonly [string, string];
}

export async function graphCommand(options: GraphOptions, print: Print): Promise<void> {
  const client = graphClientOf(options);
  const { workflow } = options;
  const read = (): Promise<View> =>
    workflow === undefined ? readAll(client) : readWorkflow(client, workflow);
  await show(read, options, print);
}

async function readWorkflow(client: GraphClient, parts: readonly [string, string]): Promise<View> {
  const { value, dropped } = await client.workflow(...parts);
  const left = visibleData(droppedText([dropped]));
  return viewOf(value, {
    text: (shown) => [workflowText(shown), ...left].join("\n\n"),
    dot: (shown) => graphDot(null, [shown]),
  });
}

async function readAll(client: GraphClient): Promise<View> {
  const { value: cluster, dropped } = await client.cluster();
  const { value: list } = await client.workflows();
  const read = await Promise.all(
    list.workflows.map(({ namespace, name }) => client.workflow(namespace, name)),
  );
  const workflows = read.map(({ value }) => value);
  const demand = await readDemand(client);
  const left = visibleData(droppedText([dropped, ...read.map((each) => each.dropped)]));
  return viewOf(
    { cluster, workflows, demand },
    {
      text: (shown, canvas) =>
        [
          clusterText(shown.cluster, canvas),
          ...shown.workflows.map(workflowText),
          ...demandText(shown.demand),
          ...left,
        ].join("\n\n"),
      dot: (shown) => graphDot(shown.cluster, shown.workflows),
    },
  );
}

/** Null for a server of a release without demand. */
async function readDemand(client: GraphClient): Promise<Demand | null> {
  try {
    return (await client.demand()).value;
  } catch (error) {
    if (error instanceof GraphClientError && error.status === 404) return null;
    throw error;
  }
}

function droppedText(all: readonly Dropped[]): string[] {
  const faulty = all.filter(({ first }) => first !== null);
  const count = faulty.reduce((sum, dropped) => sum + droppedElements(dropped), 0);
  return count === 0
    ? []
    : [`left out ${count} parts that break the graphs' rules; the first: ${faulty[0]!.first}`];
}

function pairFigures(
  cluster: ClusterGraphSnapshot,
  withErrors: boolean,
): (source: string, target: string) => PairFigure | null {
  const links = new Map<string, Link>();
  for (const link of cluster.links) {
    const key = `${link.source} ${link.target}`;
    if (!links.has(key) || (links.get(key)!.costMs === null && link.costMs !== null)) links.set(key, link);
  }
  return (source, target) => {
    const link = links.get(`${source} ${target}`);
    if (link === undefined) return null;
    if (link.lossRatio === 1) return { ms: null, text: "lost" };
    const ms = link.costMs ?? link.rttMs.p50;
    return ms === null
      ? null
      : {
          ms,
          text: `${ms.toFixed(1)}${(link.lossRatio ?? 0) > 0.001 ? "!" : ""}${withErrors ? marginOf(link) : ""}`,
        };
  };
}

function marginOf({ costMs, errorMs, provisional }: Link): string {
  if (costMs === null) return "";
  return provisional || errorMs === null ? "±?" : `±${errorMs.toFixed(1)}`;
}

const namesOf = ({ nodes }: ClusterGraphSnapshot): readonly string[] =>
  nodes.toSorted(byPlace).map(({ name }) => name);

export function clusterMatrix(cluster: ClusterGraphSnapshot, withErrors = false): string {
  const figureOf = pairFigures(cluster, withErrors);
  return matrix(namesOf(cluster), (source, target) => figureOf(source, target)?.text ?? null);
}

/** Drops the errors if the terminal is too narrow. */
function paintedMatrix(cluster: ClusterGraphSnapshot, canvas: Canvas): string {
  const names = namesOf(cluster);
  const withErrors = (names.length + 1) * ERROR_CELL <= canvas.columns;
  return heatMatrix(names, pairFigures(cluster, withErrors), canvas);
}

/** Columns of a figure with its error, as in 226.1±10.4. */
const ERROR_CELL = 11;

/** @param canvas for a coloured matrix; null: plain text */
function clusterText(cluster: ClusterGraphSnapshot, canvas: Canvas | null = null): string {
  const nodes = cluster.nodes
    .toSorted(byPlace)
    .map((node) => [
      node.name,
      node.zone,
      node.down?.cause === "silent"
        ? "silent"
        : node.ready
          ? node.cordoned
            ? "cordoned"
            : "ready"
          : "not ready",
      node.availableCpuMillicores === null ? null : Math.round(node.availableCpuMillicores),
      node.availableMemoryBytes === null ? null : Math.round(node.availableMemoryBytes / 2 ** 20),
    ]);
  return [
    `cluster graph ${cluster.version}, ${cluster.observedAt}, window ${cluster.windowSeconds} s; cost ± error in ms, ! = loss, ? = provisional or not known`,
    canvas === null ? clusterMatrix(cluster, true) : paintedMatrix(cluster, canvas),
    "",
    table(["node", "zone", "state", "CPU available (m)", "memory available (MiB)"], nodes),
    ...visibleData(cluster.nodes.flatMap(({ down }) => down?.text ?? [])),
  ].join("\n");
}

function workflowText(workflow: WorkflowGraphSnapshot): string {
  const workloads = workflow.workloads.map(({ name, kind, pods, cpuMillicores, memoryBytes }) => [
    name,
    kind,
    pods.map(({ node }) => node ?? "(not placed)").join(" "),
    cpuMillicores,
    memoryBytes === null ? null : memoryBytes / 2 ** 20,
  ]);
  const channels = workflow.channels.map((channel) => [
    `${channel.source} -> ${channel.target}`,
    channel.requestsPerSecond,
    channel.bytesPerSecond === null ? null : Math.round(channel.bytesPerSecond),
    channel.errorRatio === null ? null : `${(channel.errorRatio * 100).toFixed(1)} %`,
    channel.origin,
  ]);
  return [
    `workflow ${workflow.namespace}/${workflow.name}`,
    table(["workload", "kind", "nodes", "CPU (m)", "memory (MiB)"], workloads),
    "",
    table(["channel", "requests/s", "bytes/s", "errors", "origin"], channels),
  ].join("\n");
}

function demandText(demand: Demand | null): string[] {
  if (demand === null || demand.services.length === 0) return [];
  const percent = (ratio: number | null): string | null =>
    ratio === null ? null : `${(ratio * 100).toFixed(1)} %`;
  const rows = demand.services.flatMap(({ namespace, name, zones }) =>
    zones.map(({ zone, requestsPerSecond, errorRatio, inTimeRatio, latencyMs }) => [
      `${namespace}/${name}`,
      zone ?? "(no zone)",
      requestsPerSecond,
      percent(errorRatio),
      percent(inTimeRatio),
      latencyMs.p50,
      latencyMs.p99,
    ]),
  );
  const head = ["service", "calling zone", "requests/s", "errors", "in time", "p50 (ms)", "p99 (ms)"];
  return [`demand by calling zone\n${table(head, rows)}`];
}
